// Fits on products whose times are known: made by the model itself.
#include "calibration/gemm_fit.hpp"

#include "calibration/card_file.hpp"
#include "calibration/gemm_score.hpp"
#include "catch.hpp"
#include "config/library.hpp"
#include "config/reader.hpp"
#include "support/source_dir.hpp"

#include <cmath>

using namespace takt;

namespace {

CardSpec a_card() {
  CardSpec card;
  card.id = "a-card";
  card.sm_count = 100;
  card.dense_peak[Precision::bf16] = FlopRate(500e12);
  card.memory_bandwidth = Bandwidth(2e12);
  card.l2_cache = Bytes(50'000'000);
  card.tdp = Power(500);
  return card;
}

const GemmConstants truth{.efficiency = 0.7,
                          .partial_wave = 0.8,
                          .small_tile = 0.15,
                          .depth_start = 150.0,
                          .launch_us = 4.0,
                          .memory = 0.8,
                          .power_drop = 0.05,
                          .cache_drop = 0.03};

/// Products of all sizes, each at the model's time.
std::vector<GemmPoint> products(const CardSpec& card, const GemmConstants& constants) {
  std::vector<GemmPoint> points;
  for (const std::int64_t n : {1024, 2560, 7168, 16384})
    for (const std::int64_t k : {1024, 3584, 8192, 28672})
      for (const std::int64_t m : {256, 1024, 4096, 16384}) {
        GemmPoint point{card.id, {m, n, k, Precision::bf16}, 0.0};
        point.seconds = modelled_gemm_seconds(card, constants, point.shape);
        points.push_back(point);
      }
  return points;
}

}  // namespace

TEST_CASE("a fit finds the constants that made the times", "[calibration]") {
  const CardSpec card = a_card();
  const std::vector<GemmPoint> points = products(card, truth);
  const GemmCalibration fit = fit_gemm(card, points, {.rounds = 2000});
  for (const GemmPoint& point : points)
    CHECK(modelled_gemm_seconds(card, fit.constants, point.shape) == Approx(point.seconds).epsilon(0.03));
  CHECK(fit.constants.efficiency == Approx(truth.efficiency).epsilon(0.05));
  CHECK(fit.constants.launch_us == Approx(truth.launch_us).epsilon(0.25));
}

TEST_CASE("one number scales another card's constants", "[calibration]") {
  const CardSpec card = a_card();
  GemmConstants slower = truth;
  slower.efficiency = 0.5;
  const std::vector<GemmPoint> one = {{card.id, {8192, 8192, 8192, Precision::bf16}, 0.0}};
  std::vector<GemmPoint> measured = one;
  measured[0].seconds = modelled_gemm_seconds(card, slower, measured[0].shape);
  CHECK(with_fitted_efficiency(card, truth, measured).efficiency == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("residuals give back what they were made of, and fade where nothing was measured", "[calibration]") {
  const CardSpec card = a_card();
  std::vector<GemmPoint> points = products(card, truth);
  for (GemmPoint& point : points) point.seconds *= 1.2;  // everything 20 % slower than the constants say
  const GemmResiduals residuals = residuals_of(card, truth, points);
  REQUIRE(residuals.cells.size() == 16);
  REQUIRE(residuals.log2_m.size() == 4);
  // near the middle of the measured shapes nearly all of log 1.2 = .182, a thousandth of the sizes away nearly none
  CHECK(expected_log_ratio(residuals, {4096, 2560, 3584, Precision::bf16}) == Approx(std::log(1.2)).epsilon(0.05));
  CHECK(expected_log_ratio(residuals, {4096, 1, 8, Precision::bf16}) < 0.25 * std::log(1.2));
  const Result<GemmResiduals> again = read_gemm_residuals({"r.csv", write_gemm_residuals(residuals)});
  REQUIRE(again);
  CHECK(again->cells.size() == residuals.cells.size());
  CHECK(again->cells[3].log_ratio[2] == Approx(residuals.cells[3].log_ratio[2]).margin(0.0005));
}

TEST_CASE("a calibrated card file reads back with the fitted constants", "[calibration]") {
  const std::string path = takt::test::source_dir() + "/topologies/cards/a100-sxm-80.toml";
  const SourceText text = read_text_file(path).value();
  FittedGemm fit{Precision::bf16, {}, 100, 0.02, 0.08};
  fit.calibration.constants = truth;
  fit.calibration.interval = 0.09;
  fit.calibration.source = "a test";
  CardSpec card = read_card(text).value();
  const std::string written = with_gemm_sections(text.text, card, {fit});
  const Result<CardSpec> again = read_card({path, written});
  REQUIRE(again);
  CHECK(again->gemm.at(Precision::bf16).constants == truth);
  CHECK(again->gemm.at(Precision::bf16).interval == 0.09);
  CHECK(again->gemm.at(Precision::bf16).residual_file == "gemm/a100-sxm-80-bf16.csv");
  CHECK(again->memory_bandwidth == card.memory_bandwidth);
}

TEST_CASE("weight shapes are held out whole, each once", "[calibration]") {
  for (const std::int64_t m : {256, 4096}) {
    std::uint64_t times = 0;
    for (std::uint64_t part = 0; part < 4; ++part) times += is_held_out({m, 5120, 8192, Precision::bf16}, part, 4);
    CHECK(times == 1);
    for (std::uint64_t part = 0; part < 4; ++part)
      CHECK(is_held_out({m, 5120, 8192, Precision::bf16}, part, 4) ==
            is_held_out({1, 5120, 8192, Precision::fp8}, part, 4));
  }
}

TEST_CASE("the recorded bounds of the GEMM model hold on measured products", "[calibration]") {
  // Thinned fits keep this short; takt validate --kernels takes everything. L40S in BF16 is the set that comes nearest
  // to its bounds (3.8 % and 12.7 %).
  Library library({{takt::test::source_dir()}});
  const SourceText text = read_text_file(takt::test::source_dir() + "/validation/kernels/gemm.csv").value();
  std::vector<GemmPoint> points = read_gemm_points(text).value();
  std::erase_if(points, [](const GemmPoint& p) { return p.card != "l40s" || p.shape.precision != Precision::bf16; });
  REQUIRE(points.size() == 1608);
  const CardSpec card = library.card("l40s", {}).value();
  const auto scores = score_gemm(points, [&card](const std::string&) -> const CardSpec& { return card; },
                                 {.parts = 4, .fit = {.rounds = 400, .most_points = 600}, .shared_fit = {}});
  REQUIRE(scores.size() == 1);
  CAPTURE(scores[0].median, scores[0].p90);
  CHECK(is_within_bounds(scores[0]));
  CHECK(scores[0].within_interval == Approx(0.9).margin(0.02));
}

TEST_CASE("measured products that cannot be read are refused with their line", "[calibration]") {
  const auto message = [](const std::string& text) { return render(read_gemm_points({"p.csv", text}).diagnostics()); };
  CHECK(message("card,m\n") ==
        "p.csv:1:1: error: these are not the expected columns\n"
        "    1 | card,m\n"
        "      | ^\n"
        "hint: start with the line card,precision,m,n,k,ms\n");
  const std::string header = "card,precision,m,n,k,ms\n";
  CHECK(message(header + "l40s,bf17,1,2,3,4\n") ==
        "p.csv:2:6: error: no precision is called \"bf17\"\n"
        "    2 | l40s,bf17,1,2,3,4\n"
        "      |      ^\n"
        "hint: bf16, fp16, tf32, fp32, fp8, nvfp4 or mxfp8\n");
  CHECK(message(header + "l40s,bf16,1,2.5,3,4\n") ==
        "p.csv:2:13: error: m, n and k are whole numbers, at least 1\n"
        "    2 | l40s,bf16,1,2.5,3,4\n"
        "      |             ^\n");
  CHECK(message(header + "l40s,bf16,1,2,3,0\n") ==
        "p.csv:2:17: error: ms is a positive number\n"
        "    2 | l40s,bf16,1,2,3,0\n"
        "      |                 ^\n");
  CHECK(message(header + "l40s,bf16,1,2\n") ==
        "p.csv:2:1: error: 4 cells in a table of 6 columns\n"
        "    2 | l40s,bf16,1,2\n"
        "      | ^\n"
        "hint: put cells that contain a comma in double quotes\n");
}
