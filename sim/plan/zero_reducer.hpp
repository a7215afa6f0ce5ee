// How DeepSpeed's ZeRO brings gradients together (semantics Z2 to Z6, Z12).
//
// Each gradient is copied into a flat bucket when it arrives. A gradient that the bucket has no room for flushes it first;
// one that is larger than a bucket is reduced by itself. Stages 1 and 2 divide a bucket by the number of ranks and
// all-reduce it, and each rank takes its slices; stage 3 reduce-scatters it. With overlap_comm this happens on a stream of
// its own, which waits for compute; compute waits for the reduction before, so one is outstanding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/builder.hpp"
#include "plan/step.hpp"

namespace takt {

/// A bucket as it was flushed: elements, and whether it is one gradient that was too large for it.
struct ZeroBucket {
  std::int64_t elements = 0;
  bool direct = false;

  bool operator==(const ZeroBucket&) const = default;
};

/// Buckets of gradients in their order of arrival (Z5).
std::vector<ZeroBucket> zero_buckets(std::span<const std::int64_t> elements, std::int64_t bucket_size);

/// Whether the stage's reductions have a stream of their own (Z1).
bool overlaps_reductions(const ParallelSettings& parallel);

/// Writes the reductions of one step.
class ZeroReducer {
 public:
  /// `gradient_bytes`: of an element. `reduction` is used if the stage's reductions have a stream of their own.
  ZeroReducer(ProgramBuilder& builder, const StepInput& input, StreamId compute, StreamId reduction, CommSlot comm,
              double gradient_bytes);

  void begin_micro_step(std::int64_t micro_step);
  /// The next gradient is on compute.
  void arrive(std::int64_t elements);
  /// What is left goes out; the CPU waits for compute and reductions if those have a stream of their own (Z6, Z12).
  void finish_micro_step();

  /// Bytes of the buffers that buckets are filled in (Z4).
  Bytes buffers() const;

 private:
  void flush();
  void reduce(std::int64_t elements);
  Bytes of(std::int64_t elements) const { return stored_size(elements, gradient_bytes_); }

  ProgramBuilder& builder_;
  const StepInput& input_;
  StreamId compute_, reduction_;
  CommSlot comm_;
  double gradient_bytes_;
  bool stage_3_ = false;
  bool overlaps_ = false;
  bool offloads_ = false;              ///< each rank's part of a bucket goes to host memory (Z14)
  std::int64_t micro_step_ = 0;
  std::int64_t in_bucket_ = 0;         ///< elements
  std::uint32_t buckets_ = 0;          ///< flushed so far, for labels
};

}  // namespace takt
