// Properties of routes on random machines: trees of switches under sockets, cards and NICs at random places, some cards
// bridged in pairs, and links deleted at random.
#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "catch.hpp"
#include "machines.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

constexpr std::uint32_t machines_tried = 60;

class RandomMachine {
 public:
  explicit RandomMachine(std::uint32_t seed) : random_(seed), server_("random-" + std::to_string(seed)) {}

  ServerSpec build() {
    const int sockets = 1 + pick(2);
    for (int i = 0; i < sockets; ++i) add_socket("cpu" + std::to_string(i));
    const int switches = pick(5);
    for (int i = 0; i < switches; ++i) {
      const std::string name = "sw" + std::to_string(i);
      server_.pcie_switch(name, any_parent());
      parents_.push_back(name);
    }
    const int cards = 2 + pick(7);
    for (int i = 0; i < cards; ++i) server_.card("gpu" + std::to_string(i), any_parent(), "bridged");
    for (int i = 0; i + 1 < cards; i += 2) {
      if (pick(2) == 0) server_.bridge({"gpu" + std::to_string(i), "gpu" + std::to_string(i + 1)});
    }
    ServerSpec spec = server_.spec();
    constexpr std::array levels = {"PIX", "PXB", "PHB", "SYS"};
    spec.peer_to_peer.level = levels[static_cast<std::size_t>(pick(levels.size()))];
    spec.peer_to_peer.acs = pick(2) == 0;
    return spec;
  }

  /// Takes out up to two links; what they were is gone from the machine.
  void damage(ServerSpec& spec) {
    for (int i = pick(3); i > 0 && !spec.links.empty(); --i) {
      spec.links.erase(spec.links.begin() + pick(spec.links.size()));
    }
  }

 private:
  int pick(std::size_t count) { return static_cast<int>(random_() % count); }

  const std::string& any_parent() { return parents_[static_cast<std::size_t>(pick(parents_.size()))]; }

  void add_socket(const std::string& name) {
    server_.socket(name);
    if (!parents_.empty()) server_.link(parents_.back(), name, socket_link());
    parents_.push_back(name);
  }

  std::mt19937 random_;
  Server server_;
  std::vector<std::string> parents_;
};

std::string short_of(const Topology& topology, VertexId vertex) { return topology.device(vertex).name; }

/// A route is a chain of links of the file, from its start to its end, through no card but at its ends, and through a
/// host memory only where a transfer is staged.
void check_route(const Topology& topology, const ServerSpec& spec, const CardRoute& card_route) {
  std::set<std::pair<std::string, std::string>> stated;
  for (const LinkSpec& link : spec.links) stated.insert({std::min(link.from, link.to), std::max(link.from, link.to)});
  const auto bridged = [&](const std::string& a, const std::string& b) {
    return std::any_of(spec.bridges.begin(), spec.bridges.end(), [&](const BridgeSpec& bridge) {
      const auto joins = [&](const std::string& card) {
        return std::count(bridge.cards.begin(), bridge.cards.end(), card) > 0;
      };
      return joins(a) && joins(b);
    });
  };
  VertexId at = card_route.route.from;
  std::size_t memories = 0;
  for (const LinkId link : card_route.route.links) {
    REQUIRE(topology.link_source(link) == at);
    const std::string from = short_of(topology, at);
    at = topology.link_target(link);
    const std::string to = short_of(topology, at);
    REQUIRE((stated.contains({std::min(from, to), std::max(from, to)}) || bridged(from, to)));
    const DeviceKind kind = topology.device(at).kind;
    REQUIRE((kind != DeviceKind::card || at == card_route.route.to));
    memories += kind == DeviceKind::host_memory ? 1 : 0;
  }
  REQUIRE(at == card_route.route.to);
  REQUIRE(memories == (card_route.transport == Transport::host_staged ? 1U : 0U));
}

}  // namespace

TEST_CASE("on random machines every card reaches every other by stated links, or building says why not",
          "[topology][property]") {
  std::size_t built_machines = 0;
  for (std::uint32_t seed = 0; seed < machines_tried; ++seed) {
    INFO("seed " << seed);
    RandomMachine machine(seed);
    ServerSpec spec = machine.build();
    machine.damage(spec);
    const Result<Topology> topology = build_topology(spec, cards(), LinkBasis::measured);
    if (!topology) {
      REQUIRE(has_error(topology.diagnostics()));
      continue;
    }
    ++built_machines;
    for (const CardInstance& from : topology->cards()) {
      for (const CardInstance& to : topology->cards()) {
        if (from.vertex == to.vertex) continue;
        const CardRoute& there = topology->card_route(from.vertex, to.vertex);
        INFO(short_of(*topology, from.vertex) << " to " << short_of(*topology, to.vertex));
        check_route(*topology, spec, there);
        REQUIRE(there.type == topology->card_route(to.vertex, from.vertex).type);  // links have two directions
      }
    }
  }
  REQUIRE(built_machines > machines_tried / 3);  // the test would prove nothing if most machines were refused
}

TEST_CASE("the order of links in the file changes no path type and no route's length", "[topology][property]") {
  for (std::uint32_t seed = 0; seed < machines_tried / 3; ++seed) {
    INFO("seed " << seed);
    const ServerSpec spec = RandomMachine(seed).build();
    ServerSpec shuffled = spec;
    std::mt19937 random(seed);
    std::shuffle(shuffled.links.begin(), shuffled.links.end(), random);
    const Topology one = built(spec);
    const Topology other = built(shuffled);
    for (std::size_t from = 0; from < one.cards().size(); ++from) {
      for (std::size_t to = 0; to < one.cards().size(); ++to) {
        const CardRoute& a = one.card_route(one.cards()[from].vertex, one.cards()[to].vertex);
        const CardRoute& b = other.card_route(other.cards()[from].vertex, other.cards()[to].vertex);
        REQUIRE(a.type == b.type);
        REQUIRE(a.transport == b.transport);
        REQUIRE(a.route.links.size() == b.route.links.size());
        REQUIRE(a.route.latency == b.route.latency);
      }
    }
  }
}
