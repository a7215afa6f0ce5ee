// Max-flow by Edmonds and Karp over the graph with two more vertices: a source that feeds the cards of one half
// and a sink behind the cards of the other. Every card is in one of the halves, so no flow passes through a third card.
// The links that leave what the source still reaches in the residual graph are a minimum cut.
#include "topology/bisection.hpp"

#include "topology/graph.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <optional>

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

class Halves {
 public:
  explicit Halves(const Topology& topology) : topology_(topology), graph_(topology.device_count() + 2) {
    for (std::size_t position = 0; position < topology.link_count(); ++position) {
      const auto id = id_at<LinkId>(position);
      const Link& link = topology.link(id);
      everything_ += link.capacity.count();
      if (link.reverse < id) continue;  // comes with its other direction
      join(index(topology.link_source(id)), index(topology.link_target(id)), link.capacity.count(),
           topology.link(link.reverse).capacity.count(), id);
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

std::vector<bool> first_in_card_order(std::size_t cards) {
  std::vector<bool> half(cards, false);
  for (std::size_t card = 0; card < cards / 2; ++card) half[card] = true;
  return half;
}

}  // namespace

Bisection bisection(const Topology& topology) {
  const std::size_t cards = topology.cards().size();
  expects(cards >= 2, "a bisection needs two cards");
  Halves halves(topology);
  constexpr std::size_t most_cards_to_try = 8;
  Bisection least = halves.split(first_in_card_order(cards));
  if (cards > most_cards_to_try) return least;
  for (std::size_t mask = 1; mask < (std::size_t{1} << cards); mask += 2) {  // card 0 is in the first half
    std::vector<bool> half(cards);
    std::size_t count = 0;
    for (std::size_t card = 0; card < cards; ++card) {
      half[card] = ((mask >> card) & 1U) != 0;
      if (half[card]) ++count;
    }
    if (count != cards / 2) continue;
    Bisection other = halves.split(half);
    if (other.bandwidth < least.bandwidth) least = std::move(other);
  }
  return least;
}

}  // namespace takt
