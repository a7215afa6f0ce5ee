// Cards, links, servers, clusters and models: what their files mean.
#include "catch.hpp"
#include "config/reader.hpp"
#include "support/source_dir.hpp"

using namespace takt;

namespace {

SourceText data_file(const std::string& name) {
  Result<SourceText> text = read_text_file(takt::test::source_dir() + "/" + name);
  INFO(render(text.diagnostics()));
  REQUIRE(text.has_value());
  return std::move(text).value();
}

std::map<std::string, LinkType> small_link_types() {
  const SourceText text{"links.toml", R"(
[pcie5-x16]
kind = "pcie"
generation = 5
lanes = 16
nominal = "64 GB/s"
effective = "56.3 GB/s"
both_directions = "111 GB/s"
latency = "0.3 us"
source = "test"

[upi]
kind = "socket"
nominal = "60 GB/s"
effective = "40 GB/s"
source = "test"
)"};
  return read_link_types(text).value();
}

Result<ServerSpec> server(const std::string& body) {
  return read_server({"box.toml", "title = \"box\"\nsource = \"test\"\n" + body}, small_link_types());
}

}  // namespace

TEST_CASE("a card's file becomes figures in base units", "[config]") {
  const Result<CardSpec> card = read_card(data_file("topologies/cards/h200-nvl.toml"));
  INFO(render(card.diagnostics()));
  REQUIRE(card.has_value());
  REQUIRE(card->id == "h200-nvl");
  REQUIRE(card->compute_capability == 90);
  REQUIRE(card->memory_nominal == Bytes(141'000'000'000));
  REQUIRE(card->memory_visible == Bytes(143'771LL * 1'048'576));
  REQUIRE(card->memory_bandwidth == Bandwidth(4.8e12));
  REQUIRE(card->dense_peak.at(Precision::bf16) == FlopRate(835.5e12));
  REQUIRE(card->dense_peak.count(Precision::nvfp4) == 0);
  REQUIRE(card->nvlink_per_direction == Bandwidth(450e9));
  REQUIRE(card->boost_clock == Frequency(1.785e9));
  REQUIRE(card->places.at("memory.visible").line > 0);
}

TEST_CASE("link types carry their capacities", "[config]") {
  const std::map<std::string, LinkType> types = small_link_types();
  REQUIRE(types.at("pcie5-x16").effective == Bandwidth(56.3e9));
  REQUIRE(types.at("pcie5-x16").both_directions == Bandwidth(111e9));
  REQUIRE(types.at("pcie5-x16").latency == Duration(300'000));
  REQUIRE_FALSE(types.at("upi").both_directions.has_value());
  REQUIRE(types.at("upi").kind == LinkKind::socket);
}

TEST_CASE("a socket with memory bandwidth brings its host memory and the link to it", "[config]") {
  const Result<ServerSpec> spec = server(R"(
[cards]
count = 2
card = "h200-nvl"
[[socket]]
name = "cpu0"
memory = "1 TB"
memory_bandwidth = "307.2 GB/s"
[[nic]]
name = "nic0"
speed = "400 Gb/s"
[[link]]
from = "cpu0"
to = "gpu0"
type = "pcie5-x16"
effective = "50 GB/s"
assumed = true
)");
  INFO(render(spec.diagnostics()));
  REQUIRE(spec.has_value());
  REQUIRE(spec->devices.size() == 5);
  REQUIRE(spec->devices[1].name == "cpu0 memory");
  REQUIRE(spec->devices[1].kind == DeviceKind::host_memory);
  REQUIRE(spec->devices[1].host_memory == Bytes(1'000'000'000'000));
  REQUIRE(spec->devices[2].name == "gpu0");
  REQUIRE(spec->devices[3].name == "gpu1");
  REQUIRE(spec->devices[3].card == "h200-nvl");
  REQUIRE(spec->devices[4].nic_speed == Bandwidth(50e9));  // 400 Gb/s / 8
  REQUIRE(spec->links.size() == 2);
  REQUIRE(spec->links[0].type.kind == LinkKind::memory);
  REQUIRE(spec->links[0].type.effective == Bandwidth(307.2e9));
  REQUIRE(spec->links[1].type.effective == Bandwidth(50e9));  // replaced
  REQUIRE(spec->links[1].type.nominal == Bandwidth(64e9));    // of the type
  REQUIRE(spec->links[1].assumed);
}

TEST_CASE("a link with its own number of lanes has bandwidths in proportion, before other overrides", "[config]") {
  const Result<ServerSpec> spec = server(R"(
[cards]
count = 2
card = "h200-nvl"
[[link]]
from = "gpu0"
to = "gpu1"
type = "pcie5-x16"
lanes = 8
nominal = "31 GB/s"
)");
  INFO(render(spec.diagnostics()));
  REQUIRE(spec.has_value());
  REQUIRE(spec->links[0].type.lanes == 8);
  REQUIRE(spec->links[0].type.effective == Bandwidth(56.3e9 / 2));
  REQUIRE(spec->links[0].type.both_directions == Bandwidth(111e9 / 2));
  REQUIRE(spec->links[0].type.nominal == Bandwidth(31e9));
}

TEST_CASE("an NVSwitch is a device with a link from each of its cards", "[config]") {
  const Result<ServerSpec> spec = server(R"(
[cards]
count = 3
card = "h200-nvl"
[nvswitch]
cards = ["gpu0", "gpu2"]
)");
  REQUIRE(spec.has_value());
  REQUIRE(spec->devices.back().name == "nvswitch");
  REQUIRE(spec->devices.back().kind == DeviceKind::nvswitch);
  REQUIRE(spec->links.size() == 2);
  REQUIRE(spec->links[1].from == "gpu2");
  REQUIRE(spec->links[1].to == "nvswitch");
  REQUIRE(spec->links[1].type.kind == LinkKind::nvswitch);
  REQUIRE(spec->links[1].type.effective == Bandwidth(0));  // the card's spec knows it
}

TEST_CASE("the example server reads with the kinds of links of links.toml", "[config]") {
  const auto link_types = read_link_types(data_file("topologies/links.toml"));
  INFO(render(link_types.diagnostics()));
  REQUIRE(link_types.has_value());
  const Result<ServerSpec> spec =
      read_server(data_file("topologies/servers/4x-h200-nvl-4-way-bridge.toml"), *link_types);
  INFO(render(spec.diagnostics()));
  REQUIRE(spec.has_value());
  REQUIRE(spec->bridges.size() >= 1);
  REQUIRE(spec->bridges[0].cards.size() >= 2);
}

TEST_CASE("a cluster names its server and fabric", "[config]") {
  const Result<ClusterSpec> spec = read_cluster(data_file("topologies/clusters/2x-8x-rtx-pro-6000-400g.toml"));
  INFO(render(spec.diagnostics()));
  REQUIRE(spec.has_value());
  REQUIRE(spec->count == 2);
  REQUIRE(spec->fabric == FabricKind::rail_optimised);
  REQUIRE(spec->nic_speed == Bandwidth(50e9));
  REQUIRE(spec->switch_latency == Duration(500'000));
}

TEST_CASE("models are transformers or synthetic", "[config]") {
  const Result<ModelSpec> llama = read_model(data_file("models/llama-3.3-70b.toml"));
  INFO(render(llama.diagnostics()));
  REQUIRE(llama.has_value());
  REQUIRE(llama->transformer->hidden == 8192);
  REQUIRE_FALSE(llama->synthetic.has_value());
  REQUIRE(llama->parameters == 70'553'706'496);

  const Result<ModelSpec> layers = read_model(data_file("models/fsdp80.toml"));
  INFO(render(layers.diagnostics()));
  REQUIRE(layers.has_value());
  REQUIRE_FALSE(layers->transformer.has_value());
  REQUIRE(layers->synthetic->layer_bytes == Bytes(1'712'324'608));
  REQUIRE(layers->synthetic->forward == std::chrono::microseconds(17'500));
}
