#include "plan/fsdp2_model.hpp"

namespace takt {
namespace {

UnitKernels unit_kernels(const KernelPricer& pricer, const UnitSizes& sizes, std::int64_t group) {
  const auto copy = [&](const char* name, Bytes read, Bytes written) {
    return copy_kernel(pricer, name, read, written);
  };
  const Bytes shard = sizes.gathered_shard;
  const Bytes part = stored_size(sizes.gathered.count(), 1.0 / static_cast<double>(group));
  return {.gather_copy_in = copy("all-gather copy-in", sizes.cast_read + shard, sizes.cast_written + shard),
          .copy_out = copy("all-gather copy-out", sizes.gathered, sizes.gathered),
          .reduce_copy_in = copy("reduce-scatter copy-in", sizes.gradients, sizes.reduced),
          .cast_kept = copy("cast kept gradients", sizes.gradients, sizes.accumulated),
          .group_copy = copy("reshard group copy", part, part),
          .divide_before = copy("divide gradient", sizes.reduced, sizes.reduced),
          .divide_after = copy("divide shard", sizes.reduced_shard, sizes.reduced_shard)};
}

bool keeps_after_forward(const ParallelSettings& parallel) {
  return !parallel.reshard_after_forward || parallel.sharding == Sharding::grad_op ||
         parallel.sharding == Sharding::hybrid_grad_op;
}

}  // namespace

Fsdp2Model::Fsdp2Model(const StepInput& input, std::int64_t group)
    : sizes(fsdp_model(input.workload, input.shard_ranks,
                       input.scenario.parallel.fsdp2.embedding_unit ? EmbeddingGroup::own : EmbeddingGroup::root)),
      input_(input) {
  const Workload& workload = input.workload;
  const ParallelSettings& parallel = input.scenario.parallel;
  for (std::size_t k = 0; k < workload.kinds.size(); ++k) {
    const BlockKind& kind = workload.kinds[k];
    kernels_.push_back(unit_kernels(input.pricer, sizes.of_kind[k], group));
    accumulate_.push_back(
        {accumulate_kernels(input.pricer, kind), accumulate_kernels(input.pricer, kind, input.shard_ranks)});
  }
  const bool reshard = !keeps_after_forward(parallel) && !(group == 1 && input.shard_ranks > 1);
  if (!sizes.embedding_blocks.empty()) {
    embedding_kernels_ = unit_kernels(input.pricer, sizes.embedding, group);
    Fsdp2Unit& embedding = units.emplace_back();
    embedding.blocks = sizes.embedding_blocks;
    embedding.sizes = &sizes.embedding;
    embedding.kernels = &embedding_kernels_;
    embedding.reshard_after_forward = reshard;
    embedding.unshard_in_backward = parallel.fsdp2.unshard_in_backward;
  }
  std::uint32_t number = 0;
  for (const std::size_t block : sizes.layers) {
    Fsdp2Unit& layer = units.emplace_back();
    layer.blocks = {block};
    layer.number = number++;
    layer.sizes = &sizes.of_kind[workload.blocks[block]];
    layer.kernels = &kernels_[workload.blocks[block]];
    layer.reshard_after_forward = reshard;
  }
  root_kernels_ = unit_kernels(input.pricer, sizes.root, group);
  root.blocks = sizes.before;
  root.blocks.insert(root.blocks.end(), sizes.after.begin(), sizes.after.end());
  root.sizes = &sizes.root;
  root.kernels = &root_kernels_;
  root.reshard_after_forward = false;  // kept for the backward (S8)
}

Fsdp2Streams add_fsdp2_streams(ProgramBuilder& builder, const StepInput& input, std::int64_t group) {
  Fsdp2Streams streams;
  streams.compute = builder.stream(StreamKind::compute, "compute");
  streams.copy_in = builder.stream(StreamKind::copy_in, "all-gather copy-in");
  streams.all_gather = builder.stream(StreamKind::all_gather, "all-gather");
  streams.reduce_scatter = streams.all_reduce = streams.compute;
  if (input.shard_ranks > 1) {
    streams.reduce_scatter = streams.all_reduce = builder.stream(StreamKind::reduce_scatter, "reduce-scatter");
    streams.shard = builder.comm("shard");
    streams.comm_groups.push_back(RankGroup::shard);
  }
  if (input.replicas > 1) {
    streams.all_reduce = builder.stream(StreamKind::all_reduce, "all-reduce");
    streams.replicate = builder.comm("replicate");
    streams.comm_groups.push_back(RankGroup::replicate);
  }
  if (group > 1 && group < input.shard_ranks) {
    streams.reshard = builder.comm("reshard");
    streams.comm_groups.push_back(RankGroup::reshard);
  }
  return streams;
}

}  // namespace takt
