// Roofline prices. A kernel takes the longer of two times: its operations at the card's dense peak, its memory traffic
// at the card's bandwidth, each times one efficiency for the kind of kernel (card_spec.hpp, [efficiency]).
//
//     gemm         max(2MNK / (e_gemm P), (b (MK + KN) + c MN) / (e_memory B))   b, c: bytes of operands and result;
//                  or the card's calibration, where its file has one (gemm_model.hpp)
//     attention    the same with e_attention; what it computes and moves depends on the kernel, see below
//                  (under a dense mask on the full square of the sequence: that kernel skips nothing)
//     elementwise  bytes / (e_memory B)
//     dequantise   bytes / (e_dequantise B)
//
// A calibrated model of a card takes the place of a line here: gemm() and its sisters say what is computed, and only
// the functions in the anonymous namespace say how long that takes. Within a step, times are multiplied by the global
// constants (global_constants.hpp).
#include "workload/pricer.hpp"

#include "base/contract.hpp"
#include "workload/gemm_model.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

/// What a kernel has to do.
struct Load {
  double flops = 0.0;
  double bytes = 0.0;
};

/// How fast a card does it.
struct Speed {
  double flops = 0.0;  ///< per second
  double bytes = 0.0;  ///< per second
};

Kernel priced(KernelKind kind, const char* name, Load load, Speed speed) {
  double seconds = 0.0;
  if (load.bytes > 0.0) seconds = load.bytes / speed.bytes;
  if (load.flops > 0.0) seconds = std::max(seconds, load.flops / speed.flops);
  return {.kind = kind,
          .time = duration_from_seconds(seconds),
          .memory = Bytes(std::llround(load.bytes)),
          .flops = Flops(load.flops),
          .name = name};
}

/// Under ComputeBasis::free a kernel keeps its operations (they are what MFU counts) but takes nothing.
Kernel freed(Kernel kernel) {
  kernel.time = Duration{};
  kernel.memory = Bytes{};
  return kernel;
}

FlopRate peak_of(const CardSpec& card, Precision precision) {
  const auto found = card.dense_peak.find(precision);
  expects(found != card.dense_peak.end(), "a kernel in a precision the card has");
  return found->second;
}

KernelEfficiency efficiency_for(const CardSpec& card, ComputeBasis basis) {
  if (basis == ComputeBasis::measured) return card.efficiency;
  return {.gemm = 1.0, .attention = 1.0, .attention_backward = 1.0, .memory = 1.0, .dequantise = 1.0, .source = ""};
}

/// Whether the constant of elementwise kernels applies: not to copies and optimizers, which stream.
bool is_elementwise(KernelKind kind) {
  return kind == KernelKind::elementwise || kind == KernelKind::loss || kind == KernelKind::adapter;
}

/// Pairs of tokens whose scores are computed, summed over the batch: all of the square, or what a causal kernel needs
/// of it: half of each document's, or with a sliding window of W tokens the band of SW - W^2 / 2.
struct AttentionPairs {
  double full = 0.0;
  double causal = 0.0;
};

AttentionPairs attention_pairs(const AttentionBatch& batch, std::int64_t window) {
  double sequence = 0.0;
  double causal = 0.0;
  for (const std::int64_t document : batch.documents) {
    const double tokens = static_cast<double>(document);
    const double reach = static_cast<double>(window > 0 ? std::min(window, document) : document);
    sequence += tokens;
    causal += reach * (tokens - reach / 2.0);
  }
  const double sequences = static_cast<double>(batch.sequences);
  return {.full = sequences * sequence * sequence, .causal = sequences * causal};
}

double tokens_of(const AttentionBatch& batch) {
  double tokens = 0.0;
  for (const std::int64_t document : batch.documents) tokens += static_cast<double>(document);
  return static_cast<double>(batch.sequences) * tokens;
}

/// A pair costs two multiply-adds a dimension and head forward (scores, values), five matmuls instead of two backward
/// because the scores are computed again (semantics C3, C4).
double attention_flops(double pairs, const TransformerShape& shape, AttentionPass pass) {
  const double forward = 4.0 * pairs * (static_cast<double>(shape.query_heads) * static_cast<double>(shape.head_dim));
  return pass == AttentionPass::forward ? forward : 2.5 * forward;
}

/// Traffic of a fused attention: queries, keys, values, output and one FP32 log-sum-exp a token and head; backward
/// reads these and the output's gradient and writes three gradients.
double fused_attention_bytes(double tokens, const TransformerShape& shape, AttentionPass pass, double element) {
  const double queries = static_cast<double>(shape.query_heads) * static_cast<double>(shape.head_dim);
  const double keys = static_cast<double>(shape.kv_heads) * static_cast<double>(shape.head_dim);
  const double statistics = 4.0 * static_cast<double>(shape.query_heads);
  const double tensors = pass == AttentionPass::forward ? 2.0 * queries + 2.0 * keys : 4.0 * queries + 4.0 * keys;
  return tokens * (element * tensors + statistics);
}

/// Eager attention writes the scores out several times: 28 bytes forward and 44 backward for each score in 16 bits
/// (compute study, section 2).
double eager_attention_bytes(double pairs, const TransformerShape& shape, AttentionPass pass, double element) {
  const double scores = pairs * static_cast<double>(shape.query_heads);
  return scores * (pass == AttentionPass::forward ? 28.0 : 44.0) * element / 2.0;
}

/// What prices the products of a card under ComputeBasis::measured.
std::string measured_provenance(const CardSpec& card) {
  const GemmCalibration* calibration = gemm_calibration(card, Precision::bf16);
  const std::string rest = "a roofline with one efficiency a kind for the rest";
  if (calibration == nullptr) return "roofline with one efficiency a kind of kernel";
  if (calibration->like.empty()) return "GEMM model fitted to measurements of this card; " + rest;
  return "GEMM model fitted to measurements of " + calibration->like + ", scaled; " + rest;
}

}  // namespace

KernelPricer::KernelPricer(const CardSpec& card, ComputeBasis basis, const GlobalConstants& constants, Clocks clocks)
    : card_(card),
      basis_(basis),
      constants_(basis == ComputeBasis::measured ? constants : GlobalConstants{}),
      gemm_slowdown_(constants_.gemm(card)) {
  if (basis != ComputeBasis::measured || clocks == Clocks::burst) return;
  expects(card.sustained.has_value(), "a card that states what it keeps up");
  gemm_slowdown_ = std::max(gemm_slowdown_, 1.0 / *card.sustained);
}

KernelPricer step_pricer(const Assumptions& assumptions, const CardSpec& card, const GlobalConstants& constants) {
  return {card, assumptions.compute, assumptions.in_situ ? constants : kernels_alone(),
          card.sustained ? assumptions.clocks : Clocks::burst};
}

Kernel KernelPricer::gemm(const char* name, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
                          KernelKind kind) const {
  const KernelEfficiency efficiency = efficiency_for(card_, basis_);
  const double rows = static_cast<double>(m);
  const double columns = static_cast<double>(n);
  const double inner = static_cast<double>(k);
  const Load load{.flops = 2.0 * rows * columns * inner,
                  .bytes = operand_bytes(precision) * (rows * inner + inner * columns) +
                           activation_bytes(precision) * rows * columns};
  const Speed speed{.flops = efficiency.gemm * peak_of(card_, precision).count() / gemm_slowdown_,
                    .bytes = efficiency.memory * card_.memory_bandwidth.count() / gemm_slowdown_};
  Kernel kernel = priced(kind, name, load, speed);
  if (basis_ == ComputeBasis::free) return freed(kernel);
  const GemmCalibration* calibration = gemm_calibration(card_, precision);
  if (basis_ == ComputeBasis::measured && calibration != nullptr) {
    kernel.time =
        duration_from_seconds(gemm_slowdown_ * estimate_gemm(card_, *calibration, {m, n, k, precision}).seconds);
  }
  return kernel;
}

Kernel KernelPricer::attention(const AttentionBatch& batch, const TransformerShape& shape, AttentionKernel kernel,
                               AttentionPass pass, Precision precision) const {
  const KernelEfficiency efficiency = efficiency_for(card_, basis_);
  const Precision format = activation_precision(precision);
  const double element = operand_bytes(format);
  const double tokens = tokens_of(batch);
  const AttentionPairs pairs = attention_pairs(batch, shape.sliding_window);
  const double peak = peak_of(card_, format).count();
  Load load;
  Speed speed{.flops = 0.0, .bytes = efficiency.memory * card_.memory_bandwidth.count()};
  const double flash = peak * (pass == AttentionPass::forward ? efficiency.attention : efficiency.attention_backward);
  switch (kernel) {
    case AttentionKernel::flash:
    case AttentionKernel::flash_triton:
      load = {.flops = attention_flops(pairs.causal, shape, pass),
              .bytes = fused_attention_bytes(tokens, shape, pass, element)};
      speed.flops = kernel == AttentionKernel::flash ? flash : flash / constants_.triton_attention;
      break;
    case AttentionKernel::sdpa_mask:
      load = {.flops = attention_flops(pairs.full, shape, pass),
              .bytes = fused_attention_bytes(tokens, shape, pass, element)};
      speed.flops = flash / constants_.masked(card_, shape.head_dim);
      break;
    case AttentionKernel::eager:
      // Backward keeps the scores: four matmuls against two, not five.
      load = {.flops = attention_flops(pairs.full, shape, AttentionPass::forward) *
                       (pass == AttentionPass::forward ? 1.0 : 2.0),
              .bytes = eager_attention_bytes(pairs.full, shape, pass, element)};
      speed.flops = peak * efficiency.gemm;
      break;
  }
  const char* name = pass == AttentionPass::forward ? "attention" : "attention backward";
  const Kernel result = priced(KernelKind::attention, name, load, speed);
  return basis_ == ComputeBasis::free ? freed(result) : result;
}

Kernel KernelPricer::memory(const char* name, Bytes traffic, KernelKind kind) const {
  const Load load{.flops = 0.0, .bytes = static_cast<double>(traffic.count())};
  const double in_step = is_elementwise(kind) ? constants_.elementwise : 1.0;
  const Speed speed{.flops = 0.0,
                    .bytes = efficiency_for(card_, basis_).memory * card_.memory_bandwidth.count() / in_step};
  const Kernel kernel = priced(kind, name, load, speed);
  return basis_ == ComputeBasis::free ? freed(kernel) : kernel;
}

Kernel KernelPricer::dequantise(std::int64_t weights, double bytes_per_weight) const {
  constexpr double written = 2.0;  // BF16
  const Load load{.flops = 0.0, .bytes = static_cast<double>(weights) * (bytes_per_weight + written)};
  const Speed speed{.flops = 0.0, .bytes = efficiency_for(card_, basis_).dequantise * card_.memory_bandwidth.count()};
  const Kernel kernel = priced(KernelKind::dequantise, "dequantise", load, speed);
  return basis_ == ComputeBasis::free ? freed(kernel) : kernel;
}

Kernel KernelPricer::cast(std::int64_t elements, Precision precision) const {
  constexpr double read = 2.0;
  const double count = static_cast<double>(elements);
  const Load load{.flops = 0.0, .bytes = count * (read + operand_bytes(precision))};
  Kernel kernel =
      priced(KernelKind::elementwise, "cast", load,
             {.flops = 0.0, .bytes = efficiency_for(card_, basis_).memory * card_.memory_bandwidth.count()});
  const GemmCalibration* calibration = gemm_calibration(card_, precision);
  if (basis_ == ComputeBasis::measured && calibration != nullptr)
    kernel.time = duration_from_seconds(cast_seconds(card_, *calibration, count));
  return basis_ == ComputeBasis::free ? freed(kernel) : kernel;
}

std::string KernelPricer::provenance() const {
  switch (basis_) {
    case ComputeBasis::measured:
      return measured_provenance(card_);
    case ComputeBasis::peak:
      return "dense peak rates and full memory bandwidth";
    case ComputeBasis::free:
      return "kernels take no time";
  }
  unreachable("compute basis without a provenance");
}

}  // namespace takt
