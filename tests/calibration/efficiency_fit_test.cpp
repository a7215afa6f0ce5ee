// A card's shares of the roofline from measured kernels.
#include "calibration/efficiency_fit.hpp"

#include "calibration/card_file.hpp"
#include "catch.hpp"
#include "config/library.hpp"
#include "config/reader.hpp"
#include "support/source_dir.hpp"
#include "workload/pricer.hpp"

#include <cmath>

using namespace takt;

namespace {

std::vector<Measurement> measured(const std::string& rows) {
  return read_measurements({"m.csv", std::string(measurement_columns) + '\n' + rows}).value();
}

std::vector<Measurement> recorded(const std::string& name) {
  return read_measurements(read_text_file(takt::test::source_dir() + "/tests/calibration/data/" + name).value()).value();
}

CardSpec card(const std::string& id) {
  Library library(search_path(nullptr));
  return library.card(id, {}).value();
}

const FittedShare& share(const FittedEfficiency& fitted, const std::string& key) {
  for (const FittedShare& one : fitted.shares) {
    if (one.key == key) return one;
  }
  throw std::runtime_error("no share " + key);
}

}  // namespace

TEST_CASE("published streams of three cards: the share of their bandwidth", "[calibration]") {
  // BabelStream over the data sheet: (1610, 1700) of 2039, (2900, 2970) of 3352, (4010, 4150) of 4800 GB/s.
  struct Case {
    std::string card;
    double copy, triad;
  };
  for (const Case& c : {Case{"a100-sxm-80", 1610, 1700}, Case{"h100-sxm", 2900, 2970}, Case{"h200-sxm", 4010, 4150}}) {
    CAPTURE(c.card);
    const CardSpec spec = card(c.card);
    const FittedEfficiency fitted = fit_efficiency(spec, recorded("streams.csv")).value();
    REQUIRE(fitted.shares.size() == 1);
    const double bandwidth = spec.memory_bandwidth.count() / 1e9;
    CHECK(share(fitted, "memory").value == Approx(std::sqrt(c.copy * c.triad) / bandwidth).epsilon(1e-3));
    CHECK(share(fitted, "memory").rows == 2);
    CHECK(share(fitted, "memory").median < 0.03);
    CHECK(fitted.card.efficiency.attention == spec.efficiency.attention);  // not measured: as it was
  }
}

TEST_CASE("published FlashAttention-4 of B200 comes back as measured", "[calibration]") {
  const std::vector<Measurement> rows = recorded("b200-sxm.csv");
  const FittedEfficiency fitted = fit_efficiency(card("b200-sxm"), rows).value();
  const double peak = fitted.card.dense_peak.at(Precision::bf16).count() / 1e12;
  CHECK(share(fitted, "attention").value == Approx(1418.1 / peak).epsilon(1e-6));
  CHECK(share(fitted, "attention_backward").value == Approx(1208.6 / peak).epsilon(1e-6));
  for (const Measurement& one : of_kind(rows, MeasuredKind::attention, "b200-sxm"))
    CHECK(to_seconds(priced_measurement(fitted.card, one)->time) == Approx(one.seconds).epsilon(1e-6));
}

TEST_CASE("arrays that a cache holds say nothing of the memory", "[calibration]") {
  const auto rows = measured(
      "memory,h200-sxm,copy,fp32,1000000,9000,GB/s,\n"        // in the L2
      "memory,h200-sxm,read,fp32,2000000000,4700,GB/s,\n"     // reads alone are scored only
      "memory,h200-sxm,copy,fp32,2000000000,4080,GB/s,\n");   // 0.85 of 4,800
  const FittedEfficiency fitted = fit_efficiency(card("h200-sxm"), rows).value();
  CHECK(share(fitted, "memory").value == Approx(0.85));
  CHECK(share(fitted, "memory").rows == 1);
  const std::vector<KernelErrors> errors = kernel_errors(fitted.card, rows);
  REQUIRE(errors.size() == 2);
  CHECK(errors[1].what == "memory read");
  CHECK(errors[1].signed_median == Approx(4700.0 / 4080.0 - 1.0));
}

TEST_CASE("cuDNN's attention has no price and is set against flash; eager and masked have theirs", "[calibration]") {
  const auto rows = measured(
      "attention,h200-sxm,flash forward,bf16,1x8192x32x32x128,400,TFLOP/s,\n"
      "attention,h200-sxm,cudnn forward,bf16,1x8192x32x32x128,600,TFLOP/s,\n"
      "attention,h200-sxm,eager forward,bf16,1x4096x32x32x128,5,ms,\n");
  const FittedEfficiency fitted = fit_efficiency(card("h200-sxm"), rows).value();
  const std::vector<KernelErrors> errors = kernel_errors(fitted.card, rows);
  REQUIRE(errors.size() == 3);
  CHECK(errors[0].what == "attention cudnn forward");
  CHECK_FALSE(errors[0].priced);
  CHECK(errors[0].signed_median == Approx(600.0 / 400.0 - 1.0));
  CHECK(errors[1].priced);
  CHECK(errors[2].median == Approx(0.0).margin(1e-6));
}

TEST_CASE("more than the card's peak is refused at its first row", "[calibration]") {
  const auto rows = measured("memory,h200-sxm,copy,fp32,2000000000,5000,GB/s,\n");
  const Result<FittedEfficiency> fitted = fit_efficiency(card("h200-sxm"), rows);
  REQUIRE_FALSE(fitted);
  CHECK(fitted.diagnostics().front().place.line == 2);
  CHECK(fitted.diagnostics().front().message ==
        "efficiency.memory of h200-sxm would be 1.04: rows from here on are faster than its file allows");
}

TEST_CASE("products that last over short ones of the same shape", "[calibration]") {
  const auto rows = measured(
      "gemm,h100-sxm,product,bf16,8192x8192x8192,1.8,ms,\n"
      "gemm,h100-sxm,product,bf16,4096x8192x8192,0.5,ms,\n"
      "sustained,h100-sxm,product,bf16,8192x8192x8192,2.0,ms,\n");
  CHECK(*sustained_share(rows, "h100-sxm") == Approx(0.9));
  CHECK_FALSE(sustained_share(rows, "h200-sxm"));
  CHECK_FALSE(sustained_share(measured("sustained,h100-sxm,product,bf16,8192x8192x8192,2.0,ms,\n"), "h100-sxm"));
  const CardSpec before = card("h100-sxm");
  const std::string text = with_sustained(read_text_file(before.file).value().text, 0.9);
  CHECK(read_card({before.file, text}).value().sustained == 0.9);
  CHECK(with_sustained(text, 0.9) == text);
}

TEST_CASE("launch costs: a kernel, what PyTorch adds, a collective", "[calibration]") {
  const LaunchCosts costs = launch_costs(
      measured("launch,h200-sxm,kernel,,1,4.5,us,\nlaunch,h200-sxm,eager,,1,12,us,\nlaunch,h200-sxm,collective,,1,31,us,\n"));
  CHECK(costs.kernel_us == Approx(4.5));
  CHECK(costs.eager_us == Approx(7.5));
  CHECK(costs.collective_us == Approx(31.0));
  CHECK(launch_costs({}).eager_us == 0.0);
}

TEST_CASE("a card's file takes the shares and keeps what is around them", "[calibration]") {
  const CardSpec before = card("h100-sxm");  // 0.85 before, 0.876 in these rows
  const std::string text = read_text_file(before.file).value().text;
  const FittedEfficiency fitted = fit_efficiency(before, recorded("streams.csv")).value();
  const std::string once = with_efficiency(text, fitted, "streams.csv");
  const CardSpec read = read_card({before.file, once}).value();
  CHECK(is_as_fitted(read, fitted));
  CHECK_FALSE(is_as_fitted(before, fitted));
  CHECK(read.efficiency.memory_measured);
  CHECK(read.efficiency.attention_measured == before.efficiency.attention_measured);
  CHECK(read.efficiency.source.starts_with("streams.csv: memory 2 rows, median error "));
  CHECK(read.efficiency.source.ends_with("; before: " + before.efficiency.source));
  CHECK(read.gemm.at(Precision::bf16).constants.efficiency == before.gemm.at(Precision::bf16).constants.efficiency);
  // Calibrated again, the source does not grow.
  FittedEfficiency again = fitted;
  again.card = read;
  CHECK(with_efficiency(once, again, "streams.csv") == once);
  // A file without the section gets one.
  const std::string none = "name = \"x\"\n";
  CHECK(with_efficiency(none, fitted, "s").starts_with("name = \"x\"\n\n[efficiency]\nmemory = "));
}
