// Activation memory (semantics C14 to C18, C22, M9, M10).
//
// Bytes a token and layer in 16 bits with everything training, for RMSNorm and a gated MLP (C14):
//     8h a norm        FP32 copy 4h, normalised 2h, output 2h (the input of the linears behind it)
//     2(q + 2k)        queries, keys, values as attention reads them
//     2q + 4n          attention's output, and one FP32 log-sum-exp a head
//     8I               gate, silu, up, product
// Frozen bases drop what only weight gradients read (C15): normalised values, norm outputs and the product, unless an
// adapter reads them. An adapter keeps A's output, and a copy of its own input if it casts or drops out (C22).
// LayerNorm keeps its input and its output; a GELU MLP keeps its input and its output. A fused or compiled RMSNorm
// keeps its input in 16 bits, and a fused activation computes silu again: 8h and 6I. (C14 says about 6h: it counts the
// layer's input with the layer before, where C17 counts the first layer's only.)
#include "workload/activations.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "workload/ends.hpp"
#include "workload/layer.hpp"

namespace takt {
namespace {

constexpr double fp32 = 4.0;

double dimension(std::int64_t count) { return static_cast<double>(count); }

Bytes whole_bytes(double bytes) { return Bytes(std::llround(bytes)); }

/// What the adapters of a layer keep, bytes a token.
double adapter_bytes_kept(const Recipe& recipe) {
  double bytes = 0.0;
  for (std::size_t i = 0; i < recipe.linears.size(); ++i) {
    if (!recipe.adapted[i]) continue;
    const double in = dimension(recipe.linears[i].in);
    const bool own_input = recipe.adapter_casts() || recipe.dropout > 0.0;
    if (own_input) bytes += recipe.adapter_compute_bytes * in;
    if (recipe.dropout > 0.0) bytes += in;  // the mask
    bytes += recipe.adapter_compute_bytes * dimension(recipe.rank);
  }
  return bytes;
}

/// Whether the input that linears of these roles share is kept as it is: for weight gradients, or for A.
bool keeps_input_of(const Recipe& recipe, std::initializer_list<LinearRole> roles) {
  if (recipe.base_trains()) return true;
  if (recipe.adapter_casts() || recipe.dropout > 0.0) return false;  // each adapter keeps its own copy
  for (std::size_t i = 0; i < recipe.linears.size(); ++i)
    if (recipe.adapted[i] && std::find(roles.begin(), roles.end(), recipe.linears[i].role) != roles.end()) return true;
  return false;
}

/// A norm over `width` values of `element` bytes, without its output.
double norm_bytes_kept(const Recipe& recipe, double width, double element) {
  if (recipe.shape.layer_norm || recipe.elementwise != ElementwiseForm::eager) return element * width;
  const double normalised = recipe.base_trains() ? element * width : 0.0;
  return fp32 * width + normalised;
}

double attention_bytes_kept(const Recipe& recipe) {
  const TransformerShape& shape = recipe.shape;
  const double element = recipe.activation_bytes;
  const double queries = dimension(query_width(shape));
  const double keys = dimension(key_width(shape));
  const double heads = dimension(shape.query_heads);
  double bytes = element * (queries + 2.0 * keys) + element * queries;
  if (shape.query_key_norm) bytes += norm_bytes_kept(recipe, queries + keys, element);
  if (recipe.attention == AttentionKernel::eager) {
    // Scores after softmax in FP32 and in 16 bits, and keys and values repeated for every query head (C3).
    bytes += heads * dimension(recipe.sequence) * (fp32 + element) + 2.0 * element * (queries - keys);
  } else {
    bytes += fp32 * heads;
  }
  return bytes;
}

double mlp_bytes_kept(const Recipe& recipe) {
  const double element = recipe.activation_bytes;
  const double width = dimension(recipe.shape.intermediate);
  const double product = keeps_input_of(recipe, {LinearRole::down}) ? 1.0 : 0.0;
  const double gated = recipe.elementwise == ElementwiseForm::eager ? 3.0 : 2.0;  // gate, [activated gate,] up
  const double inner = recipe.shape.gated_mlp ? gated : 1.0;                      // or up alone
  return element * width * (inner + product);
}

/// Copies of norms' outputs that linears keep which cast them each for itself.
double own_casts(const Recipe& recipe, bool attention_input, bool mlp_input) {
  double copies = 0.0;
  for (const Linear& linear : recipe.linears) {
    if (linear.role == LinearRole::gate || linear.role == LinearRole::up)
      copies += mlp_input ? 1.0 : 0.0;
    else if (linear.role != LinearRole::o && linear.role != LinearRole::down)
      copies += attention_input ? 1.0 : 0.0;
  }
  return copies;
}

/// Bytes a token that a layer keeps without checkpointing.
double layer_bytes_kept(const Recipe& recipe) {
  const double element = recipe.activation_bytes;
  const double hidden = dimension(recipe.shape.hidden);
  const double norms = dimension(recipe.shape.norms_per_layer);
  const bool attention_input = keeps_input_of(recipe, {LinearRole::q, LinearRole::k, LinearRole::v, LinearRole::qkv});
  const bool mlp_input = keeps_input_of(recipe, {LinearRole::gate, LinearRole::up});
  double outputs = (attention_input ? 1.0 : 0.0) + (mlp_input ? 1.0 : 0.0);
  if (recipe.shape.norms_per_layer < 2) outputs = std::min(outputs, 1.0);  // attention and MLP read one norm's output
  if (recipe.stream_casts()) outputs = own_casts(recipe, attention_input, mlp_input);
  return norms * norm_bytes_kept(recipe, hidden, recipe.residual_bytes) + outputs * element * hidden + attention_bytes_kept(recipe) +
         mlp_bytes_kept(recipe) + adapter_bytes_kept(recipe);
}

/// Bytes a token that selective checkpointing keeps: the layer's input, attention's output and log-sum-exp, and every
/// second GEMM's output (C18).
double selective_bytes_kept(const Recipe& recipe) {
  const TransformerShape& shape = recipe.shape;
  double elements = dimension(query_width(shape));
  for (std::size_t i = 0; i < recipe.linears.size(); ++i)
    if (kept_by_selective(i)) elements += dimension(recipe.linears[i].out);
  return recipe.residual_bytes * dimension(shape.hidden) + recipe.activation_bytes * elements +
         fp32 * dimension(shape.query_heads);
}

/// Bytes a token that selective checkpointing keeps and that backward reads as they are, so that recomputation does not
/// make them again: attention's output, and GEMM outputs that nothing changes before they are saved.
double selective_bytes_shared(const Recipe& recipe) {
  const bool rotates = recipe.shape.learned_positions == 0;
  double elements = dimension(query_width(recipe.shape));
  for (std::size_t i = 0; i < recipe.linears.size(); ++i) {
    const LinearRole role = recipe.linears[i].role;
    const bool saved_as_is = role == LinearRole::v || role == LinearRole::gate || role == LinearRole::up ||
                             (role == LinearRole::qkv && !rotates);
    if (kept_by_selective(i) && saved_as_is) elements += dimension(recipe.linears[i].out);
  }
  return recipe.activation_bytes * elements + fp32 * dimension(recipe.shape.query_heads);
}

/// The 16-bit copy of the largest quantised weight (M10); the base GEMMs need it in both directions.
double dequantised_bytes(const Recipe& recipe) {
  if (!recipe.quantised()) return 0.0;
  std::int64_t largest = 0;
  for (const Linear& linear : recipe.linears) largest = std::max(largest, linear.weights());
  return 2.0 * dimension(largest);
}

/// Values as wide as the MLP that its backward adds to what is kept, at the fullest of two moments: while the down
/// projection's input gets its gradient, one; and while the activation's backward writes the gradients of its inputs
/// beside that of its output, three with a gate and two without, but what was kept for the down projection is gone.
double mlp_gradients(const Recipe& recipe) {
  bool gone = keeps_input_of(recipe, {LinearRole::down});
  for (std::size_t i = 0; i < recipe.linears.size(); ++i) {
    const bool copied = recipe.adapter_casts() || recipe.dropout > 0.0;
    if (recipe.adapted[i] && recipe.linears[i].role == LinearRole::down && copied) gone = true;
  }
  return (recipe.shape.gated_mlp ? 3.0 : 2.0) - (gone ? 1.0 : 0.0);
}

}  // namespace

Bytes saved_activations(const Recipe& recipe) {
  return whole_bytes(dimension(recipe.tokens) * layer_bytes_kept(recipe));
}

BlockMemory embedding_memory(const Recipe& recipe) {
  BlockMemory memory;
  // The first layer's input (C17); with checkpointing that layer keeps it as its checkpoint.
  if (recipe.checkpointing == Checkpointing::none)
    memory.kept = whole_bytes(dimension(recipe.tokens) * recipe.residual_bytes * dimension(recipe.shape.hidden));
  return memory;
}

BlockMemory layer_memory(const Recipe& recipe) {
  const double tokens = dimension(recipe.tokens);
  const double element = recipe.activation_bytes;
  const double hidden = dimension(recipe.shape.hidden);
  const double width = dimension(recipe.shape.intermediate);
  BlockMemory memory;
  // Backward starts with the gradient of the output. The down projection's weight is expanded for the product before.
  const double first = tokens * element * width + dequantised_bytes(recipe);
  const double then = tokens * element * width * mlp_gradients(recipe);
  const double stream = tokens * recipe.residual_bytes * hidden;
  memory.backward_transient = whole_bytes(stream + std::max(first, then));
  memory.input = whole_bytes(stream);
  memory.forward_transient = whole_bytes(dequantised_bytes(recipe));
  if (recipe.checkpointing == Checkpointing::none) {
    memory.kept = saved_activations(recipe);
    return memory;
  }
  const bool selective = recipe.checkpointing == Checkpointing::selective;
  memory.kept = whole_bytes(tokens * (selective ? selective_bytes_kept(recipe) : recipe.residual_bytes * hidden));  // C16
  const Bytes shared = selective ? whole_bytes(tokens * selective_bytes_shared(recipe)) : Bytes{};
  memory.recomputed = std::max(saved_activations(recipe) - shared, Bytes{});
  // Without an early stop the layer's output is made again, and held until its backward ends (C8).
  if (!recipe.early_stop) memory.recomputed += memory.input;
  // Nothing is saved while the forward runs, but the MLP's three widest values and two of the residual are alive.
  memory.forward_transient += whole_bytes(tokens * element * 3.0 * width + 2.0 * stream);
  return memory;
}

namespace {

/// Logits, their upcast, log-softmax's result and gradients (M9): bytes a logit.
struct LossBytes {
  double kept = 0.0, forward = 0.0, backward = 0.0;
};

/// As the library runs it, the 16-bit logits stay as the model's output and log-softmax's result for its backward; the
/// FP32 logits go after the loss; backward holds two FP32 gradients of them: 14 bytes at the peak. Compiled, only the
/// logits stay, and backward makes their gradient: 5 bytes. One kernel over FP32 logits writes their gradient in their
/// place, and backward casts it down: 8 (compute study, section 4).
LossBytes loss_bytes(const Recipe& recipe) {
  const double element = recipe.activation_bytes;
  switch (recipe.cross_entropy) {
    case CrossEntropy::eager:
      return {.kept = element + fp32, .forward = element < fp32 ? fp32 : 0.0, .backward = 2.0 * fp32};
    case CrossEntropy::compiled:
      return {.kept = element, .forward = 0.0, .backward = element + 1.0};
    case CrossEntropy::fused:
      return {.kept = element + (element < fp32 ? fp32 : 0.0), .forward = 0.0, .backward = element};
    case CrossEntropy::fused_linear:
      break;
  }
  return {};
}

}  // namespace

BlockMemory head_memory(const Recipe& recipe) {
  const double tokens = dimension(recipe.tokens);
  const double element = recipe.activation_bytes;
  const double vocabulary = dimension(recipe.shape.vocabulary);
  const double hidden = dimension(recipe.shape.hidden);
  const double norm_output = recipe.base_trains() ? element * hidden : 0.0;
  const LossBytes loss = loss_bytes(recipe);
  BlockMemory memory;
  const double residual = recipe.residual_bytes;
  memory.kept = whole_bytes(tokens * (residual * hidden + norm_bytes_kept(recipe, hidden, residual) + norm_output) +
                            tokens * vocabulary * loss.kept);
  memory.forward_transient = whole_bytes(tokens * vocabulary * loss.forward);
  memory.backward_transient = whole_bytes(tokens * vocabulary * loss.backward);
  // Fused with the head, a chunk of logits at a time; their gradient takes their place.
  if (recipe.cross_entropy == CrossEntropy::fused_linear)
    memory.forward_transient = whole_bytes(dimension(loss_chunk(recipe)) * vocabulary * element);
  return memory;
}

}  // namespace takt
