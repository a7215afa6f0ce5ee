// How FSDP1 makes a unit's gradient flat, keeps it, and reduces it (semantics F25, F27, F28, F30).
//
// On the post-backward stream a gradient is cast, padded, divided, reduced, divided again and cast back; the parts
// behind an all-reduce over replicas run on the all-reduce stream.
#pragma once

#include "plan/fsdp1_model.hpp"

#include <string_view>

namespace takt {

class Fsdp1Gradients {
 public:
  Fsdp1Gradients(ProgramBuilder& builder, const StepInput& input, const Fsdp1Streams& streams)
      : builder_(builder),
        input_(input),
        streams_(streams),
        factors_(reduction_factors(input.shard_ranks * input.replicas)) {}

  /// The gradients of the unit's views become the flat parameter's, which joins those of earlier micro-steps.
  void flatten(Fsdp1Unit& unit);
  /// Its input lives until all is done.
  void reduce(Fsdp1Unit& unit);
  /// Compute waits for all reductions (F29).
  void finish();

 private:
  Bytes prepare(const Fsdp1Unit& unit);
  void reduce_over_replicas(Fsdp1Unit& unit);
  void shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label);

  ProgramBuilder& builder_;
  const StepInput& input_;
  const Fsdp1Streams& streams_;
  ReductionFactors factors_;
};

}  // namespace takt
