// The program that every rank of a role runs: ops on streams, in the order in which the CPU issues them.
//
// The rules (semantics X1, X2): an op of a stream starts when the CPU has issued it, the previous op of its stream is
// done, and every op that its stream was told to wait for is done. A communicator is one serial queue in issue order.
// The CPU issues ops one after another, each at its issue cost, and stops only at a host wait.
//
// Programs are written with ProgramBuilder, which also joins kernels into segments (DESIGN section 2).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "collective/call.hpp"
#include "workload/kernel.hpp"

namespace takt {

enum class StreamKind : std::uint8_t { compute, copy_in, all_gather, reduce_scatter, all_reduce, host_to_device,
                                       device_to_host };

struct Stream {
  StreamKind kind = StreamKind::compute;
  std::string name;
};

/// A run of kernels on one stream without a synchronisation point inside: one activity.
struct Segment {
  std::uint32_t first_kernel = 0;    ///< in Program::kernels
  std::uint32_t kernel_count = 0;
  Duration time{};                   ///< sum of the kernels' stand-alone times
  double memory_bytes = 0.0;         ///< sum of their traffic
  /// Host-bound length: the segment cannot end before its first kernel's issue time plus this. It is the largest, over
  /// its kernels, of (issue offset from the first kernel + own time + times of all later kernels).
  Duration issue_bound{};
  Duration issue{};        ///< host time that issuing all of it takes
  Duration memory_time{};  ///< the part of `time` in kernels that do not slow down with the SMs they lose
};

/// A call on a communicator. Starts when the last member has reached it; ends on all members together.
struct Collective {
  CommSlot comm{};
  std::uint32_t call = 0;            ///< in Program::comms[comm].calls
};

/// Bytes over one of the rank's fixed paths (RankBinding::paths), by a copy engine.
struct Copy {
  std::uint32_t path = 0;
  Bytes bytes{};
};

/// The CPU works for `time` and issues nothing meanwhile.
struct HostWork {
  Duration time{};
};

/// The CPU issues nothing more until `op` is done (an event or stream synchronisation, a blocking read).
struct HostWait {
  OpId op{};
};

using Work = std::variant<Segment, Collective, Copy, HostWork, HostWait>;

/// What part of the step an op belongs to; breakdowns are by phase.
enum class Phase : std::uint8_t { forward, recompute, backward, communication, optimizer, other };

enum class MemoryCategory : std::uint8_t { weights, gradients, optimizer, activations, gathered, buffers, temporary,
                                           communication, context };
enum class EffectTime : std::uint8_t { issue, start, end };

/// Memory an op takes (positive) or gives back (negative) on its rank.
struct MemoryEffect {
  EffectTime when = EffectTime::start;
  MemoryCategory category = MemoryCategory::temporary;
  Bytes delta{};
};

inline constexpr std::uint32_t no_unit = std::numeric_limits<std::uint32_t>::max();

struct Op {
  StreamId stream{};                 ///< meaningless for HostWork and HostWait
  Work work;
  Phase phase = Phase::other;
  std::uint32_t unit = no_unit;  ///< FSDP unit, DDP bucket or block number, for labels
  std::uint32_t label = 0;       ///< in Program::labels: "all-gather", "forward", ...
  Duration issue_cost{};         ///< host time that issuing the whole op takes
  std::vector<OpId> waits;       ///< besides the previous op of its stream; all earlier in the program
  std::vector<MemoryEffect> effects;
  Duration host_before{};        ///< host time before it is issued: hooks of the framework
};

/// A communicator as the program names it.
struct CommUse {
  std::string name;                  ///< "shard", "replicate", "world"
  std::vector<CollectiveCall> calls; ///< distinct calls
};

struct Program {
  std::vector<Stream> streams;
  std::vector<Op> ops;               ///< in CPU issue order
  /// Ops before this one belong to earlier iterations, which only carry their state into the one that is measured.
  std::uint32_t first_measured = 0;
  std::vector<Kernel> kernels;
  std::vector<Duration> kernel_issue;  ///< host time up to the first launch of each kernel
  std::vector<CommUse> comms;          ///< index with CommSlot
  std::vector<std::string> labels;
};

}  // namespace takt
