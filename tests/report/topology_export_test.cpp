#include "report/topology_export.hpp"

#include "catch.hpp"
#include "config/server_writer.hpp"
#include "topology/import/import.hpp"
#include "topology/import/import_data.hpp"
#include "topology/machines.hpp"

#include <random>

using namespace takt;

namespace {

/// Servers of one or two sockets whose trees hold what a matrix can tell: cards and NICs on the socket, on a switch, or
/// on switches under a switch; cards of one socket on a bridge now and then.
class RandomServer {
 public:
  explicit RandomServer(std::uint64_t seed) : random_(seed), types_(data::link_types()) {}

  ServerSpec spec() {
    const int sockets = between(1, 2);
    for (int i = 0; i < sockets; ++i) {
      server_.socket("cpu" + std::to_string(i));
      const int first_card = cards_;
      add_card("cpu" + std::to_string(i), i);
      for (int tree = between(0, 3); tree > 0; --tree) add_tree("cpu" + std::to_string(i), i);
      bridge_some(first_card);
    }
    if (sockets == 2) server_.link("cpu0", "cpu1", types_.at("upi-spr"));
    ServerSpec spec = server_.spec();
    for (int i = 0; i < sockets; ++i) tell_host_bridges_apart(spec, "cpu" + std::to_string(i));
    for (auto [first, count] : bridges_) {
      BridgeSpec bridge;
      for (int card = first; card < first + count; ++card) bridge.cards.push_back("gpu" + std::to_string(card));
      spec.bridges.push_back(bridge);
    }
    return spec;
  }

 private:
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void add_card(const std::string& parent, int) { server_.card("gpu" + std::to_string(cards_++), parent, "h200-nvl"); }

  void add_device(const std::string& parent, int socket) {
    if (between(0, 3) > 0) return add_card(parent, socket);
    server_.nic("nic" + std::to_string(nics_++), parent);
  }

  std::string add_switch(const std::string& parent) {
    const std::string name = "sw" + std::to_string(switches_++);
    server_.device(name, DeviceKind::pcie_switch).link(parent, name, machines::pcie5_x16());
    return name;
  }

  void add_tree(const std::string& parent, int socket) {
    const int leaves = between(0, 3);
    if (leaves == 0) return add_device(parent, socket);
    const std::string top = add_switch(parent);
    if (leaves == 1) {
      for (int device = between(2, 4); device > 0; --device) add_device(top, socket);
      return;
    }
    for (int leaf = leaves; leaf > 0; --leaf) {
      const std::string name = add_switch(top);
      for (int device = between(1, 2); device > 0; --device) add_device(name, socket);
    }
  }

  /// Of some sockets: the host bridge of every PCIe link.
  void tell_host_bridges_apart(ServerSpec& spec, const std::string& socket) {
    if (between(0, 1) == 0) return;
    for (LinkSpec& link : spec.links) {
      if (link.from == socket && link.type.kind == LinkKind::pcie) link.host_bridge = between(1, 3);
    }
  }

  void bridge_some(int first_card) {
    const int here = cards_ - first_card;
    if (here >= 4 && between(0, 1) == 0) {
      bridges_.emplace_back(first_card, 4);
    } else if (here >= 2 && between(0, 1) == 0) {
      bridges_.emplace_back(first_card, 2);
    }
  }

  std::mt19937_64 random_;
  std::map<std::string, LinkType> types_;
  machines::Server server_{"random"};
  std::vector<std::pair<int, int>> bridges_;
  int cards_ = 0;
  int nics_ = 0;
  int switches_ = 0;
};

Topology built(const ServerSpec& spec) {
  Result<Topology> topology = build_topology(spec, data::cards(), LinkBasis::nominal);
  INFO(render(topology.diagnostics()));
  REQUIRE(topology.has_value());
  return *std::move(topology);
}

ServerSpec imported(const std::string& matrix) {
  const Result<ServerSpec> server = import_nvidia_smi({"matrix.txt", matrix}, test::import_options("h200-nvl"));
  INFO(matrix << render(server.diagnostics()));
  REQUIRE(server.has_value());
  return *server;
}

}  // namespace

TEST_CASE("the matrix of a machine names cards, NICs, affinity and legend", "[report][topology]") {
  machines::Server server("box");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", machines::socket_link());
  server.pcie_switch("sw0", "cpu0").card("gpu0", "sw0").card("gpu1", "sw0").nic("mlx5_0", "sw0").card("gpu2", "cpu1");
  ServerSpec spec = server.spec();
  spec.devices[0].cores = 32;
  spec.devices[2].cores = 32;
  const Topology topology = machines::built(spec);
  CHECK(topology_matrix(topology) ==
        "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tPIX\tSYS\tPIX\t0-31\t0\tN/A\n"
        "GPU1\tPIX\t X \tSYS\tPIX\t0-31\t0\tN/A\n"
        "GPU2\tSYS\tSYS\t X \tSYS\t32-63\t1\tN/A\n"
        "NIC0\tPIX\tPIX\tSYS\t X \t\t\t\n"
        "\nNIC Legend:\n\n  NIC0: mlx5_0\n");
}

TEST_CASE("a matrix that goes out and in again is the same topology", "[report][topology][property]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const std::string out = topology_matrix(built(RandomServer(seed).spec()));
    const ServerSpec first = imported(out);
    const std::string again = topology_matrix(built(first));
    // The legend holds names, and an import numbers NICs itself.
    REQUIRE(again.substr(0, again.find("\nNIC Legend")) == out.substr(0, out.find("\nNIC Legend")));
    const ServerSpec second = imported(again);
    const auto types = data::link_types();
    REQUIRE(write_server(second, types) == write_server(first, types));
  }
}

TEST_CASE("NODE stays NODE: host bridges of one socket go out and in again", "[report][topology]") {
  machines::Server server("bridges");
  server.socket("cpu0").pcie_switch("sw0", "cpu0").card("gpu0", "sw0", "h200-nvl").card("gpu1", "sw0", "h200-nvl");
  server.card("gpu2", "cpu0", "h200-nvl").card("gpu3", "cpu0", "h200-nvl");
  ServerSpec spec = server.spec();
  for (LinkSpec& link : spec.links) {
    if (link.from == "cpu0" && link.type.kind == LinkKind::pcie) link.host_bridge = link.to == "sw0" ? 1 : 2;
  }
  const std::string out = topology_matrix(built(spec));
  CHECK(out.substr(out.find('\n') + 1, 23) == "GPU0\t X \tPIX\tNODE\tNODE\t");
  CHECK(out.find("GPU2\tNODE\tNODE\t X \tPHB\t") != std::string::npos);
  CHECK(topology_matrix(built(imported(out))) == out);
}

TEST_CASE("a drawing holds every device and every physical link once", "[report][topology]") {
  machines::Server server("pair");
  server.socket("cpu0").card("gpu0", "cpu0").card("gpu1", "cpu0");
  ServerSpec spec = server.spec();
  spec.title = "a \"pair\"";
  spec.links.back().assumed = true;
  CHECK(topology_dot(machines::built(spec)) ==
        "graph \"pair\" {\n"
        "  label=\"a \\\"pair\\\"\";\n"
        "  labelloc=t;\n"
        "  rankdir=TB;\n"
        "  node [fontname=\"Helvetica\", fontsize=10];\n"
        "  edge [fontname=\"Helvetica\", fontsize=8];\n"
        "    subgraph cluster_socket0 {\n"
        "      label=\"NUMA node 0\"; fontname=\"Helvetica\"; fontsize=9;\n"
        "      style=rounded; color=\"#999999\";\n"
        "      v0 [label=\"cpu0\\nintel-spr\", shape=box3d];\n"
        "      v1 [label=\"cpu0-memory\", shape=cylinder];\n"
        "      v2 [label=\"gpu0\", shape=box];\n"
        "      v3 [label=\"gpu1\", shape=box];\n"
        "    }\n"
        "  v0 -- v1 [label=\"300 GB/s\", color=\"#999999\"];\n"
        "  v0 -- v2 [label=\"Gen5 x16\\n64.0 GB/s\", color=\"#000000\"];\n"
        "  v0 -- v3 [label=\"Gen5 x16\\n64.0 GB/s\", color=\"#000000\", style=dashed];\n"
        "}\n");
}
