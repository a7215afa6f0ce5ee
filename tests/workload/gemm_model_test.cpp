// Hand-solved products on a card of 100 SMs, 500 TFLOP/s (5 TFLOP/s an SM), 2 TB/s.
#include "workload/gemm_model.hpp"

#include "catch.hpp"

#include <cmath>

using namespace takt;

namespace {

CardSpec a_card() {
  CardSpec card;
  card.sm_count = 100;
  card.dense_peak[Precision::bf16] = FlopRate(500e12);
  card.dense_peak[Precision::fp8] = FlopRate(1000e12);
  card.memory_bandwidth = Bandwidth(2e12);
  card.l2_cache = Bytes(50'000'000);
  card.tdp = Power(500);
  return card;
}

/// No losses at all.
const GemmConstants ideal{.efficiency = 1.0,
                          .partial_wave = 1.0,
                          .small_tile = 0.0,
                          .depth_start = 0.0,
                          .launch_us = 0.0,
                          .memory = 1.0,
                          .power_drop = 0.0,
                          .cache_drop = 0.0};

}  // namespace

TEST_CASE("a product that fills whole waves takes its operations at the peak", "[workload]") {
  // 2560 x 2560: 100 tiles of 256 x 256, one wave. t_c = 2 * 256 * 256 * K / 5e12; K = 65,536: 1.718 ms;
  // t_m = 2 (K (M + N) + M N) / 2e12 = .342 ms; (1 + (.342 / 1.718)^4)^(1/4) = 1.0004
  const double compute = 2.0 * 256 * 256 * 65536 / 5e12;
  const double memory = 2.0 * (65536.0 * 5120 + 2560.0 * 2560) / 2e12;
  const double expected = std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25);
  CHECK(modelled_gemm_seconds(a_card(), ideal, {2560, 2560, 65536, Precision::bf16}) == Approx(expected));
}

TEST_CASE("one row of tiles more costs a wave, or the share of it that is paid", "[workload]") {
  // 2561 x 2560 in tiles of 256: 110 tiles, 1.1 waves, 2 paid. In tiles of 64: 41 x 40 = 1640 tiles, 16.4 waves, 17
  // paid, of a sixteenth of the work each: 17/16 = 1.0625 of one wave. The library takes that. (K is too short to be
  // split.)
  const GemmShape shape{2561, 2560, 1000, Precision::bf16};
  const double wave = 2.0 * 256 * 256 * 1000 / 5e12;
  const double memory = 2.0 * (1000.0 * 5121 + 2561.0 * 2560) / 2e12;
  const auto joined = [memory](double compute) { return std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25); };
  CHECK(modelled_gemm_seconds(a_card(), ideal, shape) == Approx(joined(17.0 / 16.0 * wave)));
  GemmConstants shared = ideal;  // idle SMs of the last wave speed the others up
  shared.partial_wave = 0.0;
  CHECK(modelled_gemm_seconds(a_card(), shared, shape) == Approx(joined(1640.0 / 1600.0 * wave)));
}

TEST_CASE("a thin product is bound by memory, a tiny one by its launch", "[workload]") {
  GemmConstants constants = ideal;
  constants.launch_us = 5.0;
  GemmCalibration calibration;
  calibration.constants = constants;
  const GemmEstimate thin = estimate_gemm(a_card(), calibration, {16, 8192, 8192, Precision::bf16});
  // 2 (8192 (16 + 8192) + 16 * 8192) B / 2 TB/s = 67.4 us beside 5 us of launch
  CHECK(thin.limit == GemmLimit::memory);
  CHECK(thin.seconds == Approx(72.4e-6).epsilon(0.02));
  CHECK(estimate_gemm(a_card(), calibration, {16, 64, 64, Precision::bf16}).limit == GemmLimit::launch);
}

TEST_CASE("a product that lasts, on a card with many FLOP/s a watt, loses more to power", "[workload]") {
  // h = 500 TFLOP/s / 500 W = 1. 2^43 FLOP are 17.6 ms at the peak: d = log2 17.6 = 4.137 doublings of 1 ms
  GemmConstants constants = ideal;
  constants.power_drop = 0.04;
  const GemmShape shape{25600, 25600, 6710, Precision::bf16};
  const double ratio =
      modelled_gemm_seconds(a_card(), constants, shape) / modelled_gemm_seconds(a_card(), ideal, shape);
  CHECK(ratio == Approx(1.0 + 0.04 * std::log2(shape.flops() / 0.5e12)).epsilon(0.001));
}

TEST_CASE("casting activations reads them and takes SM time, in narrow formats only", "[workload]") {
  // M K (2 / (.9 B) + q / S) = 4096 * 8192 (2 / 1.8e12 + 200e-12 / 100) = 104.4 us
  GemmConstants constants = ideal;
  constants.quantise_ps = 200.0;
  const GemmShape shape{4096, 8192, 8192, Precision::fp8};
  CHECK(modelled_gemm_seconds(a_card(), constants, shape) - modelled_gemm_seconds(a_card(), ideal, shape) ==
        Approx(4096.0 * 8192.0 * (2.0 / 1.8e12 + 2e-12)));
}

TEST_CASE("FP16 stands for BF16 where a card has one of them calibrated", "[workload]") {
  CardSpec card = a_card();
  CHECK(gemm_calibration(card, Precision::fp16) == nullptr);
  card.gemm[Precision::bf16].source = "measured";
  REQUIRE(gemm_calibration(card, Precision::fp16) != nullptr);
  CHECK(gemm_calibration(card, Precision::fp16)->source == "measured");
  CHECK(gemm_calibration(card, Precision::fp8) == nullptr);
}
