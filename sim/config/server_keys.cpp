// topologies/servers/*.toml: the keys. What they mean together is in server_reader.cpp.
#include "config/link_keys.hpp"
#include "config/server_file.hpp"

namespace takt {
namespace {

constexpr std::int64_t most_cards = 1024;

const KeyTable<SocketEntry>& socket_keys() {
  constexpr KeyMaker<SocketEntry> key;
  const Amount<Bytes> memory{Bytes(1), Bytes(1'000'000'000'000'000)};
  static const KeyTable<SocketEntry> table({
      key.required("name", at(&SocketEntry::device, &DeviceSpec::name), Text{}, "e.g. cpu0"),
      key.optional("cpu", at(&SocketEntry::device, &DeviceSpec::cpu), Text{}, "CPU family, e.g. intel-spr, amd-turin"),
      key.optional("cores", at(&SocketEntry::device, &DeviceSpec::cores), Integer{0, 4096}, "cores; 0 = not stated"),
      key.optional("memory", at(&SocketEntry::device, &DeviceSpec::host_memory), memory, "host memory of this socket"),
      key.optional("memory_bandwidth", at(&SocketEntry::memory_bandwidth),
                   Optional<Amount<Bandwidth>>{link_bandwidth(), ""},
                   "of its host memory; brings the device \"NAME memory\" and the link to it"),
      key.optional("pcie_lanes", at(&SocketEntry::device, &DeviceSpec::pcie_lanes), Integer{0, 1024},
                   "lanes the socket has; 0 = not stated"),
  });
  return table;
}

const KeyTable<DeviceEntry>& named_keys() {
  constexpr KeyMaker<DeviceEntry> key;
  static const KeyTable<DeviceEntry> table({
      key.required("name", at(&DeviceEntry::device, &DeviceSpec::name), Text{}, "unique in the server"),
  });
  return table;
}

const KeyTable<DeviceEntry>& card_entry_keys() {
  constexpr KeyMaker<DeviceEntry> key;
  static const KeyTable<DeviceEntry> table({
      key.required("name", at(&DeviceEntry::device, &DeviceSpec::name), Text{}, "unique in the server, e.g. gpu0"),
      key.required("card", at(&DeviceEntry::device, &DeviceSpec::card), Text{}, "a file of topologies/cards by its name"),
  });
  return table;
}

const KeyTable<DeviceEntry>& nic_keys() {
  constexpr KeyMaker<DeviceEntry> key;
  static const KeyTable<DeviceEntry> table({
      key.required("name", at(&DeviceEntry::device, &DeviceSpec::name), Text{}, "unique in the server, e.g. nic0"),
      key.optional("speed", at(&DeviceEntry::device, &DeviceSpec::nic_speed),
                   Amount<Bandwidth>{Bandwidth(0), Bandwidth(1e13)}, "per direction; 0 = as the cluster file says"),
  });
  return table;
}

const KeyTable<LinkEntry>& link_entry_keys() {
  constexpr KeyMaker<LinkEntry> key;
  const Optional<Amount<Bandwidth>> bandwidth{link_bandwidth(), ""};
  static const KeyTable<LinkEntry> table({
      key.required("from", at(&LinkEntry::from), Text{}, "a device of this server"),
      key.required("to", at(&LinkEntry::to), Text{}, "another device of this server"),
      key.required("type", at(&LinkEntry::type), Text{}, "a kind of link of topologies/links.toml"),
      key.optional("lanes", at(&LinkEntry::lanes), Optional<Integer>{{1, 1024}, ""},
                   "instead of the type's; scales its bandwidths, e.g. 6 of one NVLink"),
      key.optional("nominal", at(&LinkEntry::nominal), bandwidth, "instead of the type's"),
      key.optional("effective", at(&LinkEntry::effective), bandwidth, "instead of the type's"),
      key.optional("both_directions", at(&LinkEntry::both_directions), bandwidth, "instead of the type's"),
      key.optional("latency", at(&LinkEntry::latency), Optional<Amount<Duration>>{link_latency(), ""},
                   "instead of the type's"),
      key.optional("host_bridge", at(&LinkEntry::host_bridge), Integer{0, 64},
                   "of its socket; paths between two of them are NODE, not PHB; 0 = not stated"),
      key.optional("source", at(&LinkEntry::source), Text{}, "where the figures of this link come from"),
      key.optional("assumed", at(&LinkEntry::assumed), Flag{}, "this link is an assumption"),
  });
  return table;
}

const KeyTable<BridgeEntry>& bridge_keys() {
  constexpr KeyMaker<BridgeEntry> key;
  static const KeyTable<BridgeEntry> table({
      key.required("cards", at(&BridgeEntry::bridge, &BridgeSpec::cards), TextList{}, "the cards it joins, each to each"),
      key.optional("type", at(&BridgeEntry::type), Text{},
                   "one NVLink of it, a kind of link of links.toml; left out: the card's nominal rate"),
      key.optional("effective", at(&BridgeEntry::effective), Optional<Amount<Bandwidth>>{link_bandwidth(), ""},
                   "of one NVLink, instead of the type's"),
      key.optional("both_directions", at(&BridgeEntry::both_directions),
                   Optional<Amount<Bandwidth>>{link_bandwidth(), ""}, "of one NVLink, instead of the type's"),
      key.optional("source", at(&BridgeEntry::bridge, &BridgeSpec::source), Text{}, "where this comes from"),
  });
  return table;
}

}  // namespace

const KeyTable<ServerFile>& server_keys() {
  constexpr KeyMaker<ServerFile> key;
  const auto peer = [](auto member) { return at(&ServerFile::spec, &ServerSpec::peer_to_peer, member); };
  static const KeyTable<ServerFile> table({
      key.required("title", at(&ServerFile::spec, &ServerSpec::title), Text{}, "one line for reports"),
      key.required("source", at(&ServerFile::spec, &ServerSpec::source), Text{}, "where the layout comes from"),
      key.optional("confidence", at(&ServerFile::spec, &ServerSpec::confidence), Text{}, "high, medium, low"),
      key.optional("assumed", at(&ServerFile::spec, &ServerSpec::assumed), TextList{}, "what is assumed, in words"),
      key.optional("peer_to_peer.enabled", peer(&PeerToPeerSpec::enabled), Flag{},
                   "false: every transfer between cards is staged through host memory"),
      key.optional("peer_to_peer.level", peer(&PeerToPeerSpec::level), path_levels(),
                   "farthest path over which cards write to each other directly"),
      key.optional("peer_to_peer.iommu", peer(&PeerToPeerSpec::iommu), Flag{}, "IOMMU on"),
      key.optional("peer_to_peer.acs", peer(&PeerToPeerSpec::acs), Flag{}, "PCIe access control services on"),
      key.optional("nccl.channels", at(&ServerFile::spec, &ServerSpec::nccl, &NcclSpec::channels), Integer{0, 64},
                   "thread blocks of a ring; 0 = by rule"),
      key.optional("nccl.rate", at(&ServerFile::spec, &ServerSpec::nccl, &NcclSpec::rate), Real{0.1, 3.0},
                   "measured: what NCCL's kernels reach here over what Takt's model says"),
      key.optional("nccl.latency", at(&ServerFile::spec, &ServerSpec::nccl, &NcclSpec::latency), Real{0.1, 10.0},
                   "measured: fixed times of collectives here over the model's"),
      key.optional("nccl.source", at(&ServerFile::spec, &ServerSpec::nccl, &NcclSpec::source), Text{},
                   "where the figures come from"),
      key.list("socket", at(&ServerFile::sockets), socket_keys(), "a CPU socket with its memory"),
      key.list("switch", at(&ServerFile::switches), named_keys(), "a PCIe switch"),
      key.optional("cards.count", at(&ServerFile::equal_cards, &CardsEntry::count), Integer{1, most_cards},
                   "equal cards, named gpu0, gpu1, ..."),
      key.optional("cards.card", at(&ServerFile::equal_cards, &CardsEntry::card), Text{},
                   "a file of topologies/cards by its name"),
      key.list("card", at(&ServerFile::cards), card_entry_keys(), "a card; ranks follow the order in the file"),
      key.list("nic", at(&ServerFile::nics), nic_keys(), "a network card"),
      key.list("nvme", at(&ServerFile::nvmes), named_keys(), "an NVMe drive"),
      key.list("link", at(&ServerFile::links), link_entry_keys(), "a link, with equal capacity in both directions"),
      key.list("bridge", at(&ServerFile::bridges), bridge_keys(), "an NVLink bridge: a full mesh between its cards"),
      key.optional("nvswitch.cards", at(&ServerFile::nvswitch, &NvswitchEntry::cards), TextList{},
                   "the cards whose NVLinks all go to the switch"),
      key.optional("nvswitch.type", at(&ServerFile::nvswitch, &NvswitchEntry::type), Text{},
                   "one NVLink to it, a kind of link of links.toml; left out: the card's nominal rate"),
      key.optional("nvswitch.effective", at(&ServerFile::nvswitch, &NvswitchEntry::effective),
                   Optional<Amount<Bandwidth>>{link_bandwidth(), ""}, "of one NVLink, instead of the type's"),
      key.optional("nvswitch.both_directions", at(&ServerFile::nvswitch, &NvswitchEntry::both_directions),
                   Optional<Amount<Bandwidth>>{link_bandwidth(), ""}, "of one NVLink, instead of the type's"),
      key.optional("nvswitch.latency", at(&ServerFile::nvswitch, &NvswitchEntry::latency),
                   Optional<Amount<Duration>>{link_latency(), ""}, "one way, card to switch; instead of the type's"),
      key.optional("nvswitch.source", at(&ServerFile::nvswitch, &NvswitchEntry::source), Text{}, "where this comes from"),
  });
  return table;
}

std::vector<KeyDescription> server_key_reference() { return server_keys().describe(); }

}  // namespace takt
