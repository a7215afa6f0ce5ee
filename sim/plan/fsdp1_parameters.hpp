// How FSDP1 gathers and frees its units' parameters (semantics F4, F11, F12, F21).
//
// A unit is gathered on the unshard stream, after a cast of its master shard on the pre-unshard stream. Every unshard()
// asks the limiter: if two or more frees are queued, the CPU waits for the oldest (F12). The queue lives on over the
// iterations (F13).
#pragma once

#include "plan/fsdp1_model.hpp"

#include <deque>
#include <string_view>

namespace takt {

class Fsdp1Parameters {
 public:
  Fsdp1Parameters(ProgramBuilder& builder, const StepInput& input, const Fsdp1Streams& streams, Fsdp1Model& model)
      : builder_(builder), input_(input), streams_(streams), model_(model) {}

  /// A hook before a forward or a backward: gathers unless that has been done ahead, and lets compute wait for it.
  void gather_for(Fsdp1Unit& unit, Phase phase, std::string_view label);
  /// Gathers ahead of the unit's own hook.
  void prefetch(std::size_t target);
  /// Of the unit that finished its forward just before `unit`, if its backward is still to come (F21).
  void prefetch_for_backward(const Fsdp1Unit& unit);
  /// `free`: the unsharded parameter is given up; the limiter hears of it.
  void reshard(Fsdp1Unit& unit, bool free);

 private:
  void unshard(Fsdp1Unit& unit);
  void limit();
  void at(Phase phase, const Fsdp1Unit& unit);
  void hook(const Fsdp1Unit& unit, std::string_view label, Duration time = {});

  ProgramBuilder& builder_;
  const StepInput& input_;
  const Fsdp1Streams& streams_;
  Fsdp1Model& model_;
  std::deque<Event> free_events_;  // the limiter's queue
};

}  // namespace takt
