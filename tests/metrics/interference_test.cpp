// What kernels keep beside thread blocks and copies, as the engine plays it (semantics H4, H5).
#include "metrics/interference.hpp"

#include "catch.hpp"
#include "workload/pricer.hpp"

using namespace takt;

namespace {

/// 100 SMs, 1,000 GB/s of memory of which kernels reach 0.8, 100 TFLOP/s.
CardSpec card() {
  CardSpec spec;
  spec.name = "card";
  spec.sm_count = 100;
  spec.memory_bandwidth = Bandwidth(1e12);
  spec.efficiency.memory = 0.8;
  spec.dense_peak = {{Precision::bf16, FlopRate(100e12)}};
  return spec;
}

Kernel gemm() { return KernelPricer(card(), ComputeBasis::measured).gemm("gemm", 8192, 8192, 8192, Precision::bf16); }
Kernel triad() { return KernelPricer(card(), ComputeBasis::measured).memory("triad", Bytes(8'000'000'000)); }

double kept(const Kernel& kernel, const Interference& beside, const Assumptions& assumptions = {}) {
  return kept_throughput(kernel, card(), beside, assumptions).value();
}

}  // namespace

TEST_CASE("a GEMM keeps its share of SMs, less a factor where many are held", "[metrics]") {
  CHECK(kept(gemm(), {}) == Approx(1.0));
  CHECK(kept(gemm(), {.ctas = 4, .traffic = {}}) == Approx(0.96));
  CHECK(kept(gemm(), {.ctas = 8, .traffic = {}}) == Approx(0.92));
  CHECK(kept(gemm(), {.ctas = 20, .traffic = {}}) == Approx(0.80 / 1.34));
  Assumptions off;
  off.sm_contention = false;
  CHECK(kept(gemm(), {.ctas = 20, .traffic = {}}, off) == Approx(1.0));
}

TEST_CASE("a kernel that waits for memory loses no speed to held SMs but the bandwidth that copies take", "[metrics]") {
  CHECK(kept(triad(), {.ctas = 20, .traffic = {}}) == Approx(1.0));
  // 800 GB/s reached alone; a copy of 40 GB/s reads and writes 80: 720 are left.
  CHECK(kept(triad(), {.ctas = 0, .traffic = Bandwidth(80e9)}) == Approx(0.9));
  // A GEMM of this size needs 24 GB/s of it.
  CHECK(kept(gemm(), {.ctas = 0, .traffic = Bandwidth(80e9)}) == Approx(1.0));
}
