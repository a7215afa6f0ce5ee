// The global constants come back from steps that were made with them.
#include "calibration/step_fit.hpp"

#include "catch.hpp"

#include <cmath>

using namespace takt;

namespace {

/// Rows of two publishers, linear in the constants: T = sum of parts[i] c[i].
std::vector<StepFitRow> rows_of(const GlobalConstants& truth, const GlobalConstants& at) {
  std::vector<StepFitRow> rows;
  for (int i = 0; i < 24; ++i) {
    StepFitRow row;
    row.publisher = i % 3 == 0 ? "small" : "large";
    row.architecture = i % 2 == 0 ? "Ampere" : "Hopper";
    row.slopes.assign(global_constants().size(), 0.0);
    row.slopes[static_cast<std::size_t>(i % 2)] = 1.0 + 0.1 * i;  // Ampere or Hopper
    row.slopes[2] = 0.3 + 0.05 * ((i * 7) % 5);                   // elementwise
    for (std::size_t k = 0; k < row.slopes.size(); ++k) {
      row.predicted_s += row.slopes[k] * at.*global_constants()[k].value;
      row.measured_s += row.slopes[k] * truth.*global_constants()[k].value;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

TEST_CASE("constants come back from steps made with them; one that no row rests on keeps its prior", "[calibration]") {
  GlobalConstants truth;
  truth.gemm_ampere = 1.1;
  truth.gemm_hopper = 1.3;
  truth.elementwise = 1.5;
  const GlobalConstants at = recorded_global_constants();
  const std::vector<StepFitRow> rows = rows_of(truth, at);
  for (const char* left_out : {"", "small", "large"}) {
    CAPTURE(left_out);
    const GlobalConstants fitted = fit_without_publisher(rows, at, left_out);
    CHECK(std::abs(fitted.gemm_ampere - 1.1) < 0.01);
    CHECK(std::abs(fitted.gemm_hopper - 1.3) < 0.01);
    CHECK(std::abs(fitted.elementwise - 1.5) < 0.02);
    CHECK(std::abs(fitted.triton_attention - 1.8) < 0.02);
    CHECK(std::abs(fitted.masked_attention - 1.0) < 0.01);
  }
}

TEST_CASE("without an architecture's rows its products take what the other's do", "[calibration]") {
  GlobalConstants truth;
  truth.gemm_ampere = 1.1;
  truth.gemm_hopper = 1.3;
  const GlobalConstants at = recorded_global_constants();
  const std::vector<StepFitRow> rows = rows_of(truth, at);
  CHECK(std::abs(fit_without_architecture(rows, at, "Ampere").gemm_ampere - 1.3) < 0.01);
  CHECK(std::abs(fit_without_architecture(rows, at, "Hopper").gemm_hopper - 1.1) < 0.01);
}

TEST_CASE("the list of fitted constants holds all that there are", "[calibration]") {
  CHECK(sizeof(GlobalConstants) == global_constants().size() * sizeof(double));
}
