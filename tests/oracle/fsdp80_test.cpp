// FSDP80: a whole step of 80 layers, sharded over N cards, against step times that SimGrid 3.32 computed.
//
// A collective takes c = (N - 1) (P / N / B + latencies of its slowest route). On the star c is shorter than a layer, so
// the step is compute plus the first gather and the last reduce-scatter: 80 (17.5 + 35) ms + 2 c. On the tree
// c = 7 (P / 8 / 64e9 + 5 x 0.5 us) = 23.428 ms is longer; the step is 240 c and two gaps of 35 ms - c, in which the
// first and the last reduce-scatter wait for their layer's backward.
#include "../topology/machines.hpp"
#include "catch.hpp"
#include "config/reader.hpp"
#include "engine/simulate.hpp"
#include "plan/strategy.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

LinkType link_of(LinkKind kind, double bandwidth, Duration latency) {
  LinkType type = link_type(kind, bandwidth, bandwidth);
  type.latency = latency;
  return type;
}

/// All cards under one switch. 936.25 ns and 429.4967296 GB/s a link.
Topology star(int cards) {
  const LinkType link = link_of(LinkKind::pcie, 429.4967296e9, Duration(936'250));
  Server server("star");
  server.socket("cpu0").device("sw0", DeviceKind::pcie_switch).link("cpu0", "sw0", link);
  for (int gpu = 0; gpu < cards; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu);
    server.device(name, DeviceKind::card, "plain").link("sw0", name, link);
  }
  return built(server.spec());
}

/// Pairs of cards under four switches, two a socket; cards write to each other everywhere.
Topology pcie_tree() {
  const LinkType pcie = link_of(LinkKind::pcie, 64e9, Duration(500'000));
  Server server("tree");
  server.socket("cpu0").socket("cpu1").link("cpu0", "cpu1", link_of(LinkKind::socket, 100e9, Duration(500'000)));
  for (int sw = 0; sw < 4; ++sw) {
    const std::string name = "sw" + std::to_string(sw);
    server.device(name, DeviceKind::pcie_switch).link("cpu" + std::to_string(sw / 2), name, pcie);
  }
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu);
    server.device(name, DeviceKind::card, "plain").link("sw" + std::to_string(gpu / 2), name, pcie);
  }
  ServerSpec spec = server.spec();
  spec.peer_to_peer.level = "SYS";
  return built(spec);
}

/// Nothing but links and the given layer times.
Scenario bare() {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::fsdp2;
  scenario.collectives.base_latency = Duration{};
  scenario.collectives.hop_latency = Duration{};
  scenario.assumptions.links = LinkBasis::nominal;
  scenario.assumptions.compute = ComputeBasis::free;
  scenario.assumptions.nccl_limits = false;
  scenario.assumptions.sm_contention = false;
  scenario.assumptions.memory_contention = false;
  scenario.assumptions.kernel_launch = scenario.assumptions.collective_launch = Duration{};
  return scenario;
}

double step_seconds(const Topology& topology, const Scenario& scenario) {
  const Result<SourceText> text = read_text_file(TAKT_SOURCE_DIR "/models/fsdp80.toml");
  REQUIRE(text);
  const Result<ModelSpec> model = read_model(*text);
  REQUIRE(model);
  CardSpec card = topology.card_spec(topology.cards().front());
  card.dense_peak[Precision::bf16] = FlopRate(1e15);
  const KernelPricer pricer(card, scenario.assumptions.compute);
  const Result<Workload> workload = build_workload(*model, scenario, pricer);
  REQUIRE(workload);
  const Result<BuiltPlan> built = build_plan(scenario, *workload, topology, topology.cards(), pricer);
  REQUIRE(built);
  const Result<Timeline> timeline = simulate(built->plan, topology.resources());
  REQUIRE(timeline);
  return to_seconds(timeline->end);
}

}  // namespace

TEST_CASE("FSDP80 on a star of 8, 64 and 256 cards: every printed digit", "[oracle]") {
  const double printed = 0.5e-9;   // nine decimals are printed
  CHECK(step_seconds(star(8), bare()) == Approx(4.207003144).margin(printed).epsilon(0));
  CHECK(step_seconds(star(64), bare()) == Approx(4.208084980).margin(printed).epsilon(0));
  CHECK(step_seconds(star(256), bare()) == Approx(4.208897461).margin(printed).epsilon(0));
}

TEST_CASE("FSDP80 on a PCIe tree: every printed digit", "[oracle]") {
  CHECK(step_seconds(pcie_tree(), bare()) == Approx(5.645908744).margin(0.5e-9).epsilon(0));
}
