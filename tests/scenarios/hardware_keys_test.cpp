// Hardware of a scenario's own: what [hardware.*] changes, the step feels, in the direction that it should.
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

double step(const char* name, Overrides overrides = {}) {
  overrides.push_back(test::one_micro_step);
  return to_seconds(test::finished(name, overrides).result.metrics.step_time);
}

}  // namespace

TEST_CASE("changed cards, links, servers and clusters change the step", "[scenarios]") {
  const char* pcie = "llama-3.3-70b-lora-8x-rtx-pro-6000";
  const char* cluster = "llama-3.1-8b-full-fsdp2-2x-8x-rtx-pro-6000";
  const double usual = step(pcie);
  CHECK(step(pcie, {{"hardware.card.rtx-pro-6000-server.memory.bandwidth", "800 GB/s"}}) > usual);
  CHECK(step(pcie, {{"hardware.server.peer_to_peer.enabled", "false"}}) > usual);
  CHECK(step(pcie, {{"hardware.link.pcie5-x16.effective", "10 GB/s"}}) > usual);
  CHECK(step(cluster, {{"hardware.cluster.oversubscription", "4"}}) > step(cluster));
}

TEST_CASE("settings that leave NCCL no way are refused where they were set", "[scenarios]") {
  SourceText source = read_text_file(test::source_dir() + "/scenarios/llama-3.3-70b-lora-8x-rtx-pro-6000.toml").value();
  Library library(search_path(nullptr));
  const Result<FinishedRun> run = takt::run(source, {{"nccl.shm_disable", "on"}}, library, {});
  REQUIRE_FALSE(run.has_value());
  CHECK(run.diagnostics().front().place.line_text == "nccl.shm_disable=on");
}
