// A decoder layer as PyTorch runs it eagerly (semantics C1 to C9, C18, C20 to C22).
//
//   forward    norm, q k v, [q and k norms], rope, attention, o, [norm], residual, norm, gate up, act, down, [norm],
//              residual. A quantised base dequantises before each GEMM; an adapter adds cast, dropout, A, B, add.
//   recompute  the forward up to the last tensor that backward needs (early stop, C8): the last GEMM's output is not
//              needed, so it is not computed again. Selective checkpointing also keeps attention and every second
//              GEMM (C18).
//   backward   what autograd runs: an operation runs backward if its output requires a gradient, and it computes its
//              input's gradient if that input requires one. Nothing else decides what LoRA skips (C6, C7).
//
// What norms, rotation, activation and additions move and launch by their form is elementwise.cpp's.
#include "workload/layer.hpp"

#include "workload/elementwise.hpp"

#include <cmath>

namespace takt {
namespace {

/// The part of the layer a forward kernel belongs to; recomputation chooses by it.
enum class Part { norm, rope, base, adapter_input, adapter_a, adapter_b, attention, activation, last_norm, residual };

struct Step {
  Kernel kernel;
  Part part = Part::norm;
  std::size_t linear = 0;  ///< index in Recipe::linears, for base and adapter parts
};

struct LinearKernelNames {
  const char* forward;
  const char* input_gradient;
  const char* weight_gradient;
};

LinearKernelNames kernel_names(LinearRole role) {
  switch (role) {
    case LinearRole::q: return {"q_proj", "q_proj dgrad", "q_proj wgrad"};
    case LinearRole::k: return {"k_proj", "k_proj dgrad", "k_proj wgrad"};
    case LinearRole::v: return {"v_proj", "v_proj dgrad", "v_proj wgrad"};
    case LinearRole::qkv: return {"qkv_proj", "qkv_proj dgrad", "qkv_proj wgrad"};
    case LinearRole::o: return {"o_proj", "o_proj dgrad", "o_proj wgrad"};
    case LinearRole::gate: return {"gate_proj", "gate_proj dgrad", "gate_proj wgrad"};
    case LinearRole::up: return {"up_proj", "up_proj dgrad", "up_proj wgrad"};
    case LinearRole::down: return {"down_proj", "down_proj dgrad", "down_proj wgrad"};
  }
  return {"linear", "linear dgrad", "linear wgrad"};
}

bool reads_layer_input(LinearRole role) {
  return role == LinearRole::q || role == LinearRole::k || role == LinearRole::v || role == LinearRole::qkv;
}

bool reads_mlp_input(LinearRole role) { return role == LinearRole::gate || role == LinearRole::up; }

/// Which values of a layer require a gradient, walked forward as autograd does.
struct GradientFlow {
  bool input = false;
  bool projections = false;   ///< any of q, k, v
  bool rotated = false;       ///< q or k, which pass through rope and norms of their own
  bool attention_out = false; ///< what is added to the residual
  bool middle = false;        ///< residual between attention and MLP
  bool mlp = false;           ///< gate or up
  bool mlp_out = false;
};

GradientFlow gradient_flow(const Recipe& recipe, InputGradient input) {
  GradientFlow flow;
  flow.input = input == InputGradient::needed;
  const bool norm_trains = recipe.base_trains();
  bool o_trains = false;
  bool down_trains = false;
  flow.projections = flow.rotated = flow.input || norm_trains;
  for (std::size_t i = 0; i < recipe.linears.size(); ++i) {
    const LinearRole role = recipe.linears[i].role;
    const bool trains = recipe.trains(i);
    if (reads_layer_input(role)) flow.projections |= trains;
    if (reads_layer_input(role) && role != LinearRole::v) flow.rotated |= trains;
    if (role == LinearRole::o) o_trains = trains;
    if (role == LinearRole::down) down_trains = trains;
  }
  flow.attention_out = flow.projections || o_trains;
  flow.middle = flow.input || flow.attention_out;
  flow.mlp = flow.middle || norm_trains;
  for (std::size_t i = 0; i < recipe.linears.size(); ++i)
    if (reads_mlp_input(recipe.linears[i].role)) flow.mlp |= recipe.trains(i);
  flow.mlp_out = flow.mlp || down_trains;
  return flow;
}

/// CUDA kernels of an attention. Fused ones take one forward and three backward (sums of rows, gradients, a cast); with
/// a mask, keys and values are repeated for every query head first, a copy each. Eager attention repeats them too, then
/// multiplies, scales, masks, takes the softmax, casts, multiplies and makes the result contiguous.
std::uint16_t attention_launches(AttentionKernel kernel, AttentionPass pass, const TransformerShape& shape) {
  const bool forward = pass == AttentionPass::forward;
  const int repeats = shape.kv_heads < shape.query_heads ? 2 : 0;
  switch (kernel) {
    case AttentionKernel::flash:
    case AttentionKernel::flash_triton:
      return forward ? 1 : 3;
    case AttentionKernel::sdpa_mask:
      return static_cast<std::uint16_t>((forward ? 1 : 3) + repeats);
    case AttentionKernel::eager:
      return static_cast<std::uint16_t>((forward ? 7 : 12) + repeats);
  }
  return 1;
}

InputGradient needed_if(bool requires_gradient) {
  return requires_gradient ? InputGradient::needed : InputGradient::not_needed;
}

class LayerWriter {
 public:
  LayerWriter(const Recipe& recipe, const KernelPricer& pricer, std::int64_t window)
      : recipe_(recipe),
        pricer_(pricer),
        parts_(elementwise_parts(recipe.shape, recipe.elementwise, recipe.stream_casts())),
        attending_(recipe.shape) {
    attending_.sliding_window = window;
  }

  std::vector<Step> forward();
  std::vector<Kernel> backward(const GradientFlow& flow);

 private:
  const TransformerShape& shape() const { return recipe_.shape; }
  double tokens() const { return static_cast<double>(recipe_.tokens); }
  double hidden() const { return static_cast<double>(shape().hidden); }
  double rotated_width() const { return static_cast<double>(query_width(shape()) + key_width(shape())); }
  double mlp_width() const { return static_cast<double>(shape().intermediate); }

  static Kernel launched(Kernel kernel, std::uint16_t launches) {
    kernel.launches = kernel.dispatches = launches;
    return kernel;
  }
  /// A part of the layer over `width` elements a token.
  Kernel elementwise(const char* name, ElementwisePass pass, double width) const {
    const double bytes = tokens() * pass.traffic * width * recipe_.activation_bytes / 2.0;
    return launched(pricer_.memory(name, Bytes(std::llround(bytes))), pass.launches);
  }
  /// Elementwise kernels of adapters: `bytes` a token whatever the format.
  Kernel adapter_elementwise(const char* name, double bytes, std::uint16_t launches = 1) const {
    return launched(pricer_.memory(name, Bytes(std::llround(tokens() * bytes))), launches);
  }
  /// Autocast's casts of an adapter: its input, `input` bytes a token, and its two weights or their gradients.
  Kernel autocast(const char* name, double input, const Linear& linear) const {
    const double weights = static_cast<double>(recipe_.rank * (linear.in + linear.out));
    const double casts = recipe_.adapter_bytes + recipe_.adapter_compute_bytes;
    return launched(pricer_.memory(name, Bytes(std::llround(tokens() * input + weights * casts))), 3);
  }
  /// The nested scales of double quantisation take a small kernel of their own (C21).
  Kernel dequantise(const Linear& linear) const {
    Kernel kernel = pricer_.dequantise(linear.weights(), recipe_.linear_bytes);
    if (recipe_.linear_bytes < nf4_bytes) kernel.launches = 2;
    return kernel;
  }
  Kernel attention(AttentionPass pass) const {
    const Kernel kernel =
        pricer_.attention({recipe_.batch, recipe_.documents}, attending_, recipe_.attention, pass, recipe_.activation);
    return launched(kernel, attention_launches(recipe_.attention, pass, shape()));
  }

  /// Whether the linear takes the FP32 stream and casts it. torch.compile's norm writes 16 bits at once.
  bool casts_stream(const Linear& linear) const {
    return recipe_.stream_casts() && recipe_.elementwise != ElementwiseForm::compiled &&
           (reads_layer_input(linear.role) || reads_mlp_input(linear.role));
  }

  void step(Part part, const Kernel& kernel, std::size_t linear = 0) { steps_.push_back({kernel, part, linear}); }
  void linears_forward(bool (*belongs)(LinearRole));
  void linear_forward(std::size_t index);
  void adapter_forward(std::size_t index);
  void run_backward(const Kernel& kernel) { backward_.push_back(kernel); }
  void linears_backward(bool (*belongs)(LinearRole), InputGradient input);
  void linear_backward(std::size_t index, InputGradient input);
  void adapter_backward(const Linear& linear, InputGradient input);

  const Recipe& recipe_;
  const KernelPricer& pricer_;
  ElementwiseParts parts_;
  TransformerShape attending_;  ///< the shape with this layer's window
  std::vector<Step> steps_;
  std::vector<Kernel> backward_;
};

bool is_output(LinearRole role) { return role == LinearRole::o; }
bool is_down(LinearRole role) { return role == LinearRole::down; }

std::vector<Step> LayerWriter::forward() {
  const bool four_norms = shape().norms_per_layer > 2;
  const ElementwisePass norm = parts_.norm.forward;
  step(Part::norm, elementwise("input norm", norm, hidden()));
  linears_forward(reads_layer_input);
  if (shape().query_key_norm) step(Part::norm, elementwise("q and k norm", norm, rotated_width()));
  if (shape().learned_positions == 0) step(Part::rope, elementwise("rope", parts_.rope.forward, rotated_width()));
  step(Part::attention, attention(AttentionPass::forward));
  linears_forward(is_output);
  if (four_norms) step(Part::norm, elementwise("post-attention norm", norm, hidden()));
  step(Part::residual, elementwise("residual", parts_.residual.forward, hidden()));
  if (shape().norms_per_layer > 1) step(Part::norm, elementwise("mlp norm", norm, hidden()));
  linears_forward(reads_mlp_input);
  step(Part::activation, elementwise("activation", parts_.activation.forward, mlp_width()));
  linears_forward(is_down);
  if (four_norms) step(Part::last_norm, elementwise("post-mlp norm", norm, hidden()));
  step(Part::residual, elementwise("residual", parts_.residual.forward, hidden()));
  return std::move(steps_);
}

void LayerWriter::linears_forward(bool (*belongs)(LinearRole)) {
  for (std::size_t i = 0; i < recipe_.linears.size(); ++i)
    if (belongs(recipe_.linears[i].role)) linear_forward(i);
}

void LayerWriter::linear_forward(std::size_t index) {
  const Linear& linear = recipe_.linears[index];
  if (casts_stream(linear)) step(Part::norm, elementwise("input cast", stream_cast, static_cast<double>(linear.in)));
  if (recipe_.quantised()) step(Part::base, dequantise(linear), index);
  step(Part::base,
       pricer_.gemm(kernel_names(linear.role).forward, recipe_.tokens, linear.out, linear.in, recipe_.compute), index);
  if (recipe_.adapted[index]) adapter_forward(index);
}

/// result += scale * B(A(dropout(cast(x)))), one kernel an operation. PEFT casts x to the adapter's format whatever it
/// is computed in; autocast then casts it, and the weights, to the format of the products.
void LayerWriter::adapter_forward(std::size_t index) {
  const Linear& linear = recipe_.linears[index];
  const double base = recipe_.activation_bytes;
  const double own = recipe_.adapter_bytes;
  const double computed = recipe_.adapter_compute_bytes;
  const double in = static_cast<double>(linear.in);
  const double out = static_cast<double>(linear.out);
  if (recipe_.adapter_casts())
    step(Part::adapter_input, adapter_elementwise("lora cast", (base + own) * in), index);
  if (recipe_.dropout > 0.0)  // reads x, writes x and a mask of one byte (C22)
    step(Part::adapter_input, adapter_elementwise("lora dropout", (2.0 * own + 1.0) * in), index);
  if (recipe_.adapter_autocasts())
    step(Part::adapter_input, autocast("lora autocast", (own + computed) * in, linear), index);
  const Precision format = recipe_.adapter_compute;
  step(Part::adapter_a, pricer_.gemm("lora_A", recipe_.tokens, recipe_.rank, linear.in, format, KernelKind::adapter),
       index);
  step(Part::adapter_b, pricer_.gemm("lora_B", recipe_.tokens, linear.out, recipe_.rank, format, KernelKind::adapter),
       index);
  // The scale reads and writes B's output; the addition reads it and the base's, and writes one: in the wider format,
  // which is then cast to the base's.
  const bool widens = computed > base;
  const double bytes = 3.0 * computed + 2.0 * base + (widens ? 2.0 * computed : 0.0);
  step(Part::adapter_b, adapter_elementwise("lora add", bytes * out, widens ? 3 : 2), index);
}

std::vector<Kernel> LayerWriter::backward(const GradientFlow& flow) {
  const bool four_norms = shape().norms_per_layer > 2;
  const Kernel norm_backward = elementwise("norm backward", parts_.norm.backward, hidden());
  const Kernel residual_backward = elementwise("residual backward", parts_.residual.backward, hidden());
  const bool norms_train = recipe_.base_trains();
  if (flow.mlp_out && four_norms) run_backward(norm_backward);
  if (flow.mlp_out) linears_backward(is_down, needed_if(flow.mlp));
  if (flow.mlp) {
    run_backward(elementwise("activation backward", parts_.activation.backward, mlp_width()));
    linears_backward(reads_mlp_input, needed_if(flow.middle || norms_train));
  }
  if ((flow.middle || norms_train) && shape().norms_per_layer > 1) run_backward(norm_backward);
  if (flow.middle) run_backward(residual_backward);
  if (flow.attention_out) {
    if (four_norms) run_backward(norm_backward);
    linears_backward(is_output, needed_if(flow.projections));
  }
  if (flow.projections) run_backward(attention(AttentionPass::backward));
  if (flow.rotated) {
    if (shape().learned_positions == 0)
      run_backward(elementwise("rope backward", parts_.rope.backward, rotated_width()));
    if (shape().query_key_norm)
      run_backward(elementwise("q and k norm backward", parts_.norm.backward, rotated_width()));
  }
  if (flow.projections) linears_backward(reads_layer_input, needed_if(flow.input || norms_train));
  if (flow.input || norms_train) run_backward(norm_backward);
  if (flow.input) run_backward(residual_backward);
  return std::move(backward_);
}

/// `input`: what the gradient of the input that these linears share is good for.
void LayerWriter::linears_backward(bool (*belongs)(LinearRole), InputGradient input) {
  for (std::size_t i = recipe_.linears.size(); i-- > 0;)
    if (belongs(recipe_.linears[i].role)) linear_backward(i, input);
}

void LayerWriter::linear_backward(std::size_t index, InputGradient input) {
  const Linear& linear = recipe_.linears[index];
  const LinearKernelNames names = kernel_names(linear.role);
  if (recipe_.adapted[index]) adapter_backward(linear, input);
  if (input == InputGradient::needed) {
    if (recipe_.quantised()) run_backward(dequantise(linear));
    run_backward(pricer_.gemm(names.input_gradient, recipe_.tokens, linear.in, linear.out, recipe_.compute));
    if (casts_stream(linear))
      run_backward(elementwise("input cast backward", stream_cast, static_cast<double>(linear.in)));
  }
  if (!recipe_.base_trains()) return;
  run_backward(pricer_.gemm(names.weight_gradient, linear.out, linear.in, recipe_.tokens, recipe_.compute));
  if (linear.bias)  // sums the output's gradient over tokens
    run_backward(elementwise("bias gradient", {2.0, 1}, static_cast<double>(linear.out)));
}

void LayerWriter::adapter_backward(const Linear& linear, InputGradient input) {
  const double base = recipe_.activation_bytes;
  const double own = recipe_.adapter_bytes;
  const double computed = recipe_.adapter_compute_bytes;
  const double in = static_cast<double>(linear.in);
  const double out = static_cast<double>(linear.out);
  const auto gemm = [this](const char* name, std::int64_t m, std::int64_t n, std::int64_t k) {
    run_backward(pricer_.gemm(name, m, n, k, recipe_.adapter_compute, KernelKind::adapter));
  };
  const bool to_input = input == InputGradient::needed;
  if (computed > base) {  // the gradient is cast to the wider format, for the base back again, and scaled
    run_backward(adapter_elementwise("lora scale backward", (2.0 * base + 4.0 * computed) * out, 3));
  } else {
    run_backward(adapter_elementwise("lora scale backward", (base + computed) * out));
  }
  gemm("lora_B wgrad", linear.out, recipe_.rank, recipe_.tokens);
  gemm("lora_B dgrad", recipe_.tokens, recipe_.rank, linear.out);
  gemm("lora_A wgrad", recipe_.rank, linear.in, recipe_.tokens);
  if (to_input) gemm("lora_A dgrad", recipe_.tokens, linear.in, recipe_.rank);
  if (recipe_.adapter_autocasts())
    run_backward(autocast("lora autocast backward", to_input ? (own + computed) * in : 0.0, linear));
  if (!to_input) return;
  if (recipe_.dropout > 0.0) run_backward(adapter_elementwise("lora dropout backward", (2.0 * own + 1.0) * in));
  // The cast back, added to the gradient that the base GEMM made.
  run_backward(adapter_elementwise("lora input gradient", (own + 2.0 * base) * in));
}

/// Whether the early stop of checkpointing leaves this step out (semantics C8): it comes after the last tensor that
/// backward needs. That is the input of the last norm if there is one, else A's output for an adapted down_proj (so
/// that only B is left out), else down_proj's input.
bool after_early_stop(const Recipe& recipe, const Step& step) {
  if (!recipe.early_stop || recipe.shape.norms_per_layer > 2) return false;
  if (recipe.linears[step.linear].role != LinearRole::down) return false;
  switch (step.part) {
    case Part::base: return !recipe.adapted[step.linear];
    case Part::adapter_b: return true;
    default: return false;
  }
}

bool kept(const Recipe& recipe, const Step& step) {
  if (recipe.checkpointing != Checkpointing::selective) return false;
  return step.part == Part::attention || (step.part == Part::base && kept_by_selective(step.linear));
}

std::vector<Kernel> recomputed(const Recipe& recipe, const std::vector<Step>& forward) {
  std::vector<Kernel> kernels;
  if (recipe.checkpointing == Checkpointing::none) return kernels;
  // The last step, the residual addition, saves nothing, but reentrant checkpointing runs it all the same.
  const std::size_t count = forward.size() - (recipe.early_stop ? 1 : 0);
  for (std::size_t i = 0; i < count; ++i)
    if (!after_early_stop(recipe, forward[i]) && !kept(recipe, forward[i])) kernels.push_back(forward[i].kernel);
  return kernels;
}

}  // namespace

bool kept_by_selective(std::size_t linear) {
  return linear % 2 == 0;
}

LayerVariant layer_variant(const Recipe& recipe, std::int64_t layer) {
  const TransformerShape& shape = recipe.shape;
  const bool global = shape.global_every > 0 && (layer + 1) % shape.global_every == 0;
  const bool windowed = shape.sliding_window > 0 && shape.sliding_window < recipe.sequence && !global;
  return {.input = needed_if(layer > 0 || first_layer_input_needs_gradient(recipe)),
          .window = windowed ? shape.sliding_window : 0,
          .checkpointed = layer % recipe.checkpoint_every == 0};
}

Recipe recipe_for(const Recipe& recipe, const LayerVariant& variant) {
  Recipe own = recipe;
  if (!variant.checkpointed) own.checkpointing = Checkpointing::none;
  return own;
}

LayerKernels layer_kernels(const Recipe& of_model, const KernelPricer& pricer, const LayerVariant& variant) {
  const Recipe recipe = recipe_for(of_model, variant);
  LayerWriter writer(recipe, pricer, variant.window);
  const std::vector<Step> steps = writer.forward();
  LayerKernels kernels;
  for (const Step& step : steps) kernels.forward.push_back(step.kernel);
  kernels.recompute = recomputed(recipe, steps);
  kernels.backward = writer.backward(gradient_flow(recipe, variant.input));
  for (std::vector<Kernel>* list : {&kernels.forward, &kernels.recompute, &kernels.backward})
    for (Kernel& kernel : *list) kernel.dispatches = dispatches_of(recipe.elementwise, kernel.dispatches);
  return kernels;
}

}  // namespace takt
