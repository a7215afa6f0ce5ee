// Prices on a card of round figures: 1,000 TFLOP/s, 4,000 GB/s, e_gemm .8, e_attention .5 / .4, e_memory .75,
// e_dequantise .25 (fixtures.cpp).
#include "workload/pricer.hpp"

#include "catch.hpp"
#include "fixtures.hpp"
#include "workload/precision.hpp"

using namespace takt;
using namespace takt::test;

namespace {

const KernelPricer measured(round_card(), ComputeBasis::measured);
const KernelPricer peak(round_card(), ComputeBasis::peak);
const KernelPricer nothing(round_card(), ComputeBasis::free);

double seconds(const Kernel& kernel) { return to_seconds(kernel.time); }

}  // namespace

TEST_CASE("a large GEMM takes its operations at the efficiency's share of the peak") {
  // 2 * 4096^3 = 137,438,953,472 FLOP; / (.8 * 1e15) = 171.798691840 us
  const Kernel kernel = measured.gemm("g", 4096, 4096, 4096, Precision::bf16);
  CHECK(kernel.flops.count() == 137438953472.0);
  CHECK(kernel.time == Duration(171798692));  // rounded up to a picosecond
  // b (MK + KN) + c MN = 2 * 3 * 4096^2
  CHECK(kernel.memory == Bytes(6 * 4096 * 4096));
  // at the peak: 137.438953472 us
  CHECK(peak.gemm("g", 4096, 4096, 4096, Precision::bf16).time == Duration(137438954));
}

TEST_CASE("a thin GEMM takes its memory traffic at the efficiency's share of the bandwidth") {
  // 4096 x 16 x 4096: 2 (4096 * 4096 + 4096 * 16 + 4096 * 16) = 33,816,576 B; / (.75 * 4e12) = 11.272192 us,
  // more than 536,870,912 FLOP / 8e14 = .67 us
  const Kernel kernel = measured.gemm("lora_A", 4096, 16, 4096, Precision::bf16, KernelKind::adapter);
  CHECK(kernel.kind == KernelKind::adapter);
  CHECK(kernel.memory == Bytes(33816576));
  CHECK(kernel.time == Duration(11272192));
}

TEST_CASE("operand formats set a GEMM's traffic and rate") {
  // M = N = K = 8192: FLOP 2^40; elements 2^26 each
  const double elements = 67108864.0;
  const double work = 1099511627776.0;
  struct Case { Precision precision; double bytes; double rate; };
  for (const Case& c : {Case{Precision::fp32, 12 * elements, 50e12}, Case{Precision::tf32, 12 * elements, 500e12},
                        Case{Precision::fp16, 6 * elements, 1000e12},
                        Case{Precision::fp8, 4 * elements, 2000e12}}) {  // 1 + 1 read, 2 written
    const Kernel kernel = peak.gemm("g", 8192, 8192, 8192, c.precision);
    INFO(name_of(c.precision));
    CHECK(static_cast<double>(kernel.memory.count()) == c.bytes);
    CHECK(seconds(kernel) == Approx(work / c.rate).epsilon(1e-9));
  }
  CHECK(operand_bytes(Precision::nvfp4) == 0.5625);  // 4 bits and an FP8 scale for 16
}

TEST_CASE("C3, C4: causal flash attention counts half of the square, backward 2.5 times that") {
  // 2 B S^2 n_q d = 2 * 2 * 4096^2 * 32 * 128 = 274,877,906,944
  const Kernel forward =
      measured.attention({2, {4096}}, llama_3_1_8b(), AttentionKernel::flash, AttentionPass::forward, Precision::bf16);
  const Kernel backward =
      measured.attention({2, {4096}}, llama_3_1_8b(), AttentionKernel::flash, AttentionPass::backward, Precision::bf16);
  CHECK(forward.flops.count() == 274877906944.0);
  CHECK(backward.flops.count() == 2.5 * 274877906944.0);
  CHECK(seconds(forward) == Approx(274877906944.0 / 0.5e15).epsilon(1e-9));
  CHECK(seconds(backward) == Approx(2.5 * 274877906944.0 / 0.4e15).epsilon(1e-9));
  // Reads q, k, v, writes out and the FP32 log-sum-exp: 8192 tokens (2 (2 * 4096 + 2 * 1024) + 4 * 32)
  CHECK(forward.memory == Bytes(8192 * (2 * (2 * 4096 + 2 * 1024) + 4 * 32)));
  // Sharing keys and values between query heads changes traffic, not operations.
  TransformerShape all_heads = llama_3_1_8b();
  all_heads.kv_heads = 32;
  const Kernel wide =
      measured.attention({2, {4096}}, all_heads, AttentionKernel::flash, AttentionPass::forward, Precision::bf16);
  CHECK(wide.flops == forward.flops);
  CHECK(wide.memory > forward.memory);
}

TEST_CASE("attention under a dense mask computes the whole square, slower than flash by a constant") {
  // 4 B S^2 n_q d at flash's 500 and 400 TFLOP/s over the constant; backward 2.5 times as much
  const double slower = recorded_global_constants().masked_attention;
  const double full = 4.0 * 4096.0 * 4096.0 * 4096.0;
  const Kernel forward = measured.attention({1, {4096}}, llama_3_1_8b(), AttentionKernel::sdpa_mask,
                                            AttentionPass::forward, Precision::bf16);
  const Kernel backward = measured.attention({1, {4096}}, llama_3_1_8b(), AttentionKernel::sdpa_mask,
                                             AttentionPass::backward, Precision::bf16);
  CHECK(forward.flops.count() == full);
  CHECK(seconds(forward) == Approx(slower * full / 500e12).epsilon(1e-9));
  CHECK(seconds(backward) == Approx(slower * 2.5 * full / 400e12).epsilon(1e-9));
}

TEST_CASE("kernels within a step take longer by the global constants; copies and the dense peak do not") {
  GlobalConstants constants = kernels_alone();
  constants.gemm_hopper = 1.25;
  constants.elementwise = 1.5;
  constants.triton_attention = 2.0;
  const KernelPricer in_step(measured.card(), ComputeBasis::measured, constants);
  const auto ratio = [&](auto kernel) { return seconds(kernel(in_step)) / seconds(kernel(measured)); };
  const auto gemm = [](const KernelPricer& p) { return p.gemm("g", 8192, 8192, 8192, Precision::bf16); };
  const Bytes bytes(1'000'000'000);
  CHECK(ratio(gemm) == Approx(1.25).epsilon(1e-9));
  CHECK(ratio([&](const KernelPricer& p) { return p.memory("n", bytes); }) == Approx(1.5).epsilon(1e-6));
  CHECK(ratio([&](const KernelPricer& p) { return p.memory("c", bytes, KernelKind::copy); }) == Approx(1.0));
  const auto attention = [](const KernelPricer& p, AttentionKernel kernel) {
    return seconds(p.attention({2, {4096}}, llama_3_1_8b(), kernel, AttentionPass::forward, Precision::bf16));
  };
  CHECK(attention(in_step, AttentionKernel::flash_triton) ==
        Approx(2.0 * attention(in_step, AttentionKernel::flash)).epsilon(1e-9));
  const KernelPricer fast(measured.card(), ComputeBasis::peak, constants);
  CHECK(seconds(gemm(fast)) == seconds(gemm(peak)));
}

TEST_CASE("eager attention is bound by writing the scores: 28 and 44 bytes each") {
  const double scores = 32.0 * 4096.0 * 4096.0;
  const Kernel forward =
      measured.attention({1, {4096}}, llama_3_1_8b(), AttentionKernel::eager, AttentionPass::forward, Precision::bf16);
  const Kernel backward =
      measured.attention({1, {4096}}, llama_3_1_8b(), AttentionKernel::eager, AttentionPass::backward, Precision::bf16);
  CHECK(seconds(forward) == Approx(28.0 * scores / 3e12).epsilon(1e-9));
  CHECK(seconds(backward) == Approx(44.0 * scores / 3e12).epsilon(1e-9));
}

TEST_CASE("elementwise kernels and dequantisation move bytes") {
  CHECK(measured.memory("norm", Bytes(3000000)).time == Duration(1000000));  // 3 MB at 3 TB/s: 1 us
  // C21: (.5 + 2) B a weight at .25 * 4 TB/s: 1e6 weights take 2.5 us
  const Kernel kernel = measured.dequantise(1000000, 0.5);
  CHECK(kernel.kind == KernelKind::dequantise);
  CHECK(kernel.memory == Bytes(2500000));
  CHECK(kernel.time == Duration(2500000));
}

TEST_CASE("free kernels take no time and no traffic but keep their operations") {
  const Kernel gemm = nothing.gemm("g", 64, 64, 64, Precision::bf16);
  CHECK(gemm.time == Duration(0));
  CHECK(gemm.memory == Bytes(0));
  CHECK(gemm.flops.count() == 2.0 * 64 * 64 * 64);
  CHECK(nothing.memory("m", Bytes(1 << 20)).time == Duration(0));
  CHECK(nothing.dequantise(1 << 20, 0.5).memory == Bytes(0));
}

TEST_CASE("a pricer says on what its prices rest") {
  CHECK(measured.provenance() == "roofline with one efficiency a kind of kernel");
  CHECK(peak.provenance() == "dense peak rates and full memory bandwidth");
  CHECK(nothing.provenance() == "kernels take no time");
}
