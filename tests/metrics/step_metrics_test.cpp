// Step metrics of the hand-made step, on two cards of a file.
#include "metrics/step_metrics.hpp"

#include "catch.hpp"
#include "metrics/hand_made.hpp"
#include "support/hardware.hpp"

using namespace takt;
using hand_made::us;

namespace {

const Topology& pair() {
  static const Topology topology = test::server("2x-h200-nvl-2-way-bridge", LinkBasis::nominal);
  return topology;
}

/// The resource of the link from the first to the second card.
ResourceId bridge_link() {
  const CardRoute& route = pair().card_route(pair().cards()[0].vertex, pair().cards()[1].vertex);
  return pair().link(route.route.links.front()).resource;
}

StepMetrics metrics(const Workload& workload, const BuiltPlan& built) {
  Scenario scenario;
  scenario.batch.gradient_accumulation = 2;
  Timeline timeline = hand_made::timeline();
  timeline.resources.assign(pair().resources().size(), {});
  timeline.resources[index(bridge_link())] = {13'162'500.0, us(30), 4.5e11};
  for (auto& charges : timeline.charges) {
    for (Charge& charge : charges) charge.resource = bridge_link();
  }
  return compute_metrics(scenario, workload, built, pair(), pair().cards(), timeline);
}

}  // namespace

TEST_CASE("tokens and model FLOP per second", "[metrics]") {
  Workload workload;
  workload.tokens = 4096;
  workload.model_flops = Flops(3e9);
  workload.hardware_flops = Flops(4e9);
  workload.peak = FlopRate(1e15);
  const StepMetrics step = metrics(workload, {hand_made::plan(), {}});
  REQUIRE(step.step_time == us(65));
  // 4096 x 2 micro-steps x 2 ranks
  REQUIRE(step.tokens_per_step == 16384);
  REQUIRE(step.tokens_per_second == Approx(16384 / 65e-6));
  REQUIRE(step.tokens_per_second_per_card == Approx(16384 / 65e-6 / 2));
  // 2 x 3e9 / (65 us x 1e15)
  REQUIRE(step.mfu == Approx(6e9 / 65e9));
  REQUIRE(step.hfu == Approx(8e9 / 65e9));
}

TEST_CASE("links that were used, with their ends and utilisation", "[metrics]") {
  const StepMetrics step = metrics({}, {hand_made::plan(), {}});
  REQUIRE(step.links.size() == 1);
  const LinkMetrics& link = step.links.front();
  REQUIRE(link.from == "gpu0");
  REQUIRE(link.to == "gpu1");
  REQUIRE(link.bytes == Bytes(13'162'500));
  REQUIRE(link.busy == us(30));
  // 13,162,500 B of 450 GB/s x 65 us = 29,250,000 B
  REQUIRE(link.utilisation_mean == Approx(0.45));
  REQUIRE(link.utilisation_peak == Approx(1.0));
  // the scatter's 8 us are the link's
  const auto blamed = std::find_if(step.blame.begin(), step.blame.end(),
                                   [&](const BlameEntry& entry) { return entry.resource == link.name; });
  REQUIRE(blamed != step.blame.end());
  REQUIRE(blamed->time == us(8));
}

TEST_CASE("memory is compared with what the driver shows", "[metrics]") {
  BuiltPlan built{hand_made::plan(), {}};
  built.facts.states_per_rank = Bytes(500);
  const MemoryMetrics fits = metrics({}, built).memory;
  REQUIRE(fits.peak == Bytes(3000));
  REQUIRE(fits.states == Bytes(500));
  REQUIRE(fits.nominal == Bytes(141'000'000'000));
  REQUIRE(fits.capacity == Bytes(143'771LL * 1024 * 1024));
  REQUIRE(fits.components == std::map<std::string, Bytes>{{"activations", Bytes(300)},
                                                          {"gathered", Bytes(1000)},
                                                          {"gradients", Bytes(1200)},
                                                          {"weights", Bytes(500)}});
  REQUIRE(fits.peak_op == "backward, unit 1");
  REQUIRE(fits.fits);
  built.plan.programs[0].ops[0].effects.push_back({EffectTime::issue, MemoryCategory::weights, Bytes(150'754'820'000)});
  REQUIRE_FALSE(metrics({}, built).memory.fits);
}
