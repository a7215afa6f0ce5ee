// Writes a Program in the words of CUDA: kernels and collectives on streams, events, waits.
//
// Kernels issued one after another on a stream are joined into one segment as long as nothing observes the point
// between them: no event recorded there that somebody waits for, no wait before the next kernel, no host wait, no
// memory effect, no change of phase or unit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/scenario.hpp"
#include "plan/program.hpp"

namespace takt {

/// A point on a stream: all that was issued to it so far. An Event of an empty stream is done at once.
struct Event {
  std::optional<OpId> op;
};

struct BuilderOptions {
  Duration kernel_launch{};
  Duration collective_launch{};
  Overlap overlap = Overlap::streams;
  bool join_kernels = true;        ///< false: every kernel is an op of its own
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(BuilderOptions options);

  StreamId stream(StreamKind kind, std::string name);
  CommSlot comm(std::string name);

  /// Labels and phase of what is issued from here on.
  void phase(Phase phase);
  void unit(std::uint32_t unit);

  void kernel(StreamId stream, const Kernel& kernel, std::string_view label);
  void kernels(StreamId stream, std::span<const Kernel> kernels, std::string_view label);
  Event collective(StreamId stream, CommSlot comm, CollectiveCall call, std::string_view label);
  Event copy(StreamId stream, std::uint32_t path, Bytes bytes, std::string_view label);
  void host_work(Duration time, std::string_view label);
  void host_wait(Event event);

  Event record(StreamId stream);              ///< cudaEventRecord
  void wait(StreamId stream, Event event);    ///< cudaStreamWaitEvent
  void wait(StreamId stream, StreamId other); ///< wait_stream

  /// Memory taken when the next op on `stream` is issued or starts; closes the segment before it.
  void allocate(StreamId stream, MemoryCategory category, Bytes size, EffectTime when = EffectTime::start);
  /// Memory given back when all that is on `stream` so far is done.
  void release(StreamId stream, MemoryCategory category, Bytes size);

  Program finish() &&;

 private:
  struct StreamState {
    std::optional<OpId> last;
    std::vector<OpId> pending_waits;
    std::vector<MemoryEffect> pending_effects;
    bool open = false;                        ///< the last op is a segment that may still grow
  };
  Op& append(StreamId stream, Work work, std::string_view label);
  bool can_join(StreamId stream) const;
  void add_issue_bounds();

  BuilderOptions options_;
  Program program_;
  std::vector<StreamState> streams_;
  Phase phase_ = Phase::other;
  std::uint32_t unit_ = no_unit;
  std::optional<OpId> last_op_;               ///< of any stream, for overlap = none
};

}  // namespace takt
