// Max-flow by Edmonds and Karp over the graph with two more vertices: a source that feeds the cards of one half
// and a sink behind the cards of the other. Every card is in one of the halves, so no flow passes through a third card.
// The links that leave what the source still reaches in the residual graph are a minimum cut.
//
// Both halves send at once. Let F be a flow one way and G one the other way; half of F and of G turned round is a flow
// too, it carries the mean of both, and on a link whose two directions carry b together it stays within b / 2 each way
// (what it carries on both directions of a link cancels). So one flow under min(capacity, b / 2) tells the rate.
#include "topology/bisection.hpp"

#include "topology/graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace takt {
namespace {

using FlowTraits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct FlowVertex {
  boost::default_color_type colour = boost::white_color;
  FlowTraits::edge_descriptor predecessor;
};

struct FlowEdge {
  double capacity = 0.0;
  double residual = 0.0;
  FlowTraits::edge_descriptor reverse;
  std::optional<LinkId> link;
};

using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, FlowVertex, FlowEdge>;

/// What a direction of the link carries while the other carries as much.
double capacity_of(const Topology& topology, const Link& link) {
  const double alone = link.capacity.count();
  if (!link.both_directions) return alone;
  return std::min(alone, topology.resources()[index(*link.both_directions)].capacity / 2);
}

class Halves {
 public:
  explicit Halves(const Topology& topology) : topology_(topology), graph_(topology.device_count() + 2) {
    for (std::size_t position = 0; position < topology.link_count(); ++position) {
      const auto id = id_at<LinkId>(position);
      const Link& link = topology.link(id);
      everything_ += capacity_of(topology, link);
      if (link.reverse < id) continue;  // comes with its other direction
      join(index(topology.link_source(id)), index(topology.link_target(id)), capacity_of(topology, link),
           capacity_of(topology, topology.link(link.reverse)), id);
    }
    for (const CardInstance& card : topology.cards()) {
      from_source_.push_back(join(source(), index(card.vertex), 0.0, 0.0, std::nullopt));
      to_sink_.push_back(join(index(card.vertex), sink(), 0.0, 0.0, std::nullopt));
    }
  }

  /// The split whose first half are the cards of `in_first`.
  Bisection split(const std::vector<bool>& in_first) {
    Bisection result;
    for (std::size_t card = 0; card < in_first.size(); ++card) {
      graph_[from_source_[card]].capacity = in_first[card] ? everything_ : 0.0;
      graph_[to_sink_[card]].capacity = in_first[card] ? 0.0 : everything_;
      (in_first[card] ? result.first : result.second).push_back(topology_.cards()[card].vertex);
    }
    const double flow =
        boost::edmonds_karp_max_flow(graph_, source(), sink(),
                                     boost::capacity_map(boost::get(&FlowEdge::capacity, graph_))
                                         .residual_capacity_map(boost::get(&FlowEdge::residual, graph_))
                                         .reverse_edge_map(boost::get(&FlowEdge::reverse, graph_))
                                         .color_map(boost::get(&FlowVertex::colour, graph_))
                                         .predecessor_map(boost::get(&FlowVertex::predecessor, graph_)));
    result.bandwidth = Bandwidth(flow);
    result.cut = cut();
    return result;
  }

 private:
  std::size_t source() const { return boost::num_vertices(graph_) - 2; }
  std::size_t sink() const { return boost::num_vertices(graph_) - 1; }

  FlowTraits::edge_descriptor join(std::size_t a, std::size_t b, double there, double back,
                                   std::optional<LinkId> link) {
    const auto forth = boost::add_edge(a, b, FlowEdge{there, 0.0, {}, link}, graph_).first;
    std::optional<LinkId> other;
    if (link) other = topology_.link(*link).reverse;
    const auto home = boost::add_edge(b, a, FlowEdge{back, 0.0, forth, other}, graph_).first;
    graph_[forth].reverse = home;
    return forth;
  }

  /// Links from what the source reaches in the residual graph to the rest. The last search of the algorithm coloured
  /// that part.
  std::vector<LinkId> cut() const {
    std::vector<LinkId> links;
    for (std::size_t position = 0; position < topology_.link_count(); ++position) {
      const auto id = id_at<LinkId>(position);
      const bool leaves = graph_[index(topology_.link_source(id))].colour != boost::white_color &&
                          graph_[index(topology_.link_target(id))].colour == boost::white_color;
      if (leaves) links.push_back(id);
    }
    return links;
  }

  const Topology& topology_;
  FlowGraph graph_;
  /// No flow exceeds it. An infinite capacity would swallow the flow: it is read off as capacity less residual.
  double everything_ = 0.0;
  std::vector<FlowTraits::edge_descriptor> from_source_;
  std::vector<FlowTraits::edge_descriptor> to_sink_;
};

/// Groups of cards that are alike, each in card order.
class AlikeCards {
 public:
  explicit AlikeCards(const Topology& topology) {
    for (std::size_t position = 0; position < topology.link_count(); ++position) {
      const auto id = id_at<LinkId>(position);
      ways_[topology.link_source(id)].insert({topology.link_target(id), capacity_of(topology, topology.link(id))});
    }
    const std::vector<CardInstance>& cards = topology.cards();
    for (std::size_t card = 0; card < cards.size(); ++card) {
      const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const std::vector<std::size_t>& members) {
        return alike(cards[members.front()].vertex, cards[card].vertex);
      });
      if (group == groups_.end()) {
        groups_.push_back({card});
      } else {
        group->push_back(card);
      }
    }
  }

  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }

 private:
  using Ways = std::multimap<VertexId, double>;

  /// Whether the graph stays as it is when the two change places: what a sees with b taken for a is what b sees. Links
  /// have equal capacity both ways.
  bool alike(VertexId a, VertexId b) const {
    std::vector<std::pair<VertexId, double>> from_a;
    std::vector<std::pair<VertexId, double>> from_b(ways_.at(b).begin(), ways_.at(b).end());
    for (const auto& [target, capacity] : ways_.at(a)) from_a.emplace_back(target == b ? a : target, capacity);
    std::sort(from_a.begin(), from_a.end());
    std::sort(from_b.begin(), from_b.end());
    return from_a == from_b;
  }

  std::map<VertexId, Ways> ways_;
  std::vector<std::vector<std::size_t>> groups_;
};

/// All ways to take `wanted` cards, by their number from each group; false if there are more than `most`.
bool every_choice(const std::vector<std::vector<std::size_t>>& groups, std::size_t wanted, std::size_t most,
                  std::vector<std::vector<std::size_t>>& choices) {
  std::vector<std::size_t> left_over(groups.size() + 1, 0);
  for (std::size_t group = groups.size(); group-- > 0;) left_over[group] = left_over[group + 1] + groups[group].size();
  std::vector<std::vector<std::size_t>> partial = {{}};
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::vector<std::vector<std::size_t>> longer;
    for (const std::vector<std::size_t>& begun : partial) {
      std::size_t taken = 0;
      for (const std::size_t count : begun) taken += count;
      for (std::size_t count = 0; count <= groups[group].size() && taken + count <= wanted; ++count) {
        if (taken + count + left_over[group + 1] < wanted) continue;
        longer.push_back(begun);
        longer.back().push_back(count);
        if (longer.size() > most) return false;
      }
    }
    partial = std::move(longer);
  }
  choices = std::move(partial);
  return true;
}

/// Halves to try where there are too many: by card order, by turns, by servers, by halves of each server.
std::vector<std::vector<bool>> candidates(const Topology& topology) {
  const std::vector<CardInstance>& cards = topology.cards();
  const std::size_t count = cards.size();
  const std::size_t per_server = count / static_cast<std::size_t>(topology.server_count());
  std::vector<std::vector<bool>> halves(5, std::vector<bool>(count, false));
  std::map<std::int32_t, std::vector<std::size_t>> by_socket;
  for (std::size_t card = 0; card < count; ++card) {
    halves[0][card] = card < count / 2;
    halves[1][card] = card % 2 == 0;
    halves[2][card] = cards[card].server % 2 == 0;
    halves[3][card] = card % per_server < per_server / 2;
    by_socket[topology.device(cards[card].vertex).socket].push_back(card);
  }
  bool first = true;
  for (const auto& [socket, members] : by_socket) {
    for (const std::size_t card : members) halves[4][card] = first;
    first = !first;
  }
  std::erase_if(halves, [&](const std::vector<bool>& half) {
    const auto size = static_cast<std::size_t>(std::count(half.begin(), half.end(), true));
    return size != count / 2 && size != count - count / 2;
  });
  return halves;
}

/// Splits to try, and whether they are all there are.
std::pair<std::vector<std::vector<bool>>, Bisection::Search> splits_of(const Topology& topology) {
  constexpr std::size_t most_cards = 64;  // alike or not: more are in clusters, whose splits are too many
  constexpr std::size_t most_splits = 5000;
  const std::size_t count = topology.cards().size();
  if (count > most_cards) return {candidates(topology), Bisection::Search::candidates};
  const AlikeCards alike(topology);
  std::vector<std::vector<std::size_t>> choices;
  if (!every_choice(alike.groups(), count / 2, most_splits, choices)) {
    return {candidates(topology), Bisection::Search::candidates};
  }
  std::set<std::vector<bool>> halves;  // with card 0: a half and the rest are one split
  for (const std::vector<std::size_t>& choice : choices) {
    std::vector<bool> half(count, false);
    for (std::size_t group = 0; group < choice.size(); ++group) {
      for (std::size_t taken = 0; taken < choice[group]; ++taken) half[alike.groups()[group][taken]] = true;
    }
    if (!half.front()) half.flip();
    halves.insert(std::move(half));
  }
  // Of equal splits the last in this order stands first in card order.
  return {{halves.rbegin(), halves.rend()}, Bisection::Search::every_split};
}

}  // namespace

Bisection bisection(const Topology& topology) {
  expects(topology.cards().size() >= 2, "a bisection needs two cards");
  const auto [splits, search] = splits_of(topology);
  Halves halves(topology);
  std::optional<Bisection> least;
  for (const std::vector<bool>& split : splits) {
    Bisection other = halves.split(split);
    if (!least || other.bandwidth < least->bandwidth) least = std::move(other);
  }
  least->search = search;
  return *std::move(least);
}

}  // namespace takt
