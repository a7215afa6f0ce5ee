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
  queue,       ///< the communicator or the copy engine was busy with an earlier call
  host,        ///< the CPU had not issued it, or worked, or waited
};

struct Charge {
  Cause cause = Cause::none;
  ResourceId resource{};        ///< with Cause::resource
  Duration time{};
};

/// What the start of an op had to wait for: the predecessor that was done last.
struct StartReason {
  enum class Kind : std::uint8_t { begin, op, host } kind = Kind::begin;
  RankId rank{};                ///< with Kind::op: whose op
  OpId op{};                    ///< with Kind::op and host (the op the CPU had waited for; host at time zero has none)
  bool host_has_op = false;
};

struct OpRecord {
  Duration ready{};             ///< all that it waits for on its own rank was done and the CPU had issued it
  Duration start{};             ///< it used resources from here (a collective: last member there, queue free)
  Duration end{};
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
  Duration end{};                                   ///< of the last op
  std::vector<std::vector<OpRecord>> ops;           ///< [rank][op]
  std::vector<std::vector<StartReason>> reasons;    ///< [rank][op]
  /// Charges of each rank's op, [rank] a flat list; charge_offsets[rank][op] .. [op + 1] are those of op. They add up to
  /// end - ready of the op exactly.
  std::vector<std::vector<Charge>> charges;
  std::vector<std::vector<std::uint32_t>> charge_offsets;
  std::vector<ResourceUse> resources;               ///< index with ResourceId
  std::vector<RateChange> rates;                    ///< by time
};

/// Charges of one op.
inline std::pair<const Charge*, const Charge*> charges_of(const Timeline& timeline, RankId rank, OpId op) {
  const auto& list = timeline.charges[index(rank)];
  const auto& offsets = timeline.charge_offsets[index(rank)];
  return {list.data() + offsets[index(op)], list.data() + offsets[index(op) + 1]};
}

}  // namespace takt
