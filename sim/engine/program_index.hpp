// What the engine looks up in a program while it plays it, worked out once a program.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "plan/program.hpp"

namespace takt {

/// The CPU issues the ops of an epoch one after another; an epoch ends at a HostWait.
struct HostEpoch {
  std::uint32_t wait_op = 0;         ///< the HostWait that ends it (not of the last epoch)
  Duration length{};                 ///< from the epoch's start to that HostWait
};

class ProgramIndex {
 public:
  /// Keeps what it looks up in `memory`, which must outlive it.
  explicit ProgramIndex(const Program& program,
                        std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Ops that wait for `op`: the next of its stream, the next of its communicator, and those that wait for its event.
  std::span<const std::uint32_t> dependents(std::uint32_t op) const {
    return {dependents_.data() + first_dependent_[op], dependents_.data() + first_dependent_[op + 1]};
  }
  /// How many ops each op waits for.
  std::span<const std::uint32_t> pending() const { return pending_; }

  /// When the CPU has issued `op` (a segment: its first kernel), counted from the start of its epoch.
  Duration issue_offset(std::uint32_t op) const { return issue_offset_[op]; }
  std::uint32_t epoch(std::uint32_t op) const { return epoch_[op]; }
  std::span<const HostEpoch> epochs() const { return epochs_; }
  /// HostWork ops of an epoch, in order.
  std::span<const std::uint32_t> host_work() const { return host_work_; }

  /// The position of a collective among the calls of its communicator slot.
  std::uint32_t call_number(std::uint32_t op) const { return call_number_[op]; }

 private:
  void add_edges(const Program& program);
  void add_issue_times(const Program& program);

  std::pmr::vector<std::uint32_t> first_dependent_, dependents_, pending_, epoch_, call_number_, host_work_;
  std::pmr::vector<Duration> issue_offset_;
  std::pmr::vector<HostEpoch> epochs_;
};

/// HostWork and HostWait run on the CPU; everything else runs on a stream.
inline bool on_host(const Op& op) {
  return std::holds_alternative<HostWork>(op.work) || std::holds_alternative<HostWait>(op.work);
}

}  // namespace takt
