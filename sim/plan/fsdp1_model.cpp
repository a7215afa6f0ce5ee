#include "plan/fsdp1_model.hpp"

namespace takt {
namespace {

FlatKernels flat_kernels(const KernelPricer& pricer, const FlatSizes& sizes) {
  const auto copy = [&](const char* name, Bytes read, Bytes written) {
    return copy_kernel(pricer, name, read, written);
  };
  return {.cast_shard = copy("cast shard", sizes.cast_read, sizes.gathered_shard),
          .to_flat = copy("gradients to flat", sizes.gradient, sizes.gradient),
          .accumulate_kept = pricer.memory("accumulate gradient", sizes.gradient * 3),
          .cast_gradient = copy("cast gradient", sizes.gradient, sizes.reduced),
          .pad = copy("pad gradient", sizes.reduced, sizes.reduced),
          .divide_before = copy("divide gradient", sizes.reduced, sizes.reduced),
          .divide_after = copy("divide shard", sizes.reduced_shard, sizes.reduced_shard),
          .cast_reduced = copy("cast reduced shard", sizes.reduced_shard, sizes.gradient_shard),
          .accumulate = pricer.memory("accumulate gradient", sizes.gradient_shard * 3)};
}

}  // namespace

Fsdp1Model::Fsdp1Model(const StepInput& input) : input_(input) {
  price();
  add_units();
  order_units();
}

void Fsdp1Model::price() {
  const Fsdp1Settings& settings = input_.scenario.parallel.fsdp1;
  for (const BlockKind& block_kind : input_.workload.kinds) {
    const FlatBlock& block = flat_.emplace_back(flat_block(input_.workload, block_kind, input_.shard_ranks, settings));
    std::vector<FlatKernels>& kernels = kernels_.emplace_back();
    kernels.push_back(flat_kernels(input_.pricer, block.own));
    for (const FlatSizes& adapter : block.adapters) kernels.push_back(flat_kernels(input_.pricer, adapter));
  }
  root = flat_root(input_.workload, input_.shard_ranks, settings);
  root_kernels_ = flat_kernels(input_.pricer, root);
}

std::size_t Fsdp1Model::add_unit(const FlatSizes& sizes, const FlatKernels& kernels, std::uint32_t number) {
  Fsdp1Unit& unit = units.emplace_back();
  unit.number = number;
  unit.sizes = &sizes;
  unit.kernels = &kernels;
  unit.unsharded = input_.shard_ranks == 1;
  total += sizes;
  return units.size() - 1;
}

void Fsdp1Model::add_units() {
  const Workload& workload = input_.workload;
  has_root = root.gathered > Bytes{};
  if (has_root) {
    Fsdp1Unit& unit = units[add_unit(root, root_kernels_, no_unit)];
    unit.is_root = true;
    unit.inputs_need_gradient = false;  // token ids
  }
  for (std::size_t block = 0; block < workload.blocks.size(); ++block) {
    if (!is_layer(kind(block))) {
      (layers.empty() ? before : after).push_back(block);
      continue;
    }
    const std::uint32_t k = workload.blocks[block];
    const auto number = static_cast<std::uint32_t>(layers.size());
    layers.push_back(block);
    layer_units_.push_back(add_unit(flat_[k].own, kernels_[k].front(), number));
    units.back().needs_backward = kind(block).has_backward;
    units.back().inputs_need_gradient = kind(block).inputs_need_gradient;
    for (std::size_t a = 0; a < flat_[k].adapters.size(); ++a) {
      add_unit(flat_[k].adapters[a], kernels_[k][a + 1], number);
    }
  }
}

/// Pre-forward: the root, then each layer before its adapters. Post-forward: adapters before their layer, root last.
void Fsdp1Model::order_units() {
  for (std::size_t u = 0; u + 1 < units.size(); ++u) units[u].next_in_pre_forward = u + 1;
  std::size_t last = no_target;
  const auto ends = [&](std::size_t unit) {
    units[unit].before_in_post_forward = last;
    last = unit;
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t adapters = flat(layers[i]).adapters.size();
    for (std::size_t a = 0; a < adapters; ++a) ends(layer_units_[i] + 1 + a);
    ends(layer_units_[i]);
  }
  if (has_root) ends(0);
}

Fsdp1Streams add_fsdp1_streams(ProgramBuilder& builder, const StepInput& input) {
  Fsdp1Streams streams;
  streams.compute = builder.stream(StreamKind::compute, "compute");
  streams.unshard = builder.stream(StreamKind::all_gather, "unshard");
  streams.pre_unshard = builder.stream(StreamKind::copy_in, "pre-unshard");
  streams.post_backward = builder.stream(StreamKind::reduce_scatter, "post-backward");
  if (input.shard_ranks * input.replicas == 1) streams.post_backward = streams.compute;
  streams.all_reduce = streams.post_backward;
  if (input.shard_ranks > 1) {
    streams.shard = builder.comm("shard");
    streams.comm_groups.push_back(RankGroup::shard);
    if (input.replicas > 1) streams.all_reduce = builder.stream(StreamKind::all_reduce, "all-reduce");
  }
  if (input.replicas > 1) {
    streams.replicate = builder.comm("replicate");
    streams.comm_groups.push_back(RankGroup::replicate);
  }
  return streams;
}

}  // namespace takt
