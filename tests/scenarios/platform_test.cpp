// Every state of [platform] reaches the step: slower machines take longer.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

Duration step(const std::string& scenario, Overrides overrides) {
  overrides.push_back(test::one_micro_step);
  return test::finished(scenario, overrides).result.metrics.step_time;
}

}  // namespace

TEST_CASE("states of the machine make a step slower, or faster", "[scenarios]") {
  const std::string scenario = "llama-3.3-70b-lora-8x-rtx-pro-6000";
  const Duration as_built = step(scenario, {});
  const std::vector<Overrides> slower = {
      {{"platform.peer_to_peer.enabled", "false"}},
      {{"platform.peer_to_peer.iommu", "true"}},
      {{"platform.peer_to_peer.acs", "true"}},
      {{"platform.pcie.generation", "3"}},
      {{"platform.pcie.lanes", "4"}},
      {{"platform.trained_down.devices", "sw0"}, {"platform.trained_down.generation", "3"}},
      {{"platform.trained_down.devices", "gpu3"}, {"platform.trained_down.lanes", "2"}},
      {{"platform.socket.link", "upi-skl"}},
      {{"platform.socket.bandwidth", "4 GB/s"}},
      {{"platform.socket.memory_bandwidth", "60 GB/s"}},
  };
  for (const Overrides& overrides : slower) {
    INFO(overrides.front().key << " = " << overrides.front().value);
    CHECK(step(scenario, overrides) > as_built);
  }
  CHECK(step(scenario, {{"platform.peer_to_peer.level", "SYS"}}) < as_built);
  const Override narrow = {"platform.socket.bandwidth", "20 GB/s"};
  CHECK(step(scenario, {narrow, {"platform.socket.both_directions", "20 GB/s"}}) > step(scenario, {narrow}));
}

TEST_CASE("NICs: slower ones cost, and so does the far socket", "[scenarios]") {
  const std::string scenario = "llama-3.1-8b-full-fsdp2-2x-8x-rtx-pro-6000";
  const Duration as_built = step(scenario, {});
  CHECK(step(scenario, {{"platform.nic.speed", "100 Gb/s"}}) > as_built);
  CHECK(step(scenario, {{"platform.nic.placement", "switches"}}) <= as_built);
}
