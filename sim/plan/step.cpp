#include "plan/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/fsdp_unit.hpp"

namespace takt {
namespace {

/// Passes of AdamW foreach and the bytes that each moves per fp32 element (semantics O2); they add up to 80.
struct ForeachPass {
  const char* name;
  double bytes;
};
constexpr std::array<ForeachPass, 8> foreach_passes = {{{"weight decay", 8},
                                                        {"lerp", 12},
                                                        {"mul", 8},
                                                        {"addcmul", 12},
                                                        {"sqrt", 8},
                                                        {"div", 8},
                                                        {"add", 8},
                                                        {"addcdiv", 16}}};
constexpr double foreach_bytes = 80.0;

/// Launches of a kernel over a list of tensors: a launch takes 320 blocks of 65,536 elements and the addresses of at
/// least 30 tensors (PyTorch, MultiTensorApply.cuh). Sharded tensors are counted as the whole ones they are parts of.
std::uint16_t multi_tensor_launches(std::int64_t elements, std::int64_t tensors) {
  constexpr std::int64_t elements_a_launch = 320 * 65536;
  constexpr std::int64_t tensors_a_launch = 30;
  const std::int64_t launches = std::max((elements + elements_a_launch - 1) / elements_a_launch,
                                         (tensors + tensors_a_launch - 1) / tensors_a_launch);
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(launches, 1, 65535));
}

std::string label_of(const BlockKind& kind, const char* pass) {
  return is_layer(kind) ? std::string(pass) : kind.name + ' ' + pass;
}

std::int64_t trainable_tensors(const Workload& workload) {
  std::int64_t count = 0;
  for (const std::uint32_t kind : workload.blocks) {
    const std::vector<Parameter>& parameters = workload.kinds[kind].parameters;
    count += std::count_if(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.trainable; });
  }
  return count;
}

/// bitsandbytes launches one kernel a tensor (semantics O3).
bool is_8bit(Optimizer optimizer) {
  return optimizer == Optimizer::adamw_8bit || optimizer == Optimizer::paged_adamw_8bit;
}

}  // namespace

BuilderOptions builder_options(const Scenario& scenario) {
  const Assumptions& assumptions = scenario.assumptions;
  return {.kernel_launch = assumptions.kernel_launch,
          .eager_op = assumptions.eager_op,
          .collective_launch = assumptions.collective_launch,
          .overlap = assumptions.overlap,
          .join_kernels = !assumptions.kernel_by_kernel};
}

Bytes stored_size(std::int64_t elements, double bytes_each) {
  return Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * bytes_each)));
}

BlockSizes block_sizes(const Workload& workload, const BlockKind& kind) {
  BlockSizes sizes;
  for (const Parameter& parameter : kind.parameters) {
    const std::int64_t elements = parameter.elements();
    if (!parameter.trainable) {
      sizes.frozen_weights += stored_size(elements, parameter.bytes);
      continue;
    }
    sizes.trainable_elements += elements;
    sizes.trainable_weights += stored_size(elements, workload.stored_bytes_trainable);
    sizes.gradients += stored_size(elements, workload.gradient_state_bytes);
    sizes.optimizer += stored_size(elements, workload.optimizer_bytes);
  }
  return sizes;
}

BlockSizes model_sizes(const Workload& workload) {
  BlockSizes sum;
  std::vector<BlockSizes> of_kind;
  for (const BlockKind& kind : workload.kinds) of_kind.push_back(block_sizes(workload, kind));
  for (const std::uint32_t kind : workload.blocks) {
    const BlockSizes& sizes = of_kind[kind];
    sum.trainable_elements += sizes.trainable_elements;
    sum.frozen_weights += sizes.frozen_weights;
    sum.trainable_weights += sizes.trainable_weights;
    sum.gradients += sizes.gradients;
    sum.optimizer += sizes.optimizer;
  }
  return sum;
}

BlockWriter::BlockWriter(ProgramBuilder& builder, const Workload& workload, StreamId compute)
    : builder_(builder), workload_(workload), compute_(compute) {
  for (const BlockKind& kind : workload.kinds) {
    labels_.push_back({label_of(kind, "forward"), label_of(kind, "recompute"), label_of(kind, "backward")});
  }
  std::uint32_t layers = 0;
  for (const std::uint32_t kind : workload.blocks) {
    numbers_.push_back(is_layer(workload.kinds[kind]) ? layers++ : no_unit);
  }
}

void BlockWriter::at(Phase phase, std::size_t block) {
  builder_.phase(phase);
  builder_.unit(numbers_[block]);
}

void BlockWriter::forward(std::size_t block) {
  const BlockKind& kind = this->kind(block);
  if (kind.forward.empty()) return;
  begin_forward(block);
  forward_kernels(block, kind.forward);
  end_forward(block);
}

void BlockWriter::begin_forward(std::size_t block) {
  const BlockKind& kind = this->kind(block);
  at(Phase::forward, block);
  if (kind.has_backward) builder_.allocate(compute_, MemoryCategory::activations, kind.memory.kept);
  builder_.allocate(compute_, MemoryCategory::temporary, kind.memory.forward_transient);
}

void BlockWriter::forward_kernels(std::size_t block, std::span<const Kernel> kernels) {
  at(Phase::forward, block);
  builder_.kernels(compute_, kernels, labels(block).forward);
}

void BlockWriter::end_forward(std::size_t block) {
  builder_.release(compute_, MemoryCategory::temporary, kind(block).memory.forward_transient);
}

void BlockWriter::backward(std::size_t block) {
  if (!kind(block).has_backward) return;
  begin_backward(block);
  backward_kernels(block, kind(block).backward);
  end_backward(block);
}

void BlockWriter::begin_backward(std::size_t block) {
  begin_recompute(block);
  recompute_kernels(block, kind(block).recompute);
  end_recompute(block);
}

void BlockWriter::begin_recompute(std::size_t block) {
  at(Phase::recompute, block);
  builder_.allocate(compute_, MemoryCategory::activations, kind(block).memory.recomputed);
}

void BlockWriter::recompute_kernels(std::size_t block, std::span<const Kernel> kernels) {
  at(Phase::recompute, block);
  builder_.kernels(compute_, kernels, labels(block).recompute);
}

void BlockWriter::end_recompute(std::size_t block) {
  at(Phase::backward, block);
  builder_.allocate(compute_, MemoryCategory::temporary, kind(block).memory.backward_transient);
}

void BlockWriter::backward_kernels(std::size_t block, std::span<const Kernel> kernels) {
  at(Phase::backward, block);
  builder_.kernels(compute_, kernels, labels(block).backward);
}

void BlockWriter::end_backward(std::size_t block) {
  const BlockMemory& memory = kind(block).memory;
  builder_.release(compute_, MemoryCategory::temporary, memory.backward_transient);
  builder_.release(compute_, MemoryCategory::activations, memory.recomputed + memory.kept);
}

Bytes BlockWriter::end_backward_holding(std::size_t block) {
  end_backward(block);
  const bool last_layer = block + 1 == workload_.blocks.size() || numbers_[block + 1] == no_unit;
  const Bytes held = kind(block).memory.input * (last_layer ? 1 : 2);
  builder_.allocate(compute_, MemoryCategory::activations, held);
  return held;
}

Kernel copy_kernel(const KernelPricer& pricer, const char* name, Bytes read, Bytes written) {
  return pricer.memory(name, read + written, KernelKind::copy);
}

std::vector<Kernel> accumulate_kernels(const KernelPricer& pricer, const BlockKind& kind, std::int64_t ranks) {
  std::vector<Kernel> kernels;
  for (const Parameter& parameter : kind.parameters) {
    if (!parameter.trainable) continue;
    const Bytes shard = stored_size(padded_shard_elements(parameter, ranks), parameter.gradient_bytes);
    kernels.push_back(pricer.memory("accumulate gradient", shard * 3));
  }
  return kernels;
}

void write_clipping(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                    std::optional<NormReduction> reduction) {
  const bool has_optimizer = input.workload.optimizer_traffic > 0.0;
  if (!input.scenario.finetune.gradient_clipping || elements == 0 || !has_optimizer) return;
  const Bytes gradients = stored_size(elements, input.workload.gradient_state_bytes);
  const std::uint16_t launches = multi_tensor_launches(elements, trainable_tensors(input.workload));
  const auto kernel = [&](const char* name, Bytes traffic, std::uint16_t count, std::uint16_t ops) {
    Kernel priced = input.pricer.memory(name, traffic, KernelKind::optimizer);
    priced.launches = count;
    priced.dispatches = ops;
    builder.kernel(compute, priced, "gradient clipping");
  };
  builder.phase(Phase::optimizer);
  builder.unit(no_unit);
  kernel("gradient norm", gradients, launches, 1);
  kernel("norm of norms", Bytes(0), 5, 5);  // stack, norm, add epsilon, divide, clamp
  if (reduction) {
    builder.phase(Phase::communication);
    const CollectiveCall call{CollectiveKind::all_reduce, Bytes(4)};
    builder.collective(compute, reduction->comm, call, "all-reduce of the norm");
    builder.phase(Phase::optimizer);
  }
  kernel("scale gradients", gradients * 2, launches, 1);
  builder.record(compute);  // the optimizer is an op of its own
}

namespace {

void wait_for(ProgramBuilder& builder, StreamId compute) {
  builder.phase(Phase::other);
  builder.unit(no_unit);
  builder.host_wait(builder.record(compute));
}

}  // namespace

void write_loss_read_back(ProgramBuilder& builder, StreamId compute, const StepInput& input) {
  if (input.scenario.finetune.loss_read_back == LossReadBack::micro_step) wait_for(builder, compute);
}

void write_optimizer(ProgramBuilder& builder, StreamId compute, const StepInput& input, std::int64_t elements,
                     Bytes gradients) {
  if (elements == 0) return;
  const FinetuneSettings& finetune = input.scenario.finetune;
  const double traffic = static_cast<double>(elements) * input.workload.optimizer_traffic;
  const std::int64_t tensors = trainable_tensors(input.workload);
  const std::uint16_t launches = multi_tensor_launches(elements, tensors);
  const auto kernel = [&](const char* name, double share, std::uint16_t count) {
    Kernel priced = input.pricer.memory(name, Bytes(std::llround(traffic * share)), KernelKind::optimizer);
    priced.launches = count;
    builder.kernel(compute, priced, "optimizer");
  };
  builder.phase(Phase::optimizer);
  builder.unit(no_unit);
  const bool in_passes = finetune.optimizer == Optimizer::adamw && finetune.optimizer_form == OptimizerForm::foreach_;
  const Bytes temporary = stored_size(elements, input.workload.optimizer_temporary);
  builder.allocate(compute, MemoryCategory::temporary, temporary);
  if (in_passes) {
    for (const ForeachPass& pass : foreach_passes) kernel(pass.name, pass.bytes / foreach_bytes, launches);
  } else if (is_8bit(finetune.optimizer)) {
    for (std::int64_t i = 0; i < tensors; ++i) kernel("adamw 8-bit", 1.0 / static_cast<double>(tensors), 1);
  } else {
    kernel("optimizer", 1.0, launches);
  }
  builder.release(compute, MemoryCategory::temporary, temporary);
  builder.release(compute, MemoryCategory::gradients, gradients);
  if (finetune.loss_read_back == LossReadBack::step) wait_for(builder, compute);
}

}  // namespace takt
