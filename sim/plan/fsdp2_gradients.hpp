// How FSDP2 keeps a unit's gradients and reduces them (semantics S10, S12 to S16).
//
// Compute waits for the reduce-scatter before the last one, so that one input is alive at a time (S10). Sharded
// gradients live from the first reduce-scatter to the optimizer.
#pragma once

#include "plan/fsdp1_unit.hpp"
#include "plan/fsdp2_model.hpp"

#include <optional>
#include <string_view>

namespace takt {

class Fsdp2Gradients {
 public:
  Fsdp2Gradients(ProgramBuilder& builder, const StepInput& input, const Fsdp2Streams& streams, const Fsdp2Model& model);

  /// Unsharded gradients stay, in the format in which they will be reduced (S15).
  void keep(Fsdp2Unit& unit);
  /// `last_micro_step`: the replicas are reduced in it whatever the settings say.
  void reduce(Fsdp2Unit& unit, bool last_micro_step);
  /// Compute waits for all reductions (S14).
  void finish();

 private:
  void all_reduce_and_accumulate(Fsdp2Unit& unit, bool last_micro_step);
  void accumulate(const Fsdp2Unit& unit, StreamId stream);
  void send_to_host(Fsdp2Unit& unit);
  CollectiveCall call(CollectiveKind kind, Bytes bytes) const;
  void shared_kernel(StreamId stream, const Kernel& kernel, std::string_view label);

  ProgramBuilder& builder_;
  const StepInput& input_;
  const Fsdp2Streams& streams_;
  const Fsdp2Model& model_;
  ReductionFactors divide_;                   // FP16 is divided before and after; others are averaged by NCCL (S12)
  std::optional<Event> last_reduce_scatter_;  // the one that may be in flight (S10)
};

}  // namespace takt
