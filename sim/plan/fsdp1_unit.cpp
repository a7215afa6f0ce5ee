#include "plan/fsdp1_unit.hpp"

#include "base/contract.hpp"
#include "plan/step.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace takt {
namespace {

/// 4-bit weights pack two into a byte; what is stored beyond that are scales (C20).
constexpr double packed_4bit_bytes = 0.5;
bool is_quantised(const Parameter& parameter) {
  return parameter.bytes < 1.0;
}

FlatLayout layout_of(const Fsdp1Settings& settings) {
  return settings.use_orig_params ? FlatLayout::aligned : FlatLayout::packed;
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool is_adapter(const Parameter& parameter) {
  return parameter.name.find(".lora_") != std::string::npos;
}

/// Which matrix of an adapter a kernel belongs to: 'A', 'B', or 0 for the block's own kernels.
char adapter_matrix(const Kernel& kernel) {
  constexpr std::string_view a = "lora_A", b = "lora_B";
  const std::string_view name = kernel.name;
  if (kernel.kind != KernelKind::adapter) return 0;
  if (name.substr(0, a.size()) == a) return 'A';
  return name.substr(0, b.size()) == b ? 'B' : char{0};
}

enum class Direction { forward, backward };

/// Runs of kernels by unit. Forward, adapters come A before B, the first adapter first; backward the other way round.
std::vector<PassPart> pass_parts(std::span<const Kernel> kernels, std::size_t adapters, Direction direction) {
  std::vector<PassPart> parts;
  std::size_t pair = direction == Direction::forward ? 0 : adapters / 2;
  const char first_matrix = direction == Direction::forward ? 'A' : 'B';
  char before = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const char matrix = adapters == 0 ? char{0} : adapter_matrix(kernels[i]);
    const bool begins_pair = matrix == first_matrix && before != first_matrix;
    if (begins_pair && direction == Direction::backward) --pair;
    if (begins_pair && direction == Direction::forward) ++pair;
    if (i == 0 || matrix != before) parts.push_back({i, 0, std::nullopt});
    ++parts.back().count;
    if (matrix != 0) {
      const std::size_t number = direction == Direction::forward ? pair - 1 : pair;
      parts.back().adapter = 2 * number + (matrix == 'B' ? 1 : 0);
      expects(*parts.back().adapter < adapters, "each adapter matrix has a unit");
    }
    before = matrix;
  }
  return parts;
}

}  // namespace

FlatElements flat_elements(std::span<const std::int64_t> tensors, double element_bytes, std::int64_t ranks,
                           FlatLayout layout) {
  constexpr double alignment_bytes = 16.0;
  FlatElements flat;
  const auto alignment = static_cast<std::int64_t>(alignment_bytes / element_bytes);
  for (const std::int64_t elements : tensors) {
    if (layout == FlatLayout::aligned) flat.total = round_up(flat.total, alignment);
    flat.total += elements;
  }
  if (layout == FlatLayout::aligned) flat.total = round_up(flat.total, ranks);
  flat.shard = (flat.total + ranks - 1) / ranks;
  return flat;
}

ReductionFactors reduction_factors(std::int64_t ranks) {
  std::int64_t before = 1;
  while (ranks % before == 0 && ranks / before > before) before *= 2;
  return {static_cast<double>(before), static_cast<double>(ranks) / static_cast<double>(before)};
}

FlatSizes& FlatSizes::operator+=(const FlatSizes& other) {
  trains = trains || other.trains;
  gathered += other.gathered;
  gathered_shard += other.gathered_shard;
  cast_read += other.cast_read;
  produced += other.produced;
  gradient += other.gradient;
  reduced += other.reduced;
  reduced_shard += other.reduced_shard;
  trainable_shard_elements += other.trainable_shard_elements;
  weight_shard += other.weight_shard;
  gradient_shard += other.gradient_shard;
  optimizer_shard += other.optimizer_shard;
  return *this;
}

FlatSizes flat_sizes(const Workload& workload, std::span<const Parameter> parameters, std::int64_t ranks,
                     FlatLayout layout) {
  FlatSizes sizes;
  if (parameters.empty()) return sizes;
  double element = 2.0;  // of the container, where all weights are 4-bit
  for (const Parameter& parameter : parameters) {
    if (!is_quantised(parameter)) element = parameter.bytes;
  }
  std::vector<std::int64_t> tensors;
  std::int64_t trainable = 0;
  bool all_train = true;
  double gradient_bytes = 0.0;
  for (const Parameter& parameter : parameters) {
    const double stored = is_quantised(parameter) ? packed_4bit_bytes : parameter.bytes;
    tensors.push_back(
        static_cast<std::int64_t>(std::ceil(static_cast<double>(parameter.elements()) * stored / element)));
    if (is_quantised(parameter)) sizes.weight_shard += stored_size(parameter.elements(), parameter.bytes - stored);
    all_train = all_train && parameter.trainable;
    if (!parameter.trainable) continue;
    trainable += parameter.elements();
    gradient_bytes = parameter.gradient_bytes;
    sizes.produced += stored_size(parameter.elements(), parameter.gradient_bytes);
  }
  const FlatElements flat = flat_elements(tensors, element, ranks, layout);
  sizes.gathered_shard = stored_size(flat.shard, element);
  sizes.gathered = sizes.gathered_shard * ranks;
  // Frozen weights have no master copy, and one flat parameter has one format (F2).
  const double master = all_train ? workload.stored_bytes_trainable : element;
  sizes.weight_shard += stored_size(flat.shard, master);
  if (master != element) sizes.cast_read = stored_size(flat.shard, master);
  sizes.trains = trainable > 0;
  if (!sizes.trains) return sizes;
  const double reduce = workload.reduce_bytes;
  sizes.gradient = stored_size(flat.total, gradient_bytes);
  sizes.reduced_shard = stored_size(flat.shard, reduce);
  sizes.reduced = sizes.reduced_shard * ranks;
  sizes.casts_gradient = reduce != gradient_bytes;
  sizes.pads_gradient = flat.padded_at_run_time(ranks);
  sizes.casts_reduced = reduce != master;
  sizes.gradient_shard = stored_size(flat.shard, master);
  sizes.trainable_shard_elements = (trainable + ranks - 1) / ranks;
  sizes.optimizer_shard = stored_size(sizes.trainable_shard_elements, workload.optimizer_bytes);
  return sizes;
}

FlatBlock flat_block(const Workload& workload, const BlockKind& kind, std::int64_t ranks,
                     const Fsdp1Settings& settings) {
  FlatBlock block;
  std::vector<Parameter> own, adapters;
  for (const Parameter& parameter : kind.parameters) {
    const bool apart = settings.wrap_policy == WrapPolicy::peft && is_adapter(parameter);
    (apart ? adapters : own).push_back(parameter);
  }
  std::stable_sort(adapters.begin(), adapters.end(),
                   [](const Parameter& a, const Parameter& b) { return a.used < b.used; });
  block.own = flat_sizes(workload, own, ranks, layout_of(settings));
  for (const Parameter& adapter : adapters) {
    block.adapters.push_back(flat_sizes(workload, std::span(&adapter, 1), ranks, layout_of(settings)));
  }
  const std::size_t count = block.adapters.size();
  block.forward = pass_parts(kind.forward, count, Direction::forward);
  block.recompute = pass_parts(kind.recompute, count, Direction::forward);
  block.backward = pass_parts(kind.backward, count, Direction::backward);
  return block;
}

FlatSizes flat_root(const Workload& workload, std::int64_t ranks, const Fsdp1Settings& settings) {
  std::vector<Parameter> parameters;
  for (const std::uint32_t kind : workload.blocks) {
    if (is_layer(workload.kinds[kind])) continue;
    const std::vector<Parameter>& own = workload.kinds[kind].parameters;
    parameters.insert(parameters.end(), own.begin(), own.end());
  }
  return flat_sizes(workload, parameters, ranks, layout_of(settings));
}

}  // namespace takt
