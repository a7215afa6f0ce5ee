// How far a predicted step may be off, and when two are as good as equal.
#include "report/step_interval.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("a ratio within the error of two steps is the root of two wider than one", "[report]") {
  const PredictionInterval one{0.90, 1.28};
  CHECK(std::log(ratio_within_error(one, one)) == Approx(std::sqrt(2.0) * std::log(1.28 / 0.90) / 2.0));
  CHECK(ratio_within_error(one, one) == Approx(1.283).epsilon(1e-3));
}

TEST_CASE("between steps that rest on different measurements both widths and both middles count", "[report]") {
  // ln: A 0 +- 0.2, B 0.3 +- 0.1; together +- 0.2236.
  const PredictionInterval a{std::exp(-0.2), std::exp(0.2)}, b{std::exp(0.2), std::exp(0.4)};
  CHECK(std::log(ratio_within_error(a, b)) == Approx(std::sqrt(0.05) - 0.3));  // B takes longer than predicted anyway
  CHECK(std::log(ratio_within_error(b, a)) == Approx(std::sqrt(0.05) + 0.3));
}

TEST_CASE("an architecture of whose steps one publisher or none tells has the wider interval", "[report]") {
  RunResult run;
  run.card_architecture = "Hopper";
  CHECK(step_interval(run).high == published_interval.high);
  for (const char* other : {"Blackwell", "Ada", "Turing"}) {
    run.card_architecture = other;
    CHECK(step_interval(run).high == Approx(unpublished_interval.high));
  }
  run.borrowed_products = 0.35;
  CHECK(step_interval(run).reach() == Approx(std::hypot(unpublished_interval.reach(), std::log(1.35))));
  CHECK(step_interval(run).middle() == Approx(unpublished_interval.middle()));
  CHECK(unpublished_interval.reach() > published_interval.reach());
}

TEST_CASE("the interval holds for kernels priced as in whole steps of language models", "[report]") {
  RunResult run;
  run.metrics.mfu = 0.4;
  CHECK(carries_interval(run));
  run.scenario.assumptions.in_situ = false;
  CHECK_FALSE(carries_interval(run));
  run.scenario.assumptions.in_situ = true;
  run.scenario.assumptions.compute = ComputeBasis::peak;
  CHECK_FALSE(carries_interval(run));
  run.scenario.assumptions.compute = ComputeBasis::measured;
  run.metrics.mfu = 0.0;  // synthetic layers
  CHECK_FALSE(carries_interval(run));
}
