// How far a predicted step may be off, and when two are as good as equal.
#include "report/step_interval.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("a ratio within the error of two steps is the root of two wider than one", "[report]") {
  CHECK(std::log(ratio_within_error()) == Approx(std::sqrt(2.0) * std::log(1.28 / 0.90) / 2.0));
  CHECK(ratio_within_error() == Approx(1.283).epsilon(1e-3));
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
