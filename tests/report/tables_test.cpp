#include "catch.hpp"
#include "report/hand_made_result.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <sstream>

using namespace takt;

namespace {

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string compared(std::vector<RunResult> runs) {
  return compare_table(runs);
}

}  // namespace

TEST_CASE("a run fits on a screen and says the main things", "[report]") {
  const std::string text = run_table(hand_made::bridge());
  INFO(text);
  REQUIRE(widest_line(text) <= screen_width);
  REQUIRE(std::count(text.begin(), text.end(), '\n') <= 40);
  REQUIRE(has(text, "70B LoRA on 4x H200 NVL\n"));
  REQUIRE(has(text, "Llama 3.3 70B: LoRA rank 16, bf16, AdamW, full checkpointing"));
  REQUIRE(has(text, "FSDP2 full shard over 4 ranks"));
  REQUIRE(has(text, "20.0 s      131,072"));
  REQUIRE(has(text, "10.0 s busy, 9.00 s of it hidden (overlap 90.0 %); 212 GB received a card"));
  REQUIRE(has(text, "peak 60.0 GB of 151 GB (141 GB nominal)\n"));
  REQUIRE(has(text, "at backward, unit 79: activations 24.0 GB, weights 36.0 GB"));
}

TEST_CASE("a comparison says who wins, by how much, and why", "[report]") {
  const std::string text = compared({hand_made::bridge(), hand_made::pcie()});
  INFO(text);
  REQUIRE(widest_line(text) <= screen_width);
  REQUIRE(std::count(text.begin(), text.end(), '\n') <= 40);
  // 6553.6 / 4096 = 1.6 in all; 1638.4 / 512 = 3.2 a card
  REQUIRE(has(text,
              "Verdict: A is 1.60 times as fast as B: 6554 against 4096 tokens/s; a card of A does 3.20 times as\n"
              "much as one of B.\n"));
  REQUIRE(has(text, "A is limited by compute (90.0 %)."));
  REQUIRE(has(text, "B is limited by sw1 -> cpu0 (62.5 %), compute (37.5 %)."));
}

TEST_CASE("the order of the runs does not change the verdict", "[report]") {
  const std::string text = compared({hand_made::pcie(), hand_made::bridge()});
  REQUIRE(has(text, "Verdict: B is 1.60 times as fast as A"));
}

TEST_CASE("a run that does not fit cannot win", "[report]") {
  RunResult too_big = hand_made::bridge();
  too_big.metrics.memory.peak = Bytes(200'000'000'000);
  too_big.metrics.memory.fits = false;
  const std::string text = compared({too_big, hand_made::pcie()});
  INFO(text);
  REQUIRE(has(text, "Verdict: A does not fit: it needs 200 GB a card and has 151 GB."));
  REQUIRE(has(run_table(too_big), "DOES NOT FIT"));
}

TEST_CASE("runs within one percent are equally fast", "[report]") {
  RunResult same = hand_made::bridge();
  same.metrics.tokens_per_second *= 1.005;
  REQUIRE(has(compared({hand_made::bridge(), same}), "B and A are equally fast: 6586 against 6554 tokens/s."));
}

TEST_CASE("three and four runs still fit the screen", "[report]") {
  const RunResult a = hand_made::bridge(), b = hand_made::pcie();
  REQUIRE(widest_line(compared({a, b, a})) <= screen_width);
  REQUIRE(widest_line(compared({a, b, a, b})) <= screen_width);
}
