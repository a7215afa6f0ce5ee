// Small machines built in code, with round figures, for tests that compute by hand.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "topology/topology.hpp"

namespace takt::machines {

using Cards = std::map<std::string, CardSpec>;

/// A card of 18 NVLinks at 25 GB/s each and PCIe Gen5 x16, bridges of at most four.
inline CardSpec bridged_card() {
  CardSpec card;
  card.id = "bridged";
  card.name = "Bridged Card";
  card.memory_nominal = Bytes(141'000'000'000);
  card.memory_bandwidth = Bandwidth(4800e9);
  card.nvlink_links = 18;
  card.nvlink_per_direction = Bandwidth(450e9);
  card.nvlink_max_cards = 4;
  return card;
}

/// A card with PCIe Gen5 x16 and nothing else.
inline CardSpec plain_card() {
  CardSpec card;
  card.id = "plain";
  card.name = "Plain Card";
  card.memory_nominal = Bytes(96'000'000'000);
  card.memory_bandwidth = Bandwidth(1600e9);
  return card;
}

inline Cards cards() { return {{"bridged", bridged_card()}, {"plain", plain_card()}}; }

inline LinkType link_type(LinkKind kind, double nominal, double effective) {
  LinkType type;
  type.id = "test";
  type.kind = kind;
  type.nominal = Bandwidth(nominal);
  type.effective = Bandwidth(effective);
  type.latency = Duration(300'000);
  return type;
}

inline LinkType pcie5_x16() {
  LinkType type = link_type(LinkKind::pcie, 64e9, 56e9);
  type.id = "pcie5-x16";
  type.generation = 5;
  type.lanes = 16;
  type.both_directions = Bandwidth(110e9);
  return type;
}

/// Adds devices and links to a server, each with a line of its own as its place.
class Server {
 public:
  explicit Server(std::string id) {
    spec_.id = id;
    spec_.file = id + ".toml";
    spec_.peer_to_peer.level = "PXB";
  }

  Server& device(const std::string& name, DeviceKind kind, const std::string& card = "") {
    DeviceSpec device;
    device.name = name;
    device.kind = kind;
    device.card = card;
    device.place = next_place(name);
    spec_.devices.push_back(device);
    return *this;
  }

  /// A socket with its memory, "cpu0" and "cpu0-memory".
  Server& socket(const std::string& name, const std::string& cpu = "intel-spr") {
    device(name, DeviceKind::socket);
    spec_.devices.back().cpu = cpu;
    device(name + "-memory", DeviceKind::host_memory);
    return link(name, name + "-memory", link_type(LinkKind::memory, 300e9, 250e9));
  }

  Server& pcie_switch(const std::string& name, const std::string& socket) {
    return device(name, DeviceKind::pcie_switch).link(socket, name, pcie5_x16());
  }

  Server& card(const std::string& name, const std::string& parent, const std::string& id = "plain") {
    return device(name, DeviceKind::card, id).link(parent, name, pcie5_x16());
  }

  Server& nic(const std::string& name, const std::string& parent) {
    return device(name, DeviceKind::nic).link(parent, name, pcie5_x16());
  }

  Server& link(const std::string& from, const std::string& to, const LinkType& type) {
    spec_.links.push_back({from, to, type, false, next_place(from + " - " + to)});
    return *this;
  }

  Server& bridge(std::initializer_list<std::string> names) {
    BridgeSpec bridge;
    bridge.cards = names;
    bridge.place = next_place("bridge");
    spec_.bridges.push_back(bridge);
    return *this;
  }

  ServerSpec spec() const { return spec_; }

 private:
  SourcePlace next_place(std::string text) { return {spec_.file, ++line_, 1, std::move(text)}; }

  ServerSpec spec_;
  std::uint32_t line_ = 0;
};

inline LinkType socket_link() { return link_type(LinkKind::socket, 100e9, 40e9); }

/// Two sockets, two switches each, two cards a switch: gpu0, gpu1 | gpu2, gpu3 || gpu4, gpu5 | gpu6, gpu7.
inline Server four_switches(const std::string& card = "plain") {
  Server server("four-switches");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", socket_link());
  server.pcie_switch("sw0", "cpu0").pcie_switch("sw1", "cpu0").pcie_switch("sw2", "cpu1").pcie_switch("sw3", "cpu1");
  for (int gpu = 0; gpu < 8; ++gpu) {
    server.card("gpu" + std::to_string(gpu), "sw" + std::to_string(gpu / 2), card);
  }
  return server;
}

/// One socket, cards on its root ports, with a bridge over the first `bridged` of them.
inline Server direct(int cards, const std::string& id = "bridged") {
  Server server("direct");
  server.socket("cpu0");
  for (int gpu = 0; gpu < cards; ++gpu) server.card("gpu" + std::to_string(gpu), "cpu0", id);
  return server;
}

inline Topology built(const ServerSpec& spec, LinkBasis basis = LinkBasis::nominal) {
  Result<Topology> topology = build_topology(spec, cards(), basis);
  if (!topology) throw std::runtime_error(render(topology.diagnostics()));
  return *std::move(topology);
}

/// The devices a route passes, "gpu0 sw0 gpu1".
inline std::string stops(const Topology& topology, const Route& route) {
  std::string text = topology.device(route.from).name;
  for (const LinkId link : route.links) text += " " + topology.device(topology.link_target(link)).name;
  return text;
}

inline const CardRoute& between(const Topology& topology, const std::string& from, const std::string& to) {
  return topology.card_route(topology.find(from).value(), topology.find(to).value());
}

}  // namespace takt::machines
