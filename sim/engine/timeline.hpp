// What happened: when each op of each rank ran, why it took so long, and how busy each resource was.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"

namespace takt {

/// Why time passed within a span, or why an op did not start earlier.
enum class Cause : std::uint8_t {
  none,
  own_speed,   ///< ran at its cap: a kernel at its stand-alone speed, a ring at its CTA limit
  sms,         ///< a kernel slowed by SMs that collectives hold, or by other kernels
  resource,    ///< a resource froze its rate; `resource` says which
  latency,     ///< fixed time and hops
  member,      ///< a collective waited for its last member
  host,        ///< the CPU had not issued all of a segment's kernels
};

struct Charge {
  Cause cause = Cause::none;
  ResourceId resource{};        ///< with Cause::resource
  Duration time{};
};

/// What an op's `ready` had to wait for on its own rank: the predecessor that was done last, or the CPU.
struct StartReason {
  enum class Kind : std::uint8_t {
    begin,                      ///< nothing: ready at time zero
    op,                         ///< `op` of the same rank ended at `ready` (stream, event, communicator or copy queue)
    host,                       ///< the CPU issued it at `ready`; it had been free to run on since `op` ended, or, without
                                ///< an op, since time zero
  };
  static constexpr std::uint32_t no_op = 0xffffffff;
  Kind kind = Kind::begin;
  std::uint32_t op = no_op;     ///< an OpId of the same rank
};

/// A span. `ready <= start <= end`. For a collective, `last_member` is the member that reached it last: the members'
/// records share start and end, and the last member's ready is the start.
struct OpRecord {
  Duration ready{};             ///< all that it waits for on its own rank was done and the CPU had issued it
  Duration start{};             ///< a collective: the last member was there; else equal to ready
  Duration end{};
  RankId last_member{};         ///< a collective: see above; else the rank itself
};

/// Use of one resource over the run.
struct ResourceUse {
  double moved = 0.0;           ///< units of work (bytes)
  Duration busy{};              ///< time with any activity on it
  double peak = 0.0;            ///< highest rate at once, units/s
};

/// A step of a resource's rate over time; kept only when EngineOptions::record_rates.
struct RateChange {
  Duration time{};
  ResourceId resource{};
  double rate = 0.0;            ///< units/s from here on
};

struct Timeline {
  Duration begin{};                                 ///< of the measured iteration; zero if it is the first of its program
  Duration end{};                                   ///< of the last op
  std::vector<std::vector<OpRecord>> ops;           ///< [rank][op]
  std::vector<std::vector<StartReason>> reasons;    ///< [rank][op]
  /// Charges of each rank's op, [rank] a flat list; charge_offsets[rank][op] .. [op + 1] are those of op. They add up to
  /// end - ready of the op exactly. What the activities of a collective are charged with is the same for all its members;
  /// a long chain of messages is told in full of the first member alone, of the others summed up by cause, under the
  /// resource that took most of it.
  std::vector<std::vector<Charge>> charges;
  std::vector<std::vector<std::uint32_t>> charge_offsets;
  std::vector<ResourceUse> resources;               ///< since `begin`; index with ResourceId
  std::vector<RateChange> rates;                    ///< by time
};

/// Charges of one op.
inline std::pair<const Charge*, const Charge*> charges_of(const Timeline& timeline, RankId rank, OpId op) {
  const auto& list = timeline.charges[index(rank)];
  const auto& offsets = timeline.charge_offsets[index(rank)];
  return {list.data() + offsets[index(op)], list.data() + offsets[index(op) + 1]};
}

}  // namespace takt
