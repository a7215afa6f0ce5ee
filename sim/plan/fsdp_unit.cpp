#include "plan/fsdp_unit.hpp"

#include "base/contract.hpp"
#include "plan/step.hpp"

namespace takt {

UnitSizes& UnitSizes::operator+=(const UnitSizes& other) {
  gathered += other.gathered;
  gathered_shard += other.gathered_shard;
  cast_read += other.cast_read;
  cast_written += other.cast_written;
  reduced += other.reduced;
  reduced_shard += other.reduced_shard;
  gradients += other.gradients;
  accumulated += other.accumulated;
  trainable_shard_elements += other.trainable_shard_elements;
  weight_shard += other.weight_shard;
  gradient_shard += other.gradient_shard;
  optimizer_shard += other.optimizer_shard;
  return *this;
}

UnitSizes unit_sizes(const Workload& workload, const BlockKind& kind, std::int64_t ranks) {
  UnitSizes sizes;
  for (const Parameter& parameter : kind.parameters) {
    const std::int64_t shard = padded_shard_elements(parameter, ranks);
    sizes.gathered_shard += stored_size(shard, parameter.bytes);
    if (!parameter.trainable) {
      sizes.weight_shard += stored_size(shard, parameter.bytes);
      continue;
    }
    if (parameter.bytes != workload.stored_bytes_trainable) {
      sizes.cast_read += stored_size(shard, workload.stored_bytes_trainable);
      sizes.cast_written += stored_size(shard, parameter.bytes);
    }
    sizes.reduced_shard += stored_size(shard, workload.reduce_bytes);
    sizes.gradients += stored_size(parameter.elements(), parameter.gradient_bytes);
    sizes.accumulated += stored_size(parameter.elements(), workload.reduce_bytes);
    sizes.trainable_shard_elements += shard;
    sizes.weight_shard += stored_size(shard, workload.stored_bytes_trainable);
    sizes.gradient_shard += stored_size(shard, workload.gradient_state_bytes);
    sizes.optimizer_shard += stored_size(shard, workload.optimizer_bytes);
  }
  sizes.gathered = sizes.gathered_shard * ranks;
  sizes.reduced = sizes.reduced_shard * ranks;
  return sizes;
}

FsdpModel fsdp_model(const Workload& workload, std::int64_t ranks, EmbeddingGroup embedding) {
  FsdpModel model;
  for (const BlockKind& kind : workload.kinds) model.of_kind.push_back(unit_sizes(workload, kind, ranks));
  for (std::size_t block = 0; block < workload.blocks.size(); ++block) {
    const UnitSizes& sizes = model.of_kind[workload.blocks[block]];
    model.total += sizes;
    if (is_layer(workload.block(block))) {
      expects(model.after.empty(), "decoder layers stand together");
      model.layers.push_back(block);
      continue;
    }
    const bool apart = embedding == EmbeddingGroup::own && model.layers.empty();
    (apart ? model.embedding : model.root) += sizes;
    (apart ? model.embedding_blocks : model.layers.empty() ? model.before : model.after).push_back(block);
  }
  return model;
}

}  // namespace takt
