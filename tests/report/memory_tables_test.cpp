// What `takt run --memory` prints, and what it prints of a run that does not fit.
#include "catch.hpp"
#include "report/hand_made_result.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <sstream>

using namespace takt;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

RunResult with_phases() {
  RunResult run = hand_made::bridge();
  MemoryMetrics& memory = run.metrics.memory;
  memory.phases = {{"forward",
                    Bytes(50'000'000'000),
                    std::chrono::milliseconds(700),
                    "head forward",
                    {{"activations", Bytes(14'000'000'000)}, {"weights", Bytes(36'000'000'000)}}},
                   {"backward",
                    Bytes(60'000'000'000),
                    std::chrono::milliseconds(900),
                    "backward, unit 79",
                    {{"gradients", Bytes(24'000'000'000)}, {"weights", Bytes(36'000'000'000)}}}};
  memory.use = {{Bytes(62'000'000'000), Bytes(90'000'000'000)},
                {Bytes(500'000'000), Bytes(800'000'000)},
                Bytes(231'000'000),
                {Bytes(62'731'000'000), Bytes(91'031'000'000)}};
  return run;
}

}  // namespace

TEST_CASE("memory over the step: a row a phase, a row a category, reserved memory as a range", "[report]") {
  const std::string text = memory_table(with_phases());
  INFO(text);
  CHECK(widest_line(text) <= screen_width);
  CHECK(has(text, "  backward                        60.0 GB   39.8 %  900 ms  backward, unit 79\n"));
  CHECK(has(text, "  activations  14.0 GB\n"));
  CHECK(has(text, "  gradients              24.0 GB\n"));
  CHECK(has(text, "62.0 GB to 90.0 GB\n"));
  CHECK(has(text, "NCCL buffers"));
  CHECK_FALSE(has(text, "need more than is left"));
}

TEST_CASE("what is allocated may fit and still leave no room for context and buffers", "[report]") {
  RunResult run = with_phases();
  run.metrics.memory.use.in_all.low = run.metrics.memory.capacity + Bytes(1);
  CHECK(has(memory_table(run), "need more than is left"));
}

TEST_CASE("a run that does not fit lists what was tried, and says when nothing is enough alone", "[report]") {
  RunResult run = hand_made::bridge();
  CHECK(fit_changes_table(run).empty());
  run.metrics.memory.peak = Bytes(200'754'820'096);
  run.metrics.memory.fits = false;
  CHECK(fit_changes_table(run) == "  50.0 GB too much for a card\n");
  FitChange change{"full checkpointing",
                   {{"finetune.activation_checkpointing", "full"}},
                   Bytes(160'000'000'000),
                   run.metrics.memory.capacity,
                   false,
                   5000.0};
  run.fit_changes = {change};
  CHECK(has(fit_changes_table(run), "160 GB  106.1 %      5000  does not fit\n"));
  CHECK(has(fit_changes_table(run), "none of them alone is enough"));
  change.peak = Bytes(100'000'000'000);
  change.fits = true;
  run.fit_changes.push_back(change);
  CHECK_FALSE(has(fit_changes_table(run), "none of them"));
  CHECK(has(run_table(run), "single changes, each tried by a run"));
  CHECK(has(results_json(std::vector<RunResult>{run}), "\"over_bytes\": 50000000000"));
}
