#include "workload/workload.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/contract.hpp"
#include "workload/activations.hpp"
#include "workload/checks.hpp"
#include "workload/ends.hpp"
#include "workload/layer.hpp"
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

BlockKind layer_block(const Recipe& recipe, const KernelPricer& pricer, InputGradient input) {
  LayerKernels kernels = layer_kernels(recipe, pricer, input);
  return {.name = "layer",
          .parameters = layer_parameters(recipe),
          .forward = std::move(kernels.forward),
          .recompute = std::move(kernels.recompute),
          .backward = std::move(kernels.backward),
          .memory = layer_memory(recipe),
          .inputs_need_gradient = input == InputGradient::needed,
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

/// The decoder layers are one kind, or two where the first layer's input needs no gradient (C7).
void add_blocks(Workload& workload, const Recipe& recipe, const KernelPricer& pricer) {
  const auto add = [&workload](BlockKind kind, std::int64_t count) {
    const auto id = static_cast<std::uint32_t>(workload.kinds.size());
    workload.kinds.push_back(std::move(kind));
    workload.blocks.insert(workload.blocks.end(), static_cast<std::size_t>(count), id);
  };
  const std::int64_t layers = recipe.shape.layers;
  add(embedding_block(recipe, pricer), 1);
  if (first_layer_input_needs_gradient(recipe)) {
    add(layer_block(recipe, pricer, InputGradient::needed), layers);
  } else {
    add(layer_block(recipe, pricer, InputGradient::not_needed), 1);
    if (layers > 1) add(layer_block(recipe, pricer, InputGradient::needed), layers - 1);
  }
  add(head_block(recipe, pricer), 1);
}

double flops_of(const std::vector<Kernel>& kernels) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) sum += kernel.flops.count();
  return sum;
}

/// Operations that the model needs, whichever attention kernel runs: causal attention, and 2 times that backward where
/// a kernel that recomputes its scores does 2.5 (C4).
double needed_flops(const std::vector<Kernel>& kernels, double attention) {
  double sum = 0.0;
  for (const Kernel& kernel : kernels) sum += kernel.kind == KernelKind::attention ? attention : kernel.flops.count();
  return sum;
}

void count_flops(Workload& workload, const Recipe& recipe) {
  const double pairs =
      static_cast<double>(recipe.batch) * static_cast<double>(recipe.sequence) * static_cast<double>(recipe.sequence);
  const double attention = 2.0 * pairs * static_cast<double>(query_width(recipe.shape));  // C3
  double model = 0.0;
  double hardware = 0.0;
  for (const std::uint32_t id : workload.blocks) {
    const BlockKind& kind = workload.kinds[id];
    model += needed_flops(kind.forward, attention) + needed_flops(kind.backward, 2.0 * attention);
    hardware += flops_of(kind.forward) + flops_of(kind.recompute) + flops_of(kind.backward);
  }
  workload.model_flops = Flops(model);
  workload.hardware_flops = Flops(hardware);
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
  if (precision != Precision::fp8 && precision != Precision::nvfp4) return pricer.provenance();
  return fmt::format("{}; {} not calibrated", pricer.provenance(), name_of(precision));
}

/// What the optimizer works on is FP32 in every recipe here: a master copy, or adapters that are FP32 themselves.
void add_optimizer(Workload& workload, const Scenario& scenario) {
  constexpr double fp32 = 4.0;
  const FinetuneSettings& finetune = scenario.finetune;
  const OptimizerCost cost = optimizer_cost(finetune.optimizer, finetune.optimizer_form, MasterFormat::fp32);
  workload.optimizer_traffic = cost.traffic;
  workload.optimizer_bytes = cost.state_bytes;
  workload.optimizer_temporary = cost.temporary_bytes;
  workload.stored_bytes_trainable = fp32;
  workload.gradient_state_bytes = fp32;
  // Sharded strategies reduce a full fine-tune's gradients in FP32; adapters are not cast.
  workload.reduce_bytes =
      finetune.method == Method::full ? fp32 : operand_bytes(finetune.lora.adapter_precision);
  workload.states = model_states(workload, cost);
}

Workload transformer_workload(const ModelSpec& model, const Scenario& scenario, const KernelPricer& pricer) {
  const Recipe recipe = make_recipe(*model.transformer, scenario);
  Workload workload;
  workload.model = model.name;
  add_blocks(workload, recipe, pricer);
  workload.tokens = recipe.tokens;
  workload.parameters = parameter_count(recipe.shape);
  workload.trainable_parameters = trainable_elements(workload);
  count_flops(workload, recipe);
  add_optimizer(workload, scenario);
  return workload;
}

/// Equal layers of one opaque 16-bit tensor and two kernels of given time that touch no memory; no optimizer.
Workload synthetic_workload(const ModelSpec& model, const Scenario& scenario) {
  const SyntheticShape& shape = *model.synthetic;
  constexpr std::int64_t element = 2;
  const bool free = scenario.assumptions.compute == ComputeBasis::free;
  const auto kernel = [free](const char* name, Duration time) {
    return Kernel{.kind = KernelKind::synthetic,
                  .time = free ? Duration{} : time,
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
  workload.reduce_bytes = static_cast<double>(element);
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
