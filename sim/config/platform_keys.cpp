#include "config/platform_keys.hpp"

#include "config/link_keys.hpp"
#include "config/reader.hpp"
#include "config/scenario_document.hpp"

#include <fmt/format.h>

namespace takt {
namespace {

constexpr const char* as_built = "as-built";

const Choice<NicPlacement>& placements() {
  static const Choice<NicPlacement> words{{{"first-socket", NicPlacement::first_socket},
                                           {"sockets", NicPlacement::sockets},
                                           {"switches", NicPlacement::switches}}};
  return words;
}

/// Rows for a spec in which `reach` finds the settings.
template <class Spec, class Reach>
std::vector<Key<Spec>> rows_of(Reach reach) {
  constexpr KeyMaker<Spec> key;
  const auto in = [reach](auto... members) {
    return [ reach, members... ](auto& spec) -> auto& {
      return (reach(spec).*....*members);
    };
  };
  const Optional<Flag> flag{{}, as_built};
  const Optional<Integer> generation{{1, 7}, as_built};
  const Optional<Integer> lanes{{1, 16}, as_built};
  const Optional<Amount<Bandwidth>> bandwidth{link_bandwidth(), as_built};
  using P = PlatformSettings;
  return {
      key.optional("platform.peer_to_peer.enabled", in(&P::peer_to_peer, &PlatformPeers::enabled), flag,
                   "false: every transfer between cards is staged through host memory"),
      key.optional("platform.peer_to_peer.level", in(&P::peer_to_peer, &PlatformPeers::level),
                   Optional<Choice<std::string>>{path_levels(), as_built},
                   "farthest path over which cards write to each other directly"),
      key.optional("platform.peer_to_peer.iommu", in(&P::peer_to_peer, &PlatformPeers::iommu), flag,
                   "a translating IOMMU: no writes between cards over PCIe"),
      key.optional("platform.peer_to_peer.acs", in(&P::peer_to_peer, &PlatformPeers::acs), flag,
                   "access control services: what two cards under one switch exchange goes through the root port"),
      key.optional("platform.pcie.generation", in(&P::pcie, &PlatformPcie::generation), generation,
                   "of all slots and switches; a card of an older one keeps its own"),
      key.optional("platform.pcie.lanes", in(&P::pcie, &PlatformPcie::lanes), lanes, "of the slots of cards"),
      key.optional("platform.trained_down.devices", in(&P::trained_down, &TrainedDown::devices), TextList{"none"},
                   "switches, cards or NICs whose link towards the socket came up slower"),
      key.optional("platform.trained_down.generation", in(&P::trained_down, &TrainedDown::generation), generation,
                   "of these links"),
      key.optional("platform.trained_down.lanes", in(&P::trained_down, &TrainedDown::lanes), lanes, "of these links"),
      key.optional("platform.socket.link", in(&P::socket, &PlatformSocket::link), Optional<Text>{{}, as_built},
                   "between sockets: a kind of link of links.toml, e.g. upi-spr, xgmi-genoa"),
      key.optional("platform.socket.bandwidth", in(&P::socket, &PlatformSocket::bandwidth), bandwidth,
                   "between two sockets, per direction"),
      key.optional("platform.socket.both_directions", in(&P::socket, &PlatformSocket::both_directions), bandwidth,
                   "between two sockets, sum of both directions"),
      key.optional("platform.socket.memory_bandwidth", in(&P::socket, &PlatformSocket::memory_bandwidth), bandwidth,
                   "of the host memory of each socket"),
      key.optional("platform.socket.memory", in(&P::socket, &PlatformSocket::memory),
                   Optional<Amount<Bytes>>{{Bytes(1'000'000'000), Bytes(1'000'000'000'000'000)}, as_built},
                   "size of the host memory of each socket, for what is offloaded"),
      key.optional("platform.nic.placement", in(&P::nic, &PlatformNic::placement),
                   Optional<Choice<NicPlacement>>{placements(), as_built},
                   "all NICs on the first socket, in turn on the sockets, or in turn under the cards' switches"),
      key.optional("platform.nic.speed", in(&P::nic, &PlatformNic::speed), bandwidth, "per NIC and direction"),
  };
}

const KeyTable<PlatformSettings>& platform_keys() {
  static const KeyTable<PlatformSettings> table(
      rows_of<PlatformSettings>([](auto& settings) -> auto& { return settings; }));
  return table;
}

void check_peers(const PlatformPeers& peers, Reading& reading) {
  const std::string level = "platform.peer_to_peer.level";
  if (!reading.is_set(level) || !peers.level) return;
  if (peers.enabled == false) {
    reading.error(reading.places.at(level),
                  fmt::format("level \"{}\" contradicts enabled = false, which stages every transfer", *peers.level),
                  "leave one of the two out");
  } else if (peers.iommu == true && *peers.level != "LOC" && *peers.level != "NVL") {
    reading.error(reading.places.at(level),
                  fmt::format("level \"{}\" contradicts iommu = true: a translating IOMMU forbids writes between cards "
                              "over PCIe",
                              *peers.level),
                  "leave one of the two out, or use level \"NVL\"");
  }
}

void check_trained_down(const PlatformSettings& platform, Reading& reading) {
  const TrainedDown& down = platform.trained_down;
  const std::string path = "platform.trained_down.";
  const bool has_rate = down.generation || down.lanes;
  if (!down.devices.empty() && !has_rate && reading.is_sound(path + "generation") && reading.is_sound(path + "lanes")) {
    reading.error(reading.places.at(path + "devices"), "trained_down.devices says which links, not what they run at",
                  "add trained_down.generation or trained_down.lanes");
  }
  for (const char* key : {"generation", "lanes"}) {
    if (!down.devices.empty() || !reading.is_set(path + key)) continue;
    if (std::string_view(key) == "generation" ? !down.generation : !down.lanes) continue;
    reading.error(reading.places.at(path + key), fmt::format("trained_down.{} without trained_down.devices", key),
                  "name the switches, cards or NICs, e.g. devices = [\"sw0\"]");
  }
  const bool faster = down.generation && platform.pcie.generation && *down.generation > *platform.pcie.generation;
  if (faster && reading.is_set(path + "generation")) {
    reading.error(reading.places.at(path + "generation"),
                  fmt::format("links trained down to Gen{} in a machine of PCIe Gen{}", *down.generation,
                              *platform.pcie.generation),
                  "trained_down.generation is below pcie.generation");
  }
}

void check_socket(const PlatformSocket& socket, Reading& reading) {
  const std::string key = "platform.socket.both_directions";
  if (!socket.bandwidth || !socket.both_directions || *socket.both_directions >= *socket.bandwidth) return;
  if (!reading.is_set(key)) return;
  reading.error(reading.places.at(key),
                fmt::format("both directions together carry {}, less than one alone ({})",
                            quantity_text(*socket.both_directions), quantity_text(*socket.bandwidth)),
                "both_directions is between bandwidth and twice that");
}

}  // namespace

std::vector<Key<Scenario>> platform_rows() {
  return rows_of<Scenario>(at(&Scenario::platform));
}

void check_platform(const PlatformSettings& platform, Reading& reading) {
  check_peers(platform.peer_to_peer, reading);
  check_trained_down(platform, reading);
  check_socket(platform.socket, reading);
}

Result<PlatformState> read_platform(const Overrides& overrides) {
  Document document;
  document.file = "command line";
  document.root = Node{Node::Table{}, {document.file, 0, 0, ""}};
  const Result<Document> filled = apply_overrides(std::move(document), overrides);
  if (!filled) return filled.diagnostics();
  PlatformState state;
  Reading reading;
  platform_keys().read(filled->root, "", state.settings, reading);
  check_platform(state.settings, reading);
  state.places = reading.places;
  return finish(std::move(state), std::move(reading));
}

}  // namespace takt
