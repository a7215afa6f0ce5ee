#include "workload/workload.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/contract.hpp"
#include "workload/activations.hpp"
#include "workload/checks.hpp"
#include "workload/ends.hpp"
#include "workload/layer.hpp"
#include "workload/gemm_model.hpp"
#include "workload/optimizer.hpp"
#include "workload/parameters.hpp"
#include "workload/precision.hpp"
#include "workload/recipe.hpp"

namespace takt {
namespace {

BlockKind embedding_block(const Recipe& recipe, const KernelPricer& pricer) {
  EndKernels kernels = embedding_kernels(recipe, pricer);
  const bool trains = recipe.base_trains();
  return {.name = "embedding",
          .parameters = embedding_parameters(recipe),
          .forward = std::move(kernels.forward),
          .recompute = {},
          .backward = std::move(kernels.backward),
          .memory = embedding_memory(recipe),
          .inputs_need_gradient = false,  // token ids
          .has_backward = trains};
}

BlockKind layer_block(const Recipe& recipe, const KernelPricer& pricer, const LayerVariant& variant) {
  LayerKernels kernels = layer_kernels(recipe, pricer, variant);
  return {.name = "layer",
          .parameters = layer_parameters(recipe),
          .forward = std::move(kernels.forward),
          .recompute = std::move(kernels.recompute),
          .backward = std::move(kernels.backward),
          .memory = layer_memory(recipe_for(recipe, variant)),
          .inputs_need_gradient = variant.input == InputGradient::needed,
          .has_backward = true};
}

BlockKind head_block(const Recipe& recipe, const KernelPricer& pricer) {
  EndKernels kernels = head_kernels(recipe, pricer);
  return {.name = "head",
          .parameters = head_parameters(recipe),
          .forward = std::move(kernels.forward),
          .recompute = {},
          .backward = std::move(kernels.backward),
          .memory = head_memory(recipe),
          .inputs_need_gradient = true,
          .has_backward = true};
}

/// Operations of a decoder layer's attention that the model needs forward, whichever kernel runs: the causal ones (C3).
double needed_attention(const Recipe& recipe, const KernelPricer& pricer, const LayerVariant& variant) {
  TransformerShape shape = recipe.shape;
  shape.sliding_window = variant.window;
  return pricer
      .attention({recipe.batch, recipe.documents}, shape, AttentionKernel::flash, AttentionPass::forward,
                 recipe.activation)
      .flops.count();
}

double flops_of(const std::vector<Kernel>& kernels) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) sum += kernel.flops.count();
  return sum;
}

double needed_flops(const std::vector<Kernel>& kernels, double attention) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) sum += kernel.kind == KernelKind::attention ? attention : kernel.flops.count();
  return sum;
}

/// Appends blocks and counts their operations. `attention`: what one attention forward needs; backward needs twice
/// that, where a kernel that computes its scores again does 2.5 times (C4).
class BlockList {
 public:
  explicit BlockList(Workload& workload) : workload_(workload) {}

  std::uint32_t kind(BlockKind kind, double attention) {
    model_.push_back(needed_flops(kind.forward, attention) + needed_flops(kind.backward, 2.0 * attention));
    hardware_.push_back(flops_of(kind.forward) + flops_of(kind.recompute) + flops_of(kind.backward));
    workload_.kinds.push_back(std::move(kind));
    return static_cast<std::uint32_t>(workload_.kinds.size() - 1);
  }

  void block(std::uint32_t kind) {
    workload_.blocks.push_back(kind);
    workload_.model_flops += Flops(model_[kind]);
    workload_.hardware_flops += Flops(hardware_[kind]);
  }

 private:
  Workload& workload_;
  std::vector<double> model_;     ///< by kind
  std::vector<double> hardware_;  ///< by kind
};

/// Most models have one kind of decoder layer. The first layer may differ (C7), and so do layers with a sliding window.
void add_blocks(Workload& workload, const Recipe& recipe, const KernelPricer& pricer) {
  BlockList list(workload);
  list.block(list.kind(embedding_block(recipe, pricer), 0.0));
  std::vector<std::pair<LayerVariant, std::uint32_t>> kinds;
  for (std::int64_t layer = 0; layer < recipe.shape.layers; ++layer) {
    const LayerVariant variant = layer_variant(recipe, layer);
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == variant; });
    if (known == kinds.end()) {
      const double attention = needed_attention(recipe, pricer, variant);
      kinds.emplace_back(variant, list.kind(layer_block(recipe, pricer, variant), attention));
      known = kinds.end() - 1;
    }
    list.block(known->second);
  }
  list.block(list.kind(head_block(recipe, pricer), 0.0));
}

std::int64_t trainable_elements(const Workload& workload) {
  std::int64_t count = 0;
  for (const std::uint32_t id : workload.blocks)
    for (const Parameter& parameter : workload.kinds[id].parameters)
      if (parameter.trainable) count += parameter.elements();
  return count;
}

std::string provenance_of(const Scenario& scenario, const KernelPricer& pricer) {
  const Precision precision = scenario.finetune.precision;
  if (!is_narrow(precision)) return pricer.provenance();
  const GemmCalibration* calibration = gemm_calibration(pricer.card(), precision);
  const bool fitted = calibration != nullptr && scenario.assumptions.compute == ComputeBasis::measured;
  if (!fitted) return fmt::format("{}; {} not calibrated", pricer.provenance(), name_of(precision));
  if (calibration->like.empty()) return fmt::format("{}; {} products likewise", pricer.provenance(), name_of(precision));
  return fmt::format("{}; {} products scaled from those of {}, not measured", pricer.provenance(), name_of(precision),
                     calibration->like);
}

/// What the optimizer works on is FP32, a master copy or adapters that are FP32 themselves, unless a full fine-tune is
/// in pure bf16.
void add_optimizer(Workload& workload, const Scenario& scenario) {
  const FinetuneSettings& finetune = scenario.finetune;
  const bool pure = finetune.method == Method::full && finetune.master_precision == Precision::bf16;
  const MasterFormat master = pure ? MasterFormat::bf16 : MasterFormat::fp32;
  const double element = operand_bytes(pure ? Precision::bf16 : Precision::fp32);
  const OptimizerCost cost = optimizer_cost(finetune.optimizer, finetune.optimizer_form, master);
  workload.optimizer_traffic = cost.traffic;
  workload.optimizer_bytes = cost.state_bytes;
  workload.optimizer_temporary = cost.temporary_bytes;
  workload.stored_bytes_trainable = element;
  workload.gradient_state_bytes = element;
  workload.reduce_bytes = operand_bytes(reduce_precision(finetune));
  workload.states = model_states(workload, cost, master);
}

/// The rotary embedding's inverse frequencies, the only buffer of these models: FP32, one for each pair of a head.
Bytes buffer_bytes(const TransformerShape& shape) {
  constexpr std::int64_t fp32 = 4;
  return shape.learned_positions > 0 ? Bytes{} : Bytes(shape.head_dim / 2 * fp32);
}

Workload transformer_workload(const ModelSpec& model, const Scenario& scenario, const KernelPricer& pricer) {
  const Recipe recipe = make_recipe(*model.transformer, scenario);
  Workload workload;
  workload.model = model.name;
  add_blocks(workload, recipe, pricer);
  workload.tokens = recipe.tokens;
  workload.parameters = parameter_count(recipe.shape);
  workload.trainable_parameters = trainable_elements(workload);
  workload.buffers = buffer_bytes(recipe.shape);
  add_optimizer(workload, scenario);
  return workload;
}

/// Equal layers of one opaque 16-bit tensor and two kernels that touch no memory; no optimizer. The kernels take the
/// given times whatever assumptions.compute says: they are not priced.
Workload synthetic_workload(const ModelSpec& model, const Scenario& scenario) {
  const SyntheticShape& shape = *model.synthetic;
  constexpr std::int64_t element = 2;
  const auto kernel = [](const char* name, Duration time) {
    return Kernel{.kind = KernelKind::synthetic,
                  .time = time,
                  .memory = Bytes{},
                  .flops = Flops{},
                  .name = name};
  };
  const Parameter parameter{.name = "weights", .rows = shape.layer_bytes.count() / element};
  Workload workload;
  workload.model = model.name;
  workload.kinds.push_back({.name = "layer",
                            .parameters = {parameter},
                            .forward = {kernel("layer", shape.forward)},
                            .recompute = {},
                            .backward = {kernel("layer backward", shape.backward)},
                            .memory = {},
                            .inputs_need_gradient = true,
                            .has_backward = true});
  workload.blocks.assign(static_cast<std::size_t>(shape.layers), 0);
  workload.tokens = scenario.batch.micro_batch * scenario.batch.sequence_length;
  workload.parameters = shape.layers * parameter.elements();
  workload.trainable_parameters = workload.parameters;
  add_optimizer(workload, scenario);
  workload.optimizer_traffic = 0.0;
  if (!scenario.finetune.reduce_precision) workload.reduce_bytes = static_cast<double>(element);
  return workload;
}

}  // namespace

Result<Workload> build_workload(const ModelSpec& model, const Scenario& scenario, const KernelPricer& pricer) {
  expects(model.transformer.has_value() != model.synthetic.has_value(), "a model is a transformer or synthetic");
  Diagnostics diagnostics = check_workload(model, scenario, pricer.card());
  if (has_error(diagnostics)) return diagnostics;
  Workload workload = model.synthetic ? synthetic_workload(model, scenario)
                                      : transformer_workload(model, scenario, pricer);
  workload.peak = pricer.card().dense_peak.at(scenario.finetune.precision);
  workload.provenance = model.synthetic ? "layer times as given" : provenance_of(scenario, pricer);
  return Result<Workload>(std::move(workload), std::move(diagnostics));
}

}  // namespace takt
