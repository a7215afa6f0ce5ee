#include "topology/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace takt {
namespace {

/// Collects what is wrong while names become positions.
class Resolver {
 public:
  Resolver(const ServerSpec& server, const std::map<std::string, CardSpec>& cards) : server_(server), cards_(cards) {}

  Result<ResolvedServer> run() {
    index_names();
    for (const LinkSpec& link : server_.links) add_link(link);
    for (const BridgeSpec& bridge : server_.bridges) add_bridge(bridge);
    add_switch_domains();
    check_lanes();
    if (has_error(diagnostics_)) return diagnostics_;
    return {std::move(resolved_), std::move(diagnostics_)};
  }

 private:
  void error(const SourcePlace& place, std::string message, std::string hint) {
    diagnostics_.push_back({Severity::error, place, std::move(message), std::move(hint)});
  }

  void index_names() {
    for (std::size_t position = 0; position < server_.devices.size(); ++position) {
      const DeviceSpec& device = server_.devices[position];
      if (!positions_.emplace(device.name, position).second) {
        error(device.place, fmt::format("two devices are named {}", device.name), "give each device its own name");
      }
      if (device.kind == DeviceKind::card && !cards_.contains(device.card)) {
        error(device.place, fmt::format("{} is a {}, but no such card was given", device.name, device.card), "");
      }
    }
  }

  std::optional<std::size_t> find(const std::string& name, const SourcePlace& place) {
    const auto found = positions_.find(name);
    if (found != positions_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, position] : positions_) names.push_back(known);
    const std::optional<std::string> near = did_you_mean(name, names);
    error(place, fmt::format("no device is named {}", name),
          near ? fmt::format("did you mean {}?", *near) : "the devices are " + join(names, ", "));
    return std::nullopt;
  }

  const DeviceSpec& device(std::size_t position) const { return server_.devices[position]; }

  /// The card model at `position`, if the device is a card of a known model.
  const CardSpec* card_spec(std::size_t position) const {
    const auto found = cards_.find(device(position).card);
    const bool known = device(position).kind == DeviceKind::card && found != cards_.end();
    return known ? &found->second : nullptr;
  }

  void add_link(const LinkSpec& link) {
    const std::optional<std::size_t> from = find(link.from, link.place);
    const std::optional<std::size_t> to = find(link.to, link.place);
    if (!from || !to) return;
    if (*from == *to) {
      error(link.place, fmt::format("a link joins {} to itself", link.from), "");
      return;
    }
    ResolvedLink resolved{*from, *to, link.type, link.assumed, link.host_bridge};
    for (const auto& [end, other] : {std::pair(*from, *to), std::pair(*to, *from)}) {
      const CardSpec* card = card_spec(end);
      if (!card) continue;
      if (device(other).kind == DeviceKind::nvswitch) {
        const bool is_one = link.type.lanes <= 1;  // else the file counted them
        if (is_one) resolved.type = nvlinks_of(link.type, card->nvlink_links, *card);
        resolved.type.kind = LinkKind::nvswitch;
        if (card->nvlink_links == 0) error(link.place, fmt::format("{} has no NVLink", card->name), "");
      } else if (link.type.kind == LinkKind::pcie) {
        check_slot(link, device(end), *card);
      }
    }
    resolved_.links.push_back(std::move(resolved));
  }

  void check_slot(const LinkSpec& link, const DeviceSpec& device, const CardSpec& card) {
    if (link.type.generation <= card.pcie_generation && link.type.lanes <= card.pcie_lanes) return;
    error(link.place,
          fmt::format("{} is linked by PCIe Gen{} x{}, but {} is a Gen{} x{} card", device.name, link.type.generation,
                      link.type.lanes, card.name, card.pcie_generation, card.pcie_lanes),
          fmt::format("use type = \"pcie{}-x{}\"", std::min(link.type.generation, card.pcie_generation),
                      std::min(link.type.lanes, card.pcie_lanes)));
  }

  void add_bridge(const BridgeSpec& bridge) {
    ResolvedDomain domain{{}, false, bridge.place};
    for (const std::string& name : bridge.cards) {
      const std::optional<std::size_t> position = find(name, bridge.place);
      if (position) domain.cards.push_back(*position);
    }
    if (domain.cards.size() != bridge.cards.size() || !check_bridge(bridge, domain)) return;
    const CardSpec& card = *card_spec(domain.cards.front());
    const auto peers = static_cast<std::int64_t>(domain.cards.size()) - 1;
    const LinkType pair = nvlinks_of(bridge.link.value_or(LinkType{}), card.nvlink_links / peers, card);
    for (std::size_t a = 0; a < domain.cards.size(); ++a) {
      for (std::size_t b = a + 1; b < domain.cards.size(); ++b) {
        ResolvedLink link{domain.cards[a], domain.cards[b], pair, false, 0};
        if (link.type.source.empty()) link.type.source = bridge.source;
        resolved_.links.push_back(std::move(link));
      }
    }
    resolved_.domains.push_back(std::move(domain));
  }

  bool check_bridge(const BridgeSpec& bridge, const ResolvedDomain& domain) {
    const std::size_t errors_before = diagnostics_.size();
    if (domain.cards.size() < 2) error(bridge.place, "a bridge joins at least two cards", "");
    for (const std::size_t position : domain.cards) {
      const std::string& name = device(position).name;
      const CardSpec* card = card_spec(position);
      if (device(position).kind != DeviceKind::card) {
        error(bridge.place, fmt::format("{} is on a bridge but is no card", name), "");
      } else if (card && card->nvlink_links == 0) {
        error(bridge.place, fmt::format("{} is on a bridge, but {} has no NVLink", name, card->name), "");
      } else if (card && device(position).card != device(domain.cards.front()).card) {
        error(bridge.place, fmt::format("a bridge joins different cards: {} is a {}, {} a {}",
                                        device(domain.cards.front()).name, device(domain.cards.front()).card, name,
                                        device(position).card), "a bridge joins cards of one model");
      }
      if (card && !bridged_.emplace(position, bridge.place).second) {
        error(bridge.place, fmt::format("{} is in two bridges", name), "a card has one bridge connector set");
      }
    }
    const CardSpec* card = domain.cards.empty() ? nullptr : card_spec(domain.cards.front());
    const auto count = static_cast<std::int64_t>(domain.cards.size());
    if (card && card->nvlink_links > 0 && count > card->nvlink_max_cards) {
      error(bridge.place, fmt::format("a bridge over {} cards: a bridge of {} joins at most {}", count, card->name,
                                      card->nvlink_max_cards), "split the cards over several bridges");
    }
    return card && diagnostics_.size() == errors_before;
  }

  /// The cards of each NVSwitch device, in card order.
  void add_switch_domains() {
    for (std::size_t position = 0; position < server_.devices.size(); ++position) {
      if (device(position).kind != DeviceKind::nvswitch) continue;
      ResolvedDomain domain{{}, true, device(position).place};
      for (const ResolvedLink& link : resolved_.links) {
        if (link.from == position && card_spec(link.to)) domain.cards.push_back(link.to);
        if (link.to == position && card_spec(link.from)) domain.cards.push_back(link.from);
      }
      std::sort(domain.cards.begin(), domain.cards.end());
      for (const std::size_t card : domain.cards) {
        if (bridged_.emplace(card, domain.place).second) continue;
        error(domain.place, fmt::format("{} is in two NVLink domains", device(card).name), "");
      }
      resolved_.domains.push_back(std::move(domain));
    }
  }

  void check_lanes() {
    for (std::size_t position = 0; position < server_.devices.size(); ++position) {
      const DeviceSpec& socket = device(position);
      if (socket.kind != DeviceKind::socket || socket.pcie_lanes == 0) continue;
      std::int64_t lanes = 0;
      for (const ResolvedLink& link : resolved_.links) {
        const bool here = link.from == position || link.to == position;
        if (here && link.type.kind == LinkKind::pcie) lanes += link.type.lanes;
      }
      if (lanes <= socket.pcie_lanes) continue;
      error(socket.place, fmt::format("{} has {} PCIe lanes, but its links need {}", socket.name, socket.pcie_lanes,
                                      lanes), "put devices behind a switch or on the other socket");
    }
  }

  const ServerSpec& server_;
  const std::map<std::string, CardSpec>& cards_;
  std::map<std::string, std::size_t> positions_;
  std::map<std::size_t, SourcePlace> bridged_;  // cards that a bridge or switch has taken
  ResolvedServer resolved_;
  Diagnostics diagnostics_;
};

}  // namespace

LinkType nvlinks_of(const LinkType& one, std::int64_t count, const CardSpec& card) {
  LinkType all = one;
  if (all.nominal.count() <= 0.0) {
    all.nominal = card.nvlink_per_direction / static_cast<double>(std::max<std::int64_t>(card.nvlink_links, 1));
    if (all.source.empty()) all.source = card.source;
  }
  if (all.effective.count() <= 0.0) all.effective = all.nominal;
  if (all.id.empty()) all.id = "nvlink";
  const auto factor = static_cast<double>(count);
  all.kind = LinkKind::nvlink;
  all.lanes = count;
  all.nominal = all.nominal * factor;
  all.effective = all.effective * factor;
  if (all.both_directions) all.both_directions = *all.both_directions * factor;
  return all;
}

Result<ResolvedServer> resolve_server(const ServerSpec& server, const std::map<std::string, CardSpec>& cards) {
  return Resolver(server, cards).run();
}

}  // namespace takt
