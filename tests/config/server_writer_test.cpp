#include "config/server_writer.hpp"

#include "catch.hpp"
#include "config/quantity.hpp"
#include "config/reader.hpp"
#include "topology/data.hpp"

#include <fmt/format.h>
#include <random>

using namespace takt;

namespace {

std::string describe(const LinkType& type) {
  return fmt::format("{} kind {} gen {} lanes {} {} {} {} {} | {} | {}", type.id, static_cast<int>(type.kind),
                     type.generation, type.lanes, type.nominal.count(), type.effective.count(),
                     type.both_directions ? type.both_directions->count() : -1.0, type.latency.count(), type.source,
                     type.confidence);
}

/// Everything of a spec but its places and file name.
std::string describe(const ServerSpec& server) {
  std::string text = fmt::format("{} | {} | {}\n", server.title, server.source, server.confidence);
  for (const std::string& line : server.assumed) text += "assumed " + line + "\n";
  for (const DeviceSpec& d : server.devices) {
    text +=
        fmt::format("{} kind {} card {} cpu {} memory {} cores {} lanes {} nic {}\n", d.name, static_cast<int>(d.kind),
                    d.card, d.cpu, d.host_memory.count(), d.cores, d.pcie_lanes, d.nic_speed.count());
  }
  for (const LinkSpec& link : server.links) {
    text += fmt::format("{} - {}: {} assumed {}\n", link.from, link.to, describe(link.type), link.assumed);
  }
  for (const BridgeSpec& bridge : server.bridges) {
    for (const std::string& card : bridge.cards) text += card + " ";
    text += fmt::format("bridge {} | {}\n", bridge.link ? describe(*bridge.link) : "", bridge.source);
  }
  const PeerToPeerSpec& p2p = server.peer_to_peer;
  text += fmt::format("p2p {} {} {} {}\n", p2p.enabled, p2p.level, p2p.iommu, p2p.acs);
  return text + fmt::format("nccl {} {} {} {}\n", server.nccl.channels, server.nccl.rate, server.nccl.latency,
                            server.nccl.source);
}

/// A server as the reader would make it: what a file can say, drawn at random. No sense is asked of the hardware.
class RandomServer {
 public:
  explicit RandomServer(std::uint64_t seed) : random_(seed) {}

  ServerSpec spec() {
    server_.title = word();
    server_.source = word();
    if (coin()) server_.confidence = "low: \"a guess\"";
    for (int i = below(3); i > 0; --i) server_.assumed.push_back(word());
    for (int i = 1 + below(2); i > 0; --i) add_socket();
    for (int i = below(3); i > 0; --i) add(DeviceKind::pcie_switch, "sw");
    const std::string prefix = coin() ? "gpu" : "card ";
    for (int i = 1 + below(6); i > 0; --i) {
      add(DeviceKind::card, prefix);
      server_.devices.back().card = coin() ? "h200-nvl" : "l40s";
    }
    for (int i = below(3); i > 0; --i) {
      add(DeviceKind::nic, "nic");
      if (coin()) server_.devices.back().nic_speed = Bandwidth(1e9 * (1 + below(100)));
    }
    for (int i = below(2); i > 0; --i) add(DeviceKind::nvme, "nvme");
    for (int i = below(8); i > 0; --i) add_link();
    if (coin())
      add_bridge();
    else if (coin())
      add_nvswitch();
    server_.peer_to_peer.enabled = coin();
    server_.peer_to_peer.level = coin() ? "SYS" : "PXB";
    server_.peer_to_peer.iommu = coin();
    server_.peer_to_peer.acs = coin();
    if (coin()) server_.nccl = {1 + below(32), 0.5 + below(100) / 70.0, 1.0 + below(100) / 30.0, word()};
    return server_;
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool coin() { return below(2) == 0; }

  std::string word() {
    const std::vector<std::string> words = {"a box",           "tab\there",    "quote \" and \\",
                                            "Umlaut \xc3\xbc", "# no comment", "x"};
    return words[static_cast<std::size_t>(below(static_cast<int>(words.size())))];
  }

  void add(DeviceKind kind, const std::string& prefix) {
    DeviceSpec device;
    device.name = prefix + std::to_string(counts_[prefix]++);
    device.kind = kind;
    server_.devices.push_back(device);
    names_.push_back(device.name);
  }

  void add_socket() {
    add(DeviceKind::socket, "cpu");
    DeviceSpec& socket = server_.devices.back();
    if (coin()) socket.cpu = "amd-turin";
    if (coin()) socket.cores = 1 + below(128);
    if (coin()) socket.host_memory = Bytes(1'000'000'000LL * (1 + below(4000)));
    if (coin()) socket.pcie_lanes = 1024;  // enough for any links
    if (coin()) return;
    DeviceSpec memory;
    memory.name = socket.name + " memory";
    memory.kind = DeviceKind::host_memory;
    memory.host_memory = socket.host_memory;
    LinkSpec link{socket.name, memory.name, {}, false, {}};
    link.type.id = "memory";
    link.type.kind = LinkKind::memory;
    link.type.nominal = link.type.effective = Bandwidth(1e9 * (100 + below(900)));
    link.type.source = server_.source;
    link.type.confidence = server_.confidence;
    names_.push_back(memory.name);
    server_.devices.push_back(memory);
    server_.links.push_back(link);
  }

  LinkType any_type() {
    auto type = data::link_types().begin();
    std::advance(type, below(static_cast<int>(data::link_types().size())));
    return type->second;
  }

  void add_link() {
    const auto a = static_cast<std::size_t>(below(static_cast<int>(names_.size())));
    const auto b = static_cast<std::size_t>(below(static_cast<int>(names_.size())));
    if (a == b) return;
    LinkSpec link{names_[a], names_[b], any_type(), coin(), {}};
    LinkType& type = link.type;
    if (type.lanes > 0 && coin()) {
      const int lanes = 1 + below(32);
      const double factor = lanes / static_cast<double>(type.lanes);
      type.lanes = lanes;
      type.nominal = type.nominal * factor;
      type.effective = type.effective * factor;
      if (type.both_directions) type.both_directions = *type.both_directions * factor;
    }
    if (coin()) type.nominal = Bandwidth(1.0 + 1e7 * below(10000) / 3.0);
    if (coin()) type.effective = Bandwidth(1.0 + 1e7 * below(10000) / 7.0);
    if (coin()) type.both_directions = Bandwidth(1.0 + 1e7 * below(10000));
    if (coin()) type.latency = Duration(below(1'000'000));
    if (coin()) type.source = "measured " + word();
    const bool at_socket = names_[a].find("cpu") == 0 && names_[a].find(' ') == std::string::npos;
    if (type.kind == LinkKind::pcie && at_socket && coin()) link.host_bridge = 1 + below(8);
    server_.links.push_back(link);
  }

  std::vector<std::string> cards() const {
    std::vector<std::string> cards;
    for (const DeviceSpec& device : server_.devices) {
      if (device.kind == DeviceKind::card) cards.push_back(device.name);
    }
    return cards;
  }

  void add_bridge() {
    if (cards().size() < 2) return;
    BridgeSpec bridge{cards(), std::nullopt, coin() ? word() : "", {}};
    if (coin()) bridge.link = any_type();
    if (coin()) {
      if (!bridge.link) bridge.link = LinkType{};
      bridge.link->effective = Bandwidth(1.0 + 1e7 * below(10000) / 7.0);
      if (coin()) bridge.link->both_directions = Bandwidth(1.0 + 1e7 * below(10000));
    }
    server_.bridges.push_back(bridge);
  }

  void add_nvswitch() {
    DeviceSpec device;
    device.name = "nvswitch";
    device.kind = DeviceKind::nvswitch;
    server_.devices.push_back(device);
    LinkType type;
    if (coin()) {
      type = any_type();
    } else {
      type.id = "nvswitch";
      type.source = server_.source;
    }
    type.kind = LinkKind::nvswitch;
    if (coin()) type.effective = Bandwidth(1.0 + 1e7 * below(10000) / 7.0);
    if (coin()) type.both_directions = Bandwidth(1.0 + 1e7 * below(10000));
    if (coin()) type.latency = Duration(below(1'000'000));
    for (const std::string& card : cards()) server_.links.push_back({card, "nvswitch", type, false, {}});
  }

  std::mt19937_64 random_;
  ServerSpec server_;
  std::map<std::string, int> counts_;
  std::vector<std::string> names_;
};

}  // namespace

TEST_CASE("a server that is written and read is the same server", "[config][property]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    const ServerSpec server = RandomServer(seed).spec();
    const std::string text = write_server(server, data::link_types());
    const Result<ServerSpec> read = read_server({"random.toml", text}, data::link_types());
    INFO(text << render(read.diagnostics()));
    REQUIRE(read.has_value());
    REQUIRE(describe(*read) == describe(server));
  }
}

TEST_CASE("the project's server files survive being written", "[config]") {
  for (const std::string& name : data::names_in("servers")) {
    CAPTURE(name);
    const ServerSpec server = data::server(name);
    const Result<ServerSpec> read =
        read_server({name + ".toml", write_server(server, data::link_types())}, data::link_types());
    REQUIRE(read.has_value());
    CHECK(describe(*read) == describe(server));
    CHECK(read->places.count("peer_to_peer.level") == server.places.count("peer_to_peer.level"));
  }
}
