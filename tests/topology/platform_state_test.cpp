// [platform] over a server file: what each setting edits, and what is refused.
#include "topology/platform_state.hpp"

#include "catch.hpp"
#include "data.hpp"
#include "machines.hpp"

using namespace takt;

namespace {

/// Settings as a command line writes them.
PlatformState state_of(const Overrides& overrides) {
  return data::value_or_throw(read_platform(overrides));
}

Result<ServerSpec> changed(const std::string& server, const Overrides& overrides) {
  return in_platform_state(data::server(server), state_of(overrides), {data::cards(), data::link_types()});
}

Topology built(const std::string& server, const Overrides& overrides) {
  return data::value_or_throw(
      build_topology(data::value_or_throw(changed(server, overrides)), data::cards(), LinkBasis::measured));
}

std::string route(const std::string& server, const std::string& from, const std::string& to,
                  const Overrides& overrides = {}) {
  const Topology topology = built(server, overrides);
  return machines::stops(topology, machines::between(topology, from, to).route);
}

Link link_between(const Topology& topology, const std::string& from, const std::string& to) {
  for (std::size_t position = 0; position < topology.link_count(); ++position) {
    const auto id = id_at<LinkId>(position);
    const bool here =
        topology.device(topology.link_source(id)).name == from && topology.device(topology.link_target(id)).name == to;
    if (here) return topology.link(id);
  }
  throw std::runtime_error("no link " + from + " -> " + to);
}

const std::string four_switches = "8x-rtx-pro-6000-server-4-switches";
const std::string with_nics = "8x-rtx-pro-6000-server-2-8-9";

}  // namespace

TEST_CASE("no settings leave a server as its file says", "[topology]") {
  for (const std::string& name : data::names_in("servers")) {
    const ServerSpec filed = data::server(name);
    const ServerSpec same = data::value_or_throw(changed(name, {}));
    INFO(name);
    REQUIRE(same.links.size() == filed.links.size());
    REQUIRE(same.peer_to_peer.enabled == filed.peer_to_peer.enabled);
  }
}

TEST_CASE("peer-to-peer states change the ways", "[topology]") {
  const std::string staged = "gpu0 sw0 cpu0 cpu0 memory cpu0 sw0 gpu1";
  CHECK(route(four_switches, "gpu0", "gpu1") == "gpu0 sw0 gpu1");
  CHECK(route(four_switches, "gpu0", "gpu1", {{"platform.peer_to_peer.enabled", "false"}}) == staged);
  CHECK(route(four_switches, "gpu0", "gpu1", {{"platform.peer_to_peer.iommu", "true"}}) == staged);
  CHECK(route(four_switches, "gpu0", "gpu1", {{"platform.peer_to_peer.acs", "true"}}) == "gpu0 sw0 cpu0 sw0 gpu1");
  CHECK(route(four_switches, "gpu0", "gpu4") == "gpu0 sw0 cpu0 cpu1 cpu1 memory cpu1 sw2 gpu4");
  CHECK(route(four_switches, "gpu0", "gpu4", {{"platform.peer_to_peer.level", "SYS"}}) ==
        "gpu0 sw0 cpu0 cpu1 sw2 gpu4");
}

TEST_CASE("an IOMMU leaves NVLink alone", "[topology]") {
  const std::string bridge = "4x-h200-nvl-4-way-bridge";
  CHECK(route(bridge, "gpu0", "gpu1", {{"platform.peer_to_peer.iommu", "true"}}) == "gpu0 gpu1");
  CHECK(changed(bridge, {{"platform.peer_to_peer.iommu", "true"}, {"platform.peer_to_peer.enabled", "true"}}));
}

TEST_CASE("ACS sends traffic between the virtual switches of a chip through the root port too", "[topology]") {
  const Overrides level = {{"platform.peer_to_peer.level", "SYS"}};
  Overrides acs = level;
  acs.push_back({"platform.peer_to_peer.acs", "true"});
  const std::string asus = "8x-rtx-pro-6000-server-asus-esc8000a";
  CHECK(route(asus, "gpu0", "gpu2", level) == "gpu0 sw0 sw1 gpu2");
  CHECK(route(asus, "gpu0", "gpu2", acs) == "gpu0 sw0 cpu0 sw1 gpu2");
}

TEST_CASE("generation and width change every link they are said of, and no other", "[topology]") {
  const Topology gen4 = built(with_nics, {{"platform.pcie.generation", "4"}});
  CHECK(link_between(gen4, "cpu0", "sw0").type == "pcie4-x16");
  CHECK(link_between(gen4, "sw0", "gpu0").type == "pcie4-x16");
  const Topology x8 = built(with_nics, {{"platform.pcie.lanes", "8"}});
  CHECK(link_between(x8, "sw0", "gpu0").type == "pcie5-x8");
  CHECK(link_between(x8, "cpu0", "sw0").type == "pcie5-x16");
  // A Gen4 card in Gen5 slots keeps its own.
  const Topology l40s = built("8x-l40s-dual-spr", {{"platform.pcie.generation", "5"}});
  CHECK(link_between(l40s, "cpu0", "gpu0").generation == 4);
}

TEST_CASE("a width that links.toml does not have is a share of x16", "[topology]") {
  const Topology x4 = built(four_switches, {{"platform.pcie.lanes", "4"}});
  const Link& link = link_between(x4, "sw0", "gpu0");
  CHECK(link.lanes == 4);
  CHECK(link.effective.count() == data::link_types().at("pcie5-x16").effective.count() / 4);
}

TEST_CASE("links trained down: a switch's uplink, a card's slot", "[topology]") {
  const Topology uplink = built(four_switches, {{"platform.trained_down.devices", "[\"sw0\", \"gpu5\"]"},
                                                {"platform.trained_down.generation", "2"},
                                                {"platform.trained_down.lanes", "8"}});
  CHECK(link_between(uplink, "cpu0", "sw0").generation == 2);
  CHECK(link_between(uplink, "cpu0", "sw0").lanes == 8);
  CHECK(link_between(uplink, "sw2", "gpu5").generation == 2);
  CHECK(link_between(uplink, "cpu0", "sw1").generation == 5);
  CHECK(link_between(uplink, "sw0", "gpu0").generation == 5);
}

TEST_CASE("what a file measured holds where the slower kind would reach more", "[topology]") {
  ServerSpec server = machines::four_switches().spec();
  for (LinkSpec& link : server.links) {
    if (link.to == "gpu0") link.type.effective = Bandwidth(11e9);
  }
  const PlatformState x8 = state_of({{"platform.pcie.lanes", "8"}});
  const ServerSpec slow = data::value_or_throw(in_platform_state(server, x8, {machines::cards(), data::link_types()}));
  const Topology topology = machines::built(slow, LinkBasis::measured);
  CHECK(link_between(topology, "sw0", "gpu0").effective == Bandwidth(11e9));
  CHECK(link_between(topology, "sw0", "gpu1").effective == data::link_types().at("pcie5-x8").effective);
}

TEST_CASE("sockets: another kind of link, a stated rate, a cap of both directions, host memory", "[topology]") {
  const Link genoa = link_between(built(four_switches, {{"platform.socket.link", "xgmi-genoa"}}), "cpu0", "cpu1");
  CHECK(genoa.effective == Bandwidth(39e9));
  CHECK(genoa.both_directions.has_value());
  const Topology stated =
      built(four_switches, {{"platform.socket.link", "xgmi-genoa"}, {"platform.socket.bandwidth", "19.5 GB/s"}});
  const Link slow = link_between(stated, "cpu0", "cpu1");
  CHECK(slow.effective == Bandwidth(19.5e9));
  // 64 of twice 39 stays 64 of twice 39.
  CHECK(stated.resources()[index(*slow.both_directions)].capacity == Approx(32e9));
  const Topology capped = built(four_switches, {{"platform.socket.both_directions", "60 GB/s"}});
  CHECK(capped.resources()[index(*link_between(capped, "cpu0", "cpu1").both_directions)].capacity == 60e9);
  const Topology memory = built(four_switches, {{"platform.socket.memory_bandwidth", "50 GB/s"}});
  CHECK(link_between(memory, "cpu1", "cpu1 memory").capacity == Bandwidth(50e9));
}

TEST_CASE("NICs: where they hang and how fast they are", "[topology]") {
  CHECK(link_between(built(with_nics, {{"platform.nic.placement", "switches"}}), "sw3", "nic3").kind == LinkKind::pcie);
  ServerSpec wide = data::server(with_nics);
  for (DeviceSpec& device : wide.devices) device.pcie_lanes = 0;
  const auto placed = [&](const char* placement) {
    const PlatformState state = state_of({{"platform.nic.placement", placement}});
    return data::value_or_throw(in_platform_state(wide, state, {data::cards(), data::link_types()}));
  };
  const auto parent = [](const ServerSpec& server, const std::string& nic) {
    for (const LinkSpec& link : server.links) {
      if (link.to == nic) return link.from;
      if (link.from == nic) return link.to;
    }
    return std::string("none");
  };
  CHECK(parent(placed("first-socket"), "nic5") == "cpu0");
  CHECK(parent(placed("sockets"), "nic5") == "cpu1");
  CHECK(parent(placed("sockets"), "nic4") == "cpu0");
  const ServerSpec fast = data::value_or_throw(changed(with_nics, {{"platform.nic.speed", "100 Gb/s"}}));
  for (const DeviceSpec& device : fast.devices) {
    if (device.kind == DeviceKind::nic) CHECK(device.nic_speed == Bandwidth(12.5e9));
  }
}

TEST_CASE("what a machine does not have is refused, with the reason", "[topology]") {
  struct Case {
    std::string server;
    Overrides overrides;
    std::string message;
    std::string hint;
  };
  const std::vector<Case> cases = {
      {four_switches,
       {{"platform.trained_down.devices", "sw9"}, {"platform.trained_down.lanes", "8"}},
       four_switches + " has no device \"sw9\" on a PCIe link",
       "did you mean \"sw0\"?"},
      {"2x-rtx-4090",
       {{"platform.trained_down.devices", "gpu0"}, {"platform.trained_down.generation", "5"}},
       "the link of gpu0 runs at Gen4 x16, which Gen5 x16 is no step down from",
       ""},
      {"2x-rtx-4090", {{"platform.socket.link", "xgmi-turin"}}, "2x-rtx-4090 has no link between sockets", ""},
      {four_switches,
       {{"platform.socket.link", "xgmi-turim"}},
       "\"xgmi-turim\" is no kind of link between sockets",
       "did you mean \"xgmi-turin\"?"},
      {"8x-rtx-pro-6000-server-dual-turin",
       {{"platform.socket.both_directions", "40 GB/s"}},
       "both directions together carry 40 GB/s, less than one alone (51 GB/s)",
       "set platform.socket.bandwidth too"},
      {"2x-rtx-4090", {{"platform.nic.speed", "400 Gb/s"}}, "2x-rtx-4090 has no NIC", ""},
      {with_nics,
       {{"platform.nic.placement", "first-socket"}},
       "cpu0 has 88 PCIe lanes, but with these NICs its links need 160",
       "put them under the switches"},
      {four_switches,
       {{"platform.peer_to_peer.enabled", "true"}, {"platform.peer_to_peer.iommu", "true"}},
       "peer-to-peer cannot be on: " + four_switches + " has no NVLink, and its IOMMU translates",
       "set platform.peer_to_peer.iommu = false"},
      {"fsdp80-star-8",
       {{"platform.socket.memory_bandwidth", "100 GB/s"}},
       "fsdp80-star-8 states no host memory",
       "add memory_bandwidth to a socket of the server file"},
  };
  for (const Case& wrong : cases) {
    const Result<ServerSpec> result = changed(wrong.server, wrong.overrides);
    INFO(wrong.message);
    REQUIRE_FALSE(result);
    CHECK(result.diagnostics().front().message == wrong.message);
    CHECK(result.diagnostics().front().hint == wrong.hint);
    CHECK(result.diagnostics().front().place.file == "command line");
  }
}

TEST_CASE("ACS without shared switches is said to be idle", "[topology]") {
  const Result<ServerSpec> direct = changed("2x-rtx-4090", {{"platform.peer_to_peer.acs", "true"}});
  REQUIRE(direct);
  REQUIRE(direct.diagnostics().size() == 1);
  CHECK(direct.diagnostics().front().message == "acs has no effect: no two cards of 2x-rtx-4090 share a PCIe switch");
  CHECK(changed(four_switches, {{"platform.peer_to_peer.acs", "true"}}).diagnostics().empty());
}
