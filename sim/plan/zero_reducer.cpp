#include "plan/zero_reducer.hpp"

#include "plan/binding.hpp"

namespace takt {
namespace {

/// Elements of a rank's part.
std::int64_t part_of(std::int64_t elements, std::int64_t ranks) {
  return (elements + ranks - 1) / ranks;
}

}  // namespace

std::vector<ZeroBucket> zero_buckets(std::span<const std::int64_t> elements, std::int64_t bucket_size) {
  std::vector<ZeroBucket> buckets;
  std::int64_t open = 0;
  for (const std::int64_t count : elements) {
    if (open > 0 && open + count > bucket_size) {
      buckets.push_back({open, false});
      open = 0;
    }
    if (count > bucket_size) {
      buckets.push_back({count, true});
    } else {
      open += count;
    }
  }
  if (open > 0) buckets.push_back({open, false});
  return buckets;
}

bool overlaps_reductions(const ParallelSettings& parallel) {
  return parallel.zero.overlap_comm.value_or(parallel.strategy == Strategy::zero3);
}

ZeroReducer::ZeroReducer(ProgramBuilder& builder, const StepInput& input, StreamId compute, StreamId reduction,
                         CommSlot comm, double gradient_bytes)
    : builder_(builder),
      input_(input),
      compute_(compute),
      reduction_(overlaps_reductions(input.scenario.parallel) ? reduction : compute),
      comm_(comm),
      gradient_bytes_(gradient_bytes),
      stage_3_(input.scenario.parallel.strategy == Strategy::zero3),
      overlaps_(overlaps_reductions(input.scenario.parallel)),
      offloads_(input.scenario.parallel.offload_optimizer != Offload::none) {}

Bytes ZeroReducer::buffers() const {
  const std::int64_t buckets = overlaps_ && !stage_3_ ? 2 : 1;
  return of(input_.scenario.parallel.zero.reduce_bucket_size) * buckets;
}

void ZeroReducer::begin_micro_step(std::int64_t micro_step) {
  micro_step_ = micro_step;
  in_bucket_ = 0;
  buckets_ = 0;
}

void ZeroReducer::arrive(std::int64_t elements) {
  const std::int64_t room = input_.scenario.parallel.zero.reduce_bucket_size;
  if (in_bucket_ > 0 && in_bucket_ + elements > room) flush();
  if (elements > room) return reduce(elements);
  const Bytes bytes = of(elements);
  const StreamId stream = stage_3_ ? reduction_ : compute_;
  if (stage_3_ && overlaps_) builder_.wait(reduction_, compute_);
  builder_.kernel(stream, copy_kernel(input_.pricer, "gradient to bucket", bytes, bytes), "gradient to bucket");
  in_bucket_ += elements;
}

void ZeroReducer::flush() {
  const std::int64_t elements = in_bucket_;
  in_bucket_ = 0;
  reduce(elements);
}

void ZeroReducer::reduce(std::int64_t elements) {
  const Bytes bytes = of(elements);
  const Bytes part = of(part_of(elements, input_.shard_ranks));
  builder_.phase(Phase::communication);
  builder_.unit(buckets_++);
  if (overlaps_) {
    const Event before = builder_.record(reduction_);
    builder_.wait(reduction_, compute_);
    if (!stage_3_) builder_.wait(compute_, before);
  }
  const auto kernel = [&](const char* name, Bytes read, Bytes written) {
    builder_.kernel(reduction_, copy_kernel(input_.pricer, name, read, written), "reduce bucket");
  };
  if (stage_3_) kernel("interleave partitions", bytes, bytes);
  kernel("divide bucket", bytes, bytes);
  if (input_.shard_ranks > 1) {
    const CollectiveKind kind = stage_3_ ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    builder_.collective(reduction_, comm_, {kind, stage_3_ ? part * input_.shard_ranks : bytes},
                        stage_3_ ? "reduce-scatter" : "all-reduce");
  }
  kernel("take partition", micro_step_ == 0 ? part : part * 2, part);
  if (offloads_) builder_.copy(reduction_, device_to_host_path, part, "gradients to host");
}

void ZeroReducer::finish_micro_step() {
  if (in_bucket_ > 0) flush();
  if (!overlaps_) return;
  builder_.phase(Phase::other);
  builder_.unit(no_unit);
  builder_.host_wait(builder_.record(reduction_));
  if (!stage_3_) builder_.host_wait(builder_.record(compute_));
}

}  // namespace takt
