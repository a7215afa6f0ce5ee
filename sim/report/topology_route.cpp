#include "report/topology_route.hpp"

#include "base/text.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/topology_export.hpp"
#include "topology/bisection.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace takt {
namespace {

/// What binds a transfer that runs alone.
struct Bottleneck {
  std::string where;
  double rate = std::numeric_limits<double>::infinity();  // bytes/s
};

std::string name_of_link(const Topology& topology, LinkId link) {
  return topology.device(topology.link_source(link)).name + " -> " + topology.device(topology.link_target(link)).name;
}

/// Every resource counts once a crossing: staging may climb and descend one link, and host memory is written and read.
Bottleneck bottleneck_of(const Topology& topology, const Route& route) {
  Bottleneck narrowest;
  const auto consider = [&](ResourceId resource, const std::string& where) {
    double crossings = 0.0;
    for (const LinkId id : route.links) {
      const Link& link = topology.link(id);
      if (link.resource == resource || link.both_directions == resource) crossings += 1.0;
    }
    const double rate = topology.resources()[index(resource)].capacity / crossings;
    if (rate >= narrowest.rate) return;
    narrowest = {crossings > 1.0 ? fmt::format("{}, crossed {} times", where, crossings) : where, rate};
  };
  for (const LinkId id : route.links) {
    const Link& link = topology.link(id);
    consider(link.resource, name_of_link(topology, id));
    if (link.both_directions) {
      consider(*link.both_directions, topology.resources()[index(*link.both_directions)].name + " (sum of directions)");
    }
  }
  return narrowest;
}

std::string_view words(Transport transport) {
  switch (transport) {
    case Transport::peer_to_peer:
      return "directly";
    case Transport::host_staged:
      return "staged through host memory on the receiver's side";
    case Transport::network:
      return "over the network";
  }
  return "";
}

std::string names(const Topology& topology, const std::vector<VertexId>& vertices) {
  constexpr std::size_t most_shown = 8;
  std::vector<std::string> list;
  for (std::size_t i = 0; i < std::min(vertices.size(), most_shown); ++i)
    list.push_back(topology.device(vertices[i]).name);
  if (vertices.size() > most_shown) list.push_back(fmt::format("... {} cards", vertices.size()));
  return join(list, " ");
}

}  // namespace

std::string route_table(const Topology& topology, VertexId from, VertexId to) {
  const std::string title = topology.device(from).name + " -> " + topology.device(to).name;
  const bool cards = topology.device(from).kind == DeviceKind::card && topology.device(to).kind == DeviceKind::card;
  Route route;
  std::string how;
  if (cards && from != to) {
    const CardRoute& card_route = topology.card_route(from, to);
    route = card_route.route;
    how = fmt::format("{}, {}", distance_label(topology, from, to), words(card_route.transport));
  } else if (const std::optional<Route> found = topology.route(from, to)) {
    route = *found;
    how = "the shortest way";
  }
  if (route.links.empty()) return title + ": no way\n";
  Table table({{"link"}, {"type"}, {"nominal", Align::right}, {"measured", Align::right}, {"latency", Align::right}});
  for (const LinkId id : route.links) {
    const Link& link = topology.link(id);
    table.row({name_of_link(topology, id), link.type, format_bandwidth(link.nominal), format_bandwidth(link.effective),
               format_time(link.latency)});
  }
  const Bottleneck narrowest = bottleneck_of(topology, route);
  return fmt::format("{}: {}\n{}  bottleneck: {}, {}; latency {}\n", title, how, table.text(2), narrowest.where,
                     format_bandwidth(Bandwidth(narrowest.rate)), format_time(route.latency));
}

std::string bisection_line(const Topology& topology) {
  if (topology.cards().size() < 2) return "";
  const Bisection least = bisection(topology);
  std::vector<std::string> cut;
  for (const LinkId link : least.cut) cut.push_back(name_of_link(topology, link));
  constexpr std::size_t most_shown = 4;
  if (cut.size() > most_shown) {
    const std::string rest = fmt::format("... {} links", cut.size());
    cut.resize(most_shown);
    cut.push_back(rest);
  }
  const bool all = least.search == Bisection::Search::every_split;
  return wrap(fmt::format("bisection: {}{} a direction, both at once, {} | {}, over {}", all ? "" : "at most ",
                          format_bandwidth(least.bandwidth), names(topology, least.first),
                          names(topology, least.second), join(cut, ", ")),
              screen_width, 2);
}

}  // namespace takt
