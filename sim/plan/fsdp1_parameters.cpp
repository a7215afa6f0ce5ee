#include "plan/fsdp1_parameters.hpp"

#include "plan/cpu_optimizer.hpp"

#include <span>

namespace takt {

/// Asks the limiter even if there is nothing to gather (F12).
void Fsdp1Parameters::unshard(Fsdp1Unit& unit) {
  if (input_.shard_ranks == 1) return;  // NO_SHARD
  const FlatSizes& sizes = *unit.sizes;
  at(Phase::communication, unit);
  const bool casts = !unit.unsharded && sizes.cast_read > Bytes{};
  const bool loads = !unit.unsharded && fsdp_offloads(input_);
  if (loads) {  // the whole shard in master format, then cast on the card (F60)
    builder_.allocate(streams_.pre_unshard, MemoryCategory::temporary, sizes.weight_shard);
    builder_.copy(streams_.pre_unshard, host_to_device_path, sizes.weight_shard, "parameters to card");
  }
  if (casts) {
    builder_.allocate(streams_.pre_unshard, MemoryCategory::temporary, sizes.gathered_shard);
    builder_.kernels(streams_.pre_unshard, std::span(&unit.kernels->cast_shard, 1), "cast shard");
  }
  if (loads || casts) builder_.wait(streams_.unshard, streams_.pre_unshard);
  limit();
  at(Phase::communication, unit);
  if (unit.unsharded) return hook(unit, "no all-gather");
  builder_.allocate(streams_.unshard, MemoryCategory::gathered, sizes.gathered);
  const CollectiveCall call{CollectiveKind::all_gather, sizes.gathered};
  unit.gathered = builder_.collective(streams_.unshard, streams_.shard, call, "all-gather");
  if (casts) builder_.release(streams_.unshard, MemoryCategory::temporary, sizes.gathered_shard);
  if (loads) builder_.release(streams_.unshard, MemoryCategory::temporary, sizes.weight_shard);
  unit.unsharded = true;
}

void Fsdp1Parameters::limit() {
  constexpr std::size_t most_queued = 2;
  if (!input_.scenario.parallel.fsdp1.limit_all_gathers || free_events_.size() < most_queued) return;
  builder_.host_wait(free_events_.front());
  free_events_.pop_front();
}

void Fsdp1Parameters::gather_for(Fsdp1Unit& unit, Phase phase, std::string_view label) {
  if (!unit.prefetched) unshard(unit);
  at(phase, unit);
  hook(unit, label, input_.scenario.assumptions.fsdp1_hook);  // those after it included (H1)
  if (unit.gathered) builder_.wait(streams_.compute, *unit.gathered);
  unit.gathered.reset();
}

void Fsdp1Parameters::prefetch(std::size_t target) {
  if (target == no_target || model_.units[target].prefetched) return;
  unshard(model_.units[target]);
  model_.units[target].prefetched = true;
}

void Fsdp1Parameters::prefetch_for_backward(const Fsdp1Unit& unit) {
  const std::size_t target = unit.before_in_post_forward;
  if (target != no_target && model_.units[target].awaits_backward) prefetch(target);
}

void Fsdp1Parameters::reshard(Fsdp1Unit& unit, bool free) {
  unit.prefetched = false;
  if (!free || input_.shard_ranks == 1) return;
  if (unit.unsharded) builder_.release(streams_.compute, MemoryCategory::gathered, unit.sizes->gathered);
  unit.unsharded = false;
  if (input_.scenario.parallel.fsdp1.limit_all_gathers) free_events_.push_back(builder_.record(streams_.compute));
}

void Fsdp1Parameters::at(Phase phase, const Fsdp1Unit& unit) {
  builder_.phase(phase);
  builder_.unit(unit.number);
}

/// A point that the CPU passes, in `time`.
void Fsdp1Parameters::hook(const Fsdp1Unit& unit, std::string_view label, Duration time) {
  builder_.unit(unit.number);
  builder_.host_work(time, label);
}

}  // namespace takt
