#include "kernel_kinds.hpp"

#include "workload/elementwise.hpp"
#include "workload/ends.hpp"
#include "workload/optimizer.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

using Numbers = std::vector<std::int64_t>;

Bytes whole_bytes(double bytes) {
  return Bytes(std::llround(bytes));
}

Result<PricedKernel> price_gemm(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                const ParsedOptions&) {
  return priced_gemm(pricer, {n[0], n[1], n[2], precision});
}

AttentionKernel attention_named(const std::string& form) {
  if (form == "eager") return AttentionKernel::eager;
  if (form == "sdpa-mask") return AttentionKernel::sdpa_mask;
  return form == "flash-triton" ? AttentionKernel::flash_triton : AttentionKernel::flash;
}

Result<PricedKernel> price_attention(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                     const ParsedOptions& options) {
  TransformerShape shape;
  shape.query_heads = n[2];
  shape.kv_heads = n[3];
  shape.head_dim = n[4];
  if (shape.query_heads % shape.kv_heads != 0) {
    return usage_error(std::to_string(shape.kv_heads) + " key heads do not divide " +
                           std::to_string(shape.query_heads) + " query heads",
                       "as many key heads as query heads, or fewer that divide them");
  }
  const AttentionPass pass = options.has("backward") ? AttentionPass::backward : AttentionPass::forward;
  const AttentionKernel kernel = attention_named(options.value("attention").value_or("flash"));
  return priced_by_roofline(pricer, pricer.attention({n[0], {n[1]}}, shape, kernel, pass, precision), precision,
                            attention_interval(pricer.card(), kernel));
}

PricedKernel price_stream(const KernelPricer& pricer, const char* name, double bytes, Precision precision,
                          KernelKind kind = KernelKind::elementwise) {
  constexpr double countable = 9e18;  // bytes; more take longer than any kernel that is priced
  Kernel kernel = pricer.memory(name, whole_bytes(std::min(bytes, countable)), kind);
  if (bytes > countable) kernel.time = Duration::max();
  return priced_by_roofline(pricer, kernel, precision, memory_interval(pricer.card()));
}

Result<PricedKernel> price_elementwise(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                       const ParsedOptions&) {
  return price_stream(pricer, "elementwise", static_cast<double>(n[0]), precision);
}

/// A part of a Llama-like layer on TOKENS x WIDTH elements.
template <ElementwisePart ElementwiseParts::*part>
Result<PricedKernel> price_part(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                const ParsedOptions& options) {
  const std::string word = options.value("form").value_or("eager");
  const ElementwiseForm form = word == "fused"      ? ElementwiseForm::fused
                               : word == "compiled" ? ElementwiseForm::compiled
                                                    : ElementwiseForm::eager;
  const ElementwisePart of_layer = elementwise_parts(TransformerShape{}, form).*part;
  const ElementwisePass pass = options.has("backward") ? of_layer.backward : of_layer.forward;
  const double elements = static_cast<double>(n[0]) * static_cast<double>(n[1]);
  constexpr double in_16_bits = 2.0;
  return price_stream(pricer, "elementwise", pass.traffic * activation_bytes(precision) / in_16_bits * elements,
                      precision);
}

Result<PricedKernel> price_loss(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                const ParsedOptions& options) {
  const std::string word = options.value("loss").value_or("eager");
  const CrossEntropy form = word == "fused-linear" ? CrossEntropy::fused_linear
                            : word == "fused"      ? CrossEntropy::fused
                            : word == "compiled"   ? CrossEntropy::compiled
                                                   : CrossEntropy::eager;
  if (form == CrossEntropy::fused_linear && options.has("backward"))
    return usage_error("a loss fused with the head has no backward of its own", "its gradient is made in the forward");
  const double logits = static_cast<double>(n[0]) * static_cast<double>(n[1]);
  return price_stream(pricer, "loss", loss_traffic(form, options.has("backward")) * logits, precision,
                      KernelKind::loss);
}

Result<PricedKernel> price_optimizer(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                     const ParsedOptions& options) {
  const std::string name = options.value("optimizer").value_or("adamw");
  const Optimizer optimizer = name == "sgd"          ? Optimizer::sgd
                              : name == "adamw-8bit" ? Optimizer::adamw_8bit
                                                     : Optimizer::adamw;
  const OptimizerForm form = options.has("foreach") ? OptimizerForm::foreach_ : OptimizerForm::fused;
  const double traffic = optimizer_cost(optimizer, form, MasterFormat::fp32).traffic;
  return price_stream(pricer, "optimizer", traffic * static_cast<double>(n[0]), precision, KernelKind::optimizer);
}

Result<PricedKernel> price_dequantise(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                      const ParsedOptions&) {
  constexpr double nf4_double_quantised = 4.127 / 8.0;  // bytes a weight (semantics C20)
  return priced_by_roofline(pricer, pricer.dequantise(n[0], nf4_double_quantised), precision, dequantise_interval());
}

Result<PricedKernel> price_cast(const KernelPricer& pricer, const Numbers& n, Precision precision,
                                const ParsedOptions&) {
  const GemmCalibration* calibration = gemm_calibration(pricer.card(), precision);
  if (calibration == nullptr || calibration->constants.quantise_ps == 0.0) {
    return usage_error("products in " + std::string(name_of(precision)) + " on " + pricer.card().name + " cast nothing",
                       "--dtype fp8 on a card with FP8");
  }
  return priced_by_roofline(pricer, pricer.cast(n[0], precision), precision, cast_interval());
}

}  // namespace

const std::vector<KernelKindOption>& kernel_kinds() {
  static const std::vector<KernelKindOption> all = {
      {"gemm", {"M", "N", "K"}, {}, price_gemm},
      {"attention", {"BATCH", "SEQUENCE", "HEADS", "KV_HEADS", "HEAD_DIM"}, {"attention", "backward"}, price_attention},
      {"norm", {"TOKENS", "WIDTH"}, {"form", "backward"}, price_part<&ElementwiseParts::norm>},
      {"rope", {"TOKENS", "WIDTH"}, {"form", "backward"}, price_part<&ElementwiseParts::rope>},
      {"activation", {"TOKENS", "WIDTH"}, {"form", "backward"}, price_part<&ElementwiseParts::activation>},
      {"residual", {"TOKENS", "WIDTH"}, {"form", "backward"}, price_part<&ElementwiseParts::residual>},
      {"loss", {"TOKENS", "VOCABULARY"}, {"loss", "backward"}, price_loss},
      {"elementwise", {"BYTES"}, {}, price_elementwise},
      {"optimizer", {"ELEMENTS"}, {"optimizer", "foreach"}, price_optimizer},
      {"dequant", {"WEIGHTS"}, {}, price_dequantise},
      {"cast", {"ELEMENTS"}, {}, price_cast}};
  return all;
}

std::string usage_of(const KernelKindOption& kind) {
  std::string text = "takt kernel " + kind.name;
  for (const std::string& number : kind.numbers) text += ' ' + number;
  return text;
}

}  // namespace takt
