// Writes a Program in the words of CUDA: kernels and collectives on streams, events, waits.
//
// Kernels that the CPU issues one after another to a stream are joined into one segment as long as nothing observes the
// point between them: no event recorded there, no wait before the next kernel, no host wait, no memory effect, no
// change of phase or unit, no hook of the framework, and nothing issued to another stream in between. So a segment is
// issued in one go, and the issue offsets inside it are the launch costs of its own kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/scenario.hpp"
#include "plan/program.hpp"

namespace takt {

/// A point on a stream: all that was issued to it so far, and all that it was told to wait for. Done when every op of
/// it is done; at once if there is none.
struct Event {
  std::vector<OpId> ops;
};

struct BuilderOptions {
  Duration kernel_launch{};      ///< host time to issue a kernel or a copy
  Duration eager_op{};           ///< host time to dispatch an eager op, besides
  Duration collective_launch{};  ///< host time to issue a collective
  /// none: every op also waits for the op issued before it, whatever its stream. perfect: compute streams ignore waits
  /// for communication streams; collectives still run.
  Overlap overlap = Overlap::streams;
  bool join_kernels = true;        ///< false: every kernel is an op of its own
};

class ProgramBuilder {
 public:
  explicit ProgramBuilder(BuilderOptions options);

  StreamId stream(StreamKind kind, std::string name);
  CommSlot comm(std::string name);

  /// What is issued from here on is the iteration that is measured.
  void begin_measured();

  /// Phase and unit of what is issued from here on.
  void phase(Phase phase);
  void unit(std::uint32_t unit);

  void kernel(StreamId stream, const Kernel& kernel, std::string_view label);
  /// Equal runs, by address and length, share one copy in the program: `kernels` must stay valid and unchanged until
  /// finish().
  void kernels(StreamId stream, std::span<const Kernel> kernels, std::string_view label);
  Event collective(StreamId stream, CommSlot comm, CollectiveCall call, std::string_view label);
  Event copy(StreamId stream, std::uint32_t path, Bytes bytes, std::string_view label);
  void host_work(Duration time, std::string_view label);
  void host_wait(const Event& event);
  /// The CPU works for `time` before it issues the next op, whatever its stream.
  void host_delay(Duration time) { host_delay_ += time; }

  Event record(StreamId stream);                   ///< cudaEventRecord
  void wait(StreamId stream, const Event& event);  ///< cudaStreamWaitEvent
  void wait(StreamId stream, StreamId other);      ///< wait_stream

  /// Memory taken when the next op on `stream` is issued or starts; closes the segment before it.
  void allocate(StreamId stream, MemoryCategory category, Bytes size, EffectTime when = EffectTime::start);
  /// Memory given back when all that is on `stream` so far is done. The stream must not be empty.
  void release(StreamId stream, MemoryCategory category, Bytes size);
  /// Memory held since before the step: taken when the first op of the program is issued.
  void resident(MemoryCategory category, Bytes size);

  Program finish() &&;

 private:
  struct StreamState {
    std::optional<OpId> last;
    std::vector<OpId> pending_waits;
    std::vector<MemoryEffect> pending_effects;
    bool open = false;                        ///< the last op is a segment that may still grow
  };
  /// Kernels that stand in the program already and may be referred to again.
  struct SharedRun {
    const Kernel* data = nullptr;
    std::size_t count = 0;
    Segment segment;
  };

  StreamState& state(StreamId stream) { return streams_[index(stream)]; }
  Op& append(StreamId stream, Work work, std::string_view label);
  bool can_join(StreamId stream) const;
  void extend(Op& op, std::span<const Kernel> kernels);
  Segment add_kernels(Segment segment, std::span<const Kernel> kernels);
  Segment empty_segment() const;
  Duration issue_time(const Kernel& kernel) const;
  Segment shared_segment(std::span<const Kernel> kernels);
  bool ignores(StreamId waiting, OpId op) const;
  void add_wait(StreamId stream, OpId op);
  std::uint32_t label_number(std::string_view label);

  BuilderOptions options_;
  Program program_;
  std::vector<StreamState> streams_;
  std::vector<SharedRun> shared_;
  std::vector<std::pair<const char*, std::uint32_t>> label_addresses_;  ///< literals seen before
  std::vector<MemoryEffect> resident_;
  Duration host_delay_{};  ///< not yet charged to an op
  Phase phase_ = Phase::other;
  std::uint32_t unit_ = no_unit;
  std::optional<OpId> last_op_;               ///< of any stream, for overlap = none
};

}  // namespace takt
