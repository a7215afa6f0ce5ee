// Every data file reads, builds and passes the checks; the figures that guides state come out of the files.
#include <set>

#include "catch.hpp"
#include "data.hpp"
#include "topology/path_type.hpp"

using namespace takt;

namespace {

const CardRoute& between(const Topology& topology, const std::string& from, const std::string& to) {
  return topology.card_route(topology.find(from).value(), topology.find(to).value());
}

/// The least capacity on the way between two cards, GB/s.
double bottleneck(const Topology& topology, const std::string& from, const std::string& to) {
  double least = 1e30;
  for (const LinkId link : between(topology, from, to).route.links) {
    least = std::min(least, topology.link(link).capacity.count() / 1e9);
  }
  return least;
}

/// What makes a server the machine it is, without its name and words.
std::string layout_of(const ServerSpec& spec) {
  std::string text;
  for (const DeviceSpec& device : spec.devices) {
    text += std::to_string(static_cast<int>(device.kind)) + device.name + device.card + device.cpu + ';';
  }
  for (const LinkSpec& link : spec.links) text += link.from + '-' + link.to + link.type.id + ';';
  for (const BridgeSpec& bridge : spec.bridges) {
    for (const std::string& card : bridge.cards) text += card + ',';
    text += ';';
  }
  return text + spec.peer_to_peer.level + std::to_string(spec.peer_to_peer.acs);
}

}  // namespace

TEST_CASE("the 22 card files of the field read and say where their factors come from", "[data]") {
  REQUIRE(data::cards().size() == 22);
  for (const auto& [id, card] : data::cards()) {
    INFO(id);
    REQUIRE_FALSE(card.source.empty());
    REQUIRE_FALSE(card.efficiency.source.empty());
    REQUIRE(card.dense_peak.contains(Precision::bf16));
  }
}

TEST_CASE("every server file builds under both link bases and names its sources", "[data]") {
  for (const std::string& name : data::names_in("servers")) {
    INFO(name);
    for (const LinkBasis basis : {LinkBasis::nominal, LinkBasis::measured}) {
      const Topology topology = data::topology(name, basis);
      REQUIRE_FALSE(topology.cards().empty());
      for (std::size_t link = 0; link < topology.link_count(); ++link) {
        INFO(topology.resources()[index(topology.link(id_at<LinkId>(link)).resource)].name);
        REQUIRE_FALSE(topology.link(id_at<LinkId>(link)).source.empty());
        REQUIRE(topology.link(id_at<LinkId>(link)).effective <= topology.link(id_at<LinkId>(link)).nominal);
      }
    }
    REQUIRE_FALSE(has_error(check_topology(data::topology(name, LinkBasis::measured))));
  }
}

TEST_CASE("no two server files describe the same machine", "[data]") {
  std::map<std::string, std::string> seen;
  for (const std::string& name : data::names_in("servers")) {
    const auto [first, added] = seen.emplace(layout_of(data::server(name)), name);
    INFO(name << " is a copy of " << first->second);
    REQUIRE(added);
  }
}

TEST_CASE("every cluster file builds", "[data]") {
  for (const std::string& name : data::names_in("clusters")) {
    INFO(name);
    const Topology topology = data::cluster(name, LinkBasis::measured);
    const CardInstance& first = topology.cards().front();
    const CardInstance& last = topology.cards().back();
    REQUIRE(topology.card_route(first.vertex, last.vertex).transport == Transport::network);
  }
}

TEST_CASE("bridges of H200 NVL: 450 GB/s in a pair, 150 in a pair of a 4-way bridge, nominal", "[data]") {
  REQUIRE(bottleneck(data::topology("2x-h200-nvl-2-way-bridge", LinkBasis::nominal), "gpu0", "gpu1") == Approx(450));
  const Topology quad = data::topology("4x-h200-nvl-4-way-bridge", LinkBasis::nominal);
  REQUIRE(bottleneck(quad, "gpu0", "gpu3") == Approx(150));
  REQUIRE(path_type_matrix(quad)[1] == std::vector<std::string>{"NV6", "X", "NV6", "NV6"});
}

TEST_CASE("measured: a pair of a 4-way bridge copies 133 GB/s, NVSwitch 391", "[data]") {
  // 6 links x 22.2; 18 links x 21.7
  REQUIRE(bottleneck(data::topology("4x-h200-nvl-4-way-bridge", LinkBasis::measured), "gpu0", "gpu3") == Approx(133.2));
  REQUIRE(bottleneck(data::topology("8x-h200-sxm-hgx", LinkBasis::measured), "gpu0", "gpu5") == Approx(390.6));
}

TEST_CASE("eight H200 NVL on two bridges meet over the sockets only", "[data]") {
  const Topology topology = data::topology("8x-h200-nvl-two-4-way-bridges", LinkBasis::nominal);
  REQUIRE(path_type_matrix(topology)[0] ==
          std::vector<std::string>{"X", "NV6", "NV6", "NV6", "SYS", "SYS", "SYS", "SYS"});
  REQUIRE(between(topology, "gpu3", "gpu4").transport == Transport::host_staged);
}

TEST_CASE("RTX PRO 6000 behind four switches: nominal Gen5 x16 everywhere, peer-to-peer under a switch", "[data]") {
  const Topology topology = data::topology("8x-rtx-pro-6000-server-4-switches", LinkBasis::nominal);
  REQUIRE(bottleneck(topology, "gpu0", "gpu1") == 64.0);
  REQUIRE(between(topology, "gpu0", "gpu1").transport == Transport::peer_to_peer);
  REQUIRE(between(topology, "gpu1", "gpu2").transport == Transport::host_staged);
  REQUIRE(path_type_matrix(topology)[0] ==
          std::vector<std::string>{"X", "PIX", "PHB", "PHB", "SYS", "SYS", "SYS", "SYS"});
}

TEST_CASE("direct attach on dual Turin: PHB in a socket, SYS across, as the machine's own matrix shows", "[data]") {
  const Topology topology = data::topology("8x-rtx-pro-6000-server-dual-turin", LinkBasis::measured);
  REQUIRE(path_type_matrix(topology)[4] ==
          std::vector<std::string>{"SYS", "SYS", "SYS", "SYS", "X", "PHB", "PHB", "PHB"});
  REQUIRE(bottleneck(topology, "gpu0", "gpu7") == Approx(51));
}

TEST_CASE("1,024 cards in 128 servers", "[data]") {
  const Topology topology = data::cluster("128x-8x-rtx-pro-6000-400g", LinkBasis::measured);
  REQUIRE(topology.cards().size() == 1024);
  REQUIRE(bottleneck(topology, "server0/gpu3", "server127/gpu3") == Approx(48.5));  // 0.97 of 400 Gb/s / 8
}
