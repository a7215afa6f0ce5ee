#include "workload/ends.hpp"

#include <cmath>

#include "workload/layer.hpp"

namespace takt {
namespace {

// Cross-entropy as the library runs it on 16-bit logits (semantics C10), bytes a token and vocabulary entry: forward
// the upcast (2 + 4) and log-softmax (4 + 4); backward log-softmax in place (4 + 4) and the downcast's write (2).
constexpr double loss_forward_traffic = 14.0;
constexpr double loss_backward_traffic = 10.0;

Bytes whole_bytes(double bytes) { return Bytes(std::llround(bytes)); }

}  // namespace

EndKernels embedding_kernels(const Recipe& recipe, const KernelPricer& pricer) {
  const double rows = static_cast<double>(recipe.tokens * recipe.shape.hidden);
  const double table = static_cast<double>(recipe.shape.vocabulary * recipe.shape.hidden);
  const double element = recipe.activation_bytes;
  EndKernels kernels;
  kernels.forward.push_back(
      pricer.memory("embedding", whole_bytes(2.0 * element * rows), KernelKind::embedding));
  if (recipe.shape.learned_positions > 0)  // looks positions up and adds them: reads two, writes one
    kernels.forward.push_back(
        pricer.memory("position embedding", whole_bytes(3.0 * element * rows), KernelKind::embedding));
  if (!recipe.base_trains()) return kernels;
  // A dense gradient: zeroes the table, then adds each token's gradient to its row.
  kernels.backward.push_back(pricer.memory("embedding backward", whole_bytes(element * (table + 3.0 * rows)),
                                           KernelKind::embedding));
  if (recipe.shape.learned_positions > 0) {
    const double positions = static_cast<double>(recipe.shape.learned_positions * recipe.shape.hidden);
    kernels.backward.push_back(pricer.memory("position embedding backward",
                                             whole_bytes(element * (positions + 3.0 * rows)), KernelKind::embedding));
  }
  return kernels;
}

EndKernels head_kernels(const Recipe& recipe, const KernelPricer& pricer) {
  const TransformerShape& shape = recipe.shape;
  const double hidden_elements = static_cast<double>(recipe.tokens * shape.hidden);
  const double logits = static_cast<double>(recipe.tokens * shape.vocabulary);
  const PassTraffic norm = norm_traffic(shape);
  const double scale = recipe.activation_bytes / 2.0;
  EndKernels kernels;
  kernels.forward.push_back(pricer.memory("final norm", whole_bytes(norm.forward * scale * hidden_elements)));
  kernels.forward.push_back(
      pricer.gemm("lm_head", recipe.tokens, shape.vocabulary, shape.hidden, recipe.activation));
  kernels.forward.push_back(
      pricer.memory("cross-entropy", whole_bytes(loss_forward_traffic * logits), KernelKind::loss));
  kernels.backward.push_back(
      pricer.memory("cross-entropy backward", whole_bytes(loss_backward_traffic * logits), KernelKind::loss));
  kernels.backward.push_back(
      pricer.gemm("lm_head dgrad", recipe.tokens, shape.hidden, shape.vocabulary, recipe.activation));
  if (recipe.base_trains())
    kernels.backward.push_back(
        pricer.gemm("lm_head wgrad", shape.vocabulary, shape.hidden, recipe.tokens, recipe.activation));
  kernels.backward.push_back(
      pricer.memory("final norm backward", whole_bytes(norm.backward * scale * hidden_elements)));
  return kernels;
}

}  // namespace takt
