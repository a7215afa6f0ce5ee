#include "workload/ends.hpp"

#include <algorithm>
#include <cmath>

#include "workload/elementwise.hpp"

namespace takt {
namespace {

/// What the loss moves, bytes a token and vocabulary entry besides the products, and launches.
struct LossPass {
  double traffic = 0.0;
  std::uint16_t launches = 1;
  std::uint16_t dispatches = 1;
};

// Cross-entropy on 16-bit logits. As the library runs it: forward the upcast (2 + 4) and log-softmax (4 + 4); backward
// zeroes a gradient (4), then log-softmax's backward (4 + 4 + 4) and the downcast (4 + 2). Compiled, nothing is zeroed
// and each pass is one kernel, 24 bytes in all: the lower end of semantics C10 and of the compute study's 24 to 40.
// One kernel over upcast logits: forward the upcast (2 + 4) and a read (4), backward the gradient in place (4 + 4) and
// the downcast (4 + 2). Fused with the head: the study's 14, in one pass over the logits of a chunk.
constexpr LossPass eager_loss_forward{14.0, 3, 3};
constexpr LossPass eager_loss_backward{22.0, 4, 4};
constexpr LossPass compiled_loss_forward{14.0, 1, 0};
constexpr LossPass compiled_loss_backward{10.0, 1, 0};
constexpr LossPass fused_loss_forward{10.0, 2, 2};
constexpr LossPass fused_loss_backward{14.0, 2, 2};
constexpr LossPass fused_linear_loss{14.0, 1, 1};

struct LossPasses {
  LossPass forward, backward;
};

LossPasses loss_passes(CrossEntropy form) {
  switch (form) {
    case CrossEntropy::compiled:
      return {compiled_loss_forward, compiled_loss_backward};
    case CrossEntropy::fused:
      return {fused_loss_forward, fused_loss_backward};
    case CrossEntropy::eager:
    case CrossEntropy::fused_linear:
      break;
  }
  return {eager_loss_forward, eager_loss_backward};
}

Bytes whole_bytes(double bytes) { return Bytes(std::llround(bytes)); }

}  // namespace

EndKernels embedding_kernels(const Recipe& recipe, const KernelPricer& pricer) {
  const double rows = static_cast<double>(recipe.tokens * recipe.shape.hidden);
  const double table = static_cast<double>(recipe.shape.vocabulary * recipe.shape.hidden);
  const double element = recipe.residual_bytes;
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

namespace {

/// A norm before the head, in the form of the layers' norms.
Kernel final_norm(const Recipe& recipe, const KernelPricer& pricer, const char* name, ElementwisePass pass) {
  const double elements = static_cast<double>(recipe.tokens * recipe.shape.hidden);
  Kernel kernel = pricer.memory(name, whole_bytes(pass.traffic * recipe.activation_bytes / 2.0 * elements));
  kernel.launches = pass.launches;
  kernel.dispatches = dispatches_of(recipe.elementwise, pass.launches);
  return kernel;
}

Kernel loss_kernel(const Recipe& recipe, const KernelPricer& pricer, const char* name, LossPass pass) {
  const double logits = static_cast<double>(recipe.tokens * recipe.shape.vocabulary);
  Kernel kernel = pricer.memory(name, whole_bytes(pass.traffic * logits), KernelKind::loss);
  kernel.launches = pass.launches;
  kernel.dispatches = pass.dispatches;
  return kernel;
}

/// `count` equal kernels as one.
Kernel repeated(Kernel kernel, std::int64_t count) {
  kernel.time *= count;
  kernel.memory = kernel.memory * count;
  kernel.flops = Flops(kernel.flops.count() * static_cast<double>(count));
  kernel.launches = kernel.dispatches = static_cast<std::uint16_t>(count);
  return kernel;
}

/// The head and the loss fused, chunk by chunk: the gradient of the logits is made in the forward, so that the products
/// of the backward run there too, and no logits outlive their chunk.
void add_fused_head(EndKernels& kernels, const Recipe& recipe, const KernelPricer& pricer) {
  const std::int64_t rows = loss_chunk(recipe);
  const std::int64_t rest = recipe.tokens % rows;
  const std::int64_t hidden = recipe.shape.hidden;
  const std::int64_t vocabulary = recipe.shape.vocabulary;
  const auto add = [&](const auto& of_rows) {
    kernels.forward.push_back(repeated(of_rows(rows), recipe.tokens / rows));
    if (rest > 0) kernels.forward.push_back(of_rows(rest));
  };
  add([&](std::int64_t m) { return pricer.gemm("lm_head", m, vocabulary, hidden, recipe.activation); });
  Kernel loss = loss_kernel(recipe, pricer, "cross-entropy", fused_linear_loss);
  loss.launches = loss.dispatches = static_cast<std::uint16_t>((recipe.tokens + rows - 1) / rows);
  kernels.forward.push_back(loss);
  add([&](std::int64_t m) { return pricer.gemm("lm_head dgrad", m, hidden, vocabulary, recipe.activation); });
  if (!recipe.base_trains()) return;
  add([&](std::int64_t m) { return pricer.gemm("lm_head wgrad", vocabulary, hidden, m, recipe.activation); });
}

void add_head(EndKernels& kernels, const Recipe& recipe, const KernelPricer& pricer) {
  const std::int64_t hidden = recipe.shape.hidden;
  const std::int64_t vocabulary = recipe.shape.vocabulary;
  const LossPasses passes = loss_passes(recipe.cross_entropy);
  kernels.forward.push_back(pricer.gemm("lm_head", recipe.tokens, vocabulary, hidden, recipe.activation));
  kernels.forward.push_back(loss_kernel(recipe, pricer, "cross-entropy", passes.forward));
  kernels.backward.push_back(loss_kernel(recipe, pricer, "cross-entropy backward", passes.backward));
  kernels.backward.push_back(pricer.gemm("lm_head dgrad", recipe.tokens, hidden, vocabulary, recipe.activation));
  if (recipe.base_trains())
    kernels.backward.push_back(pricer.gemm("lm_head wgrad", vocabulary, hidden, recipe.tokens, recipe.activation));
}

}  // namespace

EndKernels head_kernels(const Recipe& recipe, const KernelPricer& pricer) {
  const ElementwisePart norm =
      elementwise_parts(recipe.shape, recipe.elementwise, recipe.stream_casts()).norm;
  EndKernels kernels;
  kernels.forward.push_back(final_norm(recipe, pricer, "final norm", norm.forward));
  if (recipe.stream_casts()) kernels.forward.push_back(final_norm(recipe, pricer, "input cast", stream_cast));
  if (recipe.cross_entropy == CrossEntropy::fused_linear)
    add_fused_head(kernels, recipe, pricer);
  else
    add_head(kernels, recipe, pricer);
  if (recipe.stream_casts())
    kernels.backward.push_back(final_norm(recipe, pricer, "input cast backward", stream_cast));
  kernels.backward.push_back(final_norm(recipe, pricer, "final norm backward", norm.backward));
  return kernels;
}

double loss_traffic(CrossEntropy form, bool backward) {
  if (form == CrossEntropy::fused_linear) return backward ? 0.0 : fused_linear_loss.traffic;
  const LossPasses passes = loss_passes(form);
  return backward ? passes.backward.traffic : passes.forward.traffic;
}

std::int64_t loss_chunk(const Recipe& recipe) {
  const std::int64_t hidden = recipe.shape.hidden;
  const std::int64_t parts = std::max<std::int64_t>(1, (recipe.shape.vocabulary + hidden - 1) / hidden);
  std::int64_t rows = 1;
  while (rows * parts < recipe.tokens) rows *= 2;
  return std::min(rows, recipe.tokens);
}

}  // namespace takt
