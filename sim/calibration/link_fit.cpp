#include "calibration/link_fit.hpp"

#include "base/quantile.hpp"
#include "calibration/copy_routes.hpp"
#include "config/csv.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace takt {
namespace {

constexpr double nearly = 1.05;   ///< a capacity up to this over the least of a route may be what bounds it
constexpr double agreeing = 1.03; ///< links of a kind within this of their median are taken as equal
constexpr double free_both = 0.98;  ///< of twice one direction: what both reach where nothing caps their sum
constexpr double one_nvlink = 1.0;

/// A measured copy: one transfer, or several at once.
struct Copy {
  std::vector<Transfer> transfers;
  double rate = 0.0;  ///< bytes/s of all together
  bool direct = true;

  bool is_between_cards() const { return std::min(transfers[0].from, transfers[0].to) != Transfer::host; }
  bool goes_back() const {
    return transfers.size() == 2 && transfers[0].from == transfers[1].to && transfers[0].to == transfers[1].from;
  }
};

Result<std::vector<Copy>> copies_in(const std::vector<Measurement>& measured, const ServerSpec& server) {
  const auto cards = std::count_if(server.devices.begin(), server.devices.end(),
                                   [](const DeviceSpec& device) { return device.kind == DeviceKind::card; });
  std::vector<Copy> copies;
  Diagnostics errors;
  for (const Measurement& one : measured) {
    if (one.kind != MeasuredKind::copy && one.kind != MeasuredKind::staged) continue;
    const auto transfers = transfers_in(one.what);
    if (!transfers) {
      errors.push_back({Severity::error, one.place, fmt::format("\"{}\" names no transfers", one.what),
                        "from>to by card number or host, several with a space between: 0>1 1>0"});
      continue;
    }
    for (const Transfer& transfer : *transfers) {
      if (std::max(transfer.from, transfer.to) < cards) continue;
      errors.push_back({Severity::error, one.place,
                        fmt::format("there is no card {} in {}", std::max(transfer.from, transfer.to), server.id),
                        fmt::format("its cards are 0 to {}", cards - 1)});
    }
    const double bytes = one.bytes() * static_cast<double>(transfers->size());
    copies.push_back({*transfers, bytes / one.seconds, one.kind == MeasuredKind::copy});
  }
  if (!errors.empty()) return errors;
  return copies;
}

/// A link by its ends, in the order of their names.
using Ends = std::pair<std::string, std::string>;

Ends ends_of(const Topology& topology, LinkId link) {
  std::string a = topology.device(topology.link_source(link)).name;
  std::string b = topology.device(topology.link_target(link)).name;
  return a < b ? Ends(std::move(a), std::move(b)) : Ends(std::move(b), std::move(a));
}

/// What was seen on a link: the most in each of its directions, or of both together.
struct Seen {
  std::array<double, 2> most{};
  bool bounds = false;  ///< whether it is nearly the narrowest of a measured route

  void add(std::size_t direction, double rate, bool narrow) {
    if (narrow && !bounds) most = {};  // what only passed through says less
    if (narrow || !bounds) most[direction] = std::max(most[direction], rate);
    bounds = bounds || narrow;
  }
  double mean() const {
    if (most[0] == 0.0 || most[1] == 0.0) return std::max(most[0], most[1]);
    return (most[0] + most[1]) / 2.0;
  }
};

using Capacity = double (*)(const Topology& topology, LinkId link);

double one_way(const Topology& topology, LinkId link) {
  return topology.link(link).capacity.count();
}

double both_ways(const Topology& topology, LinkId link) {
  const Link& of = topology.link(link);
  const double twice = 2.0 * of.capacity.count();
  return of.both_directions ? std::min(twice, topology.resources()[index(*of.both_directions)].capacity) : twice;
}

/// What `wanted` copies say of each link that they cross, and what the topology says now.
struct Sighting {
  Seen seen;
  double now = 0.0;
};

std::map<Ends, Sighting> sightings(const Topology& topology, const std::vector<Copy>& copies, std::size_t transfers,
                                   Capacity capacity) {
  std::map<Ends, Sighting> links;
  for (const Copy& copy : copies) {
    if (!copy.direct || copy.transfers.size() != transfers || (transfers == 2 && !copy.goes_back())) continue;
    const std::vector<LinkId> route = links_of(topology, copy.transfers.front());
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId link : route) least = std::min(least, capacity(topology, link));
    for (const LinkId link : route) {
      Sighting& sighting = links[ends_of(topology, link)];
      sighting.now = capacity(topology, link);
      const std::size_t direction = transfers == 1 && topology.link(link).reverse < link ? 1 : 0;
      sighting.seen.add(direction, copy.rate, sighting.now <= nearly * least);
    }
  }
  return links;
}

/// To the four digits that a measurement has, and no others.
Bandwidth rounded(double rate) {
  return Bandwidth(number_in(fmt::format("{:.3e}", rate)).value_or(rate));
}

/// A link of a server file, wherever it states it, and how many NVLinks the figure there is one of.
struct Stated {
  LinkType* type = nullptr;
  std::string* source = nullptr;
  std::string kind;  ///< links of equal kind may share a figure
  bool shared = false;  ///< they have to
  double parts = one_nvlink;
};

class Links {
 public:
  Links(ServerSpec& server, const std::map<std::string, CardSpec>& cards) : server_(server), cards_(cards) {}

  std::optional<Stated> find(const Ends& ends) {
    for (LinkSpec& link : server_.links) {
      if (Ends(std::min(link.from, link.to), std::max(link.from, link.to)) != ends) continue;
      if (link.type.kind == LinkKind::memory) return std::nullopt;  // states what the memory does, not what a copy sees
      const bool is_switch = link.type.kind == LinkKind::nvswitch;
      const double parts = is_switch && link.type.lanes <= 1 ? nvlinks(link.from) : one_nvlink;
      const std::string kind = fmt::format("{} x{}", link.type.id, link.type.lanes);
      return Stated{&link.type, &link.type.source, kind, is_switch, parts};
    }
    for (BridgeSpec& bridge : server_.bridges) {
      const auto has = [&](const std::string& card) {
        return std::find(bridge.cards.begin(), bridge.cards.end(), card) != bridge.cards.end();
      };
      if (!has(ends.first) || !has(ends.second)) continue;
      if (!bridge.link) bridge.link = LinkType{};
      const double parts = std::floor(nvlinks(ends.first) / static_cast<double>(bridge.cards.size() - 1));
      return Stated{&*bridge.link, &bridge.source, "bridge of " + bridge.cards.front(), true, parts};
    }
    return std::nullopt;
  }

 private:
  double nvlinks(const std::string& card) const {
    for (const DeviceSpec& device : server_.devices) {
      if (device.name != card) continue;
      const auto found = cards_.find(device.card);
      if (found != cards_.end()) return std::max(one_nvlink, static_cast<double>(found->second.nvlink_links));
    }
    return one_nvlink;
  }

  ServerSpec& server_;
  const std::map<std::string, CardSpec>& cards_;
};

/// The figure of each link: its own, or the median of its kind where it agrees with that.
std::map<Ends, double> settled(const std::map<Ends, double>& figures, Links& links) {
  std::map<std::string, std::vector<double>> kinds;
  for (const auto& [ends, figure] : figures) kinds[links.find(ends)->kind].push_back(figure);
  std::map<Ends, double> result;
  for (const auto& [ends, figure] : figures) {
    const Stated stated = *links.find(ends);
    const double middle = median(kinds.at(stated.kind));
    const bool agrees = figure <= agreeing * middle && middle <= agreeing * figure;
    result[ends] = stated.shared || agrees ? middle : figure;
  }
  return result;
}

/// Links whose figure copies tell, with it.
std::map<Ends, double> told(const std::map<Ends, Sighting>& seen, Links& links) {
  std::map<Ends, double> figures;
  for (const auto& [ends, sighting] : seen) {
    const double rate = sighting.seen.mean();
    if (!links.find(ends) || (!sighting.seen.bounds && rate <= sighting.now)) continue;
    figures[ends] = rate;
  }
  return settled(figures, links);
}

/// A bridge's source says where the bridge is known from, too.
void set_source(const Stated& stated, const std::string& source) {
  if (!stated.kind.starts_with("bridge") || stated.source->empty())
    *stated.source = source;
  else if (!stated.source->ends_with(source))
    *stated.source += "; rate: " + source;
}

void set_one_way(Links& links, const std::map<Ends, double>& figures, const std::string& source) {
  for (const auto& [ends, rate] : figures) {
    const Stated stated = *links.find(ends);
    stated.type->effective = rounded(rate / stated.parts);
    set_source(stated, source);
  }
}

/// The cap of both directions, where there is one.
void set_both_ways(Links& links, const std::map<Ends, double>& figures, const std::string& source) {
  for (const auto& [ends, rate] : figures) {
    const Stated stated = *links.find(ends);
    const double twice = 2.0 * stated.type->effective.count() * stated.parts;
    if (!stated.type->both_directions && rate >= free_both * twice) continue;
    stated.type->both_directions = rounded(rate / stated.parts);
    set_source(stated, source);
  }
}

Result<CopyErrors> errors_of(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                             const std::vector<Copy>& copies) {
  const Result<Topology> direct = topology_of_copies(server, cards, PeerCopies::direct);
  if (!direct) return direct.diagnostics();
  const Result<Topology> staged = topology_of_copies(server, cards, PeerCopies::staged);
  if (!staged) return staged.diagnostics();
  std::vector<double> sizes;
  for (const Copy& copy : copies) {
    const Topology& topology = copy.direct ? *direct : *staged;
    sizes.push_back(std::abs(throughput_of_equal_copies(topology, copy.transfers).count() / copy.rate - 1.0));
  }
  return CopyErrors{sizes.size(), median(sizes), quantile(sizes, 1.0)};
}

bool no_card_is_a_peer(const std::vector<Copy>& copies) {
  const auto between = [](const Copy& copy) { return copy.is_between_cards(); };
  return std::any_of(copies.begin(), copies.end(), between) &&
         std::none_of(copies.begin(), copies.end(), [&](const Copy& copy) { return between(copy) && copy.direct; });
}

}  // namespace

Result<FittedLinks> fit_links(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                              const std::vector<Measurement>& measured, const std::string& source) {
  constexpr int passes = 3;  // which link bounds a route changes with the figures
  const Result<std::vector<Copy>> copies = copies_in(measured, server);
  if (!copies) return copies.diagnostics();
  FittedLinks fitted{server, {}, {}};
  if (copies->empty()) return fitted;
  const Result<CopyErrors> before = errors_of(server, cards, *copies);
  if (!before) return before.diagnostics();
  Links links(fitted.server, cards);
  for (int pass = 0; pass < passes; ++pass) {
    for (const std::size_t transfers : {std::size_t{1}, std::size_t{2}}) {
      const Result<Topology> topology = topology_of_copies(fitted.server, cards, PeerCopies::direct);
      if (!topology) return topology.diagnostics();
      const Capacity capacity = transfers == 1 ? one_way : both_ways;
      const std::map<Ends, double> figures = told(sightings(*topology, *copies, transfers, capacity), links);
      transfers == 1 ? set_one_way(links, figures, source) : set_both_ways(links, figures, source);
    }
  }
  if (no_card_is_a_peer(*copies)) fitted.server.peer_to_peer.enabled = false;
  const Result<CopyErrors> after = errors_of(fitted.server, cards, *copies);
  if (!after) return after.diagnostics();
  fitted.before = *before;
  fitted.after = *after;
  return fitted;
}

}  // namespace takt
