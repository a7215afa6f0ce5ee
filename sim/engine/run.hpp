// Plays programs: streams, events, the CPU's issue order, communicators, SM reservations, copy engines.
//
// The loop: take the next instant at which an activity completes or a timer rings; tell everything that happens at that
// instant, including what starts because of it; hand out copy engines in program order; solve the rates once; repeat.
// Everything is ordered by (time, rank, op); nothing depends on the order in which events of one instant arrived.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/fluid.hpp"
#include "engine/instant_queue.hpp"
#include "engine/program_index.hpp"
#include "engine/run_owner.hpp"
#include "engine/simulate.hpp"

namespace takt {

/// A plan, or the parts of one that are played.
struct PlanView {
  std::span<const Program> programs;
  std::span<const RankBinding> ranks;
  std::span<const Communicator> communicators;
  std::span<const LoweredCollective> collectives;
  SmContention sm_contention;
};

class Run {
 public:
  Run(const PlanView& plan, const ResourceTable& resources, const EngineOptions& options);

  Result<Timeline> play();

 private:
  static constexpr std::uint32_t done_mark = 0xffffffff;   // in RankState::pending
  static constexpr std::uint32_t no_op = StartReason::no_op;

  /// An op of a rank.
  struct Instance {
    std::uint32_t rank = 0, op = 0;
    bool operator==(const Instance&) const = default;
  };
  enum class TimerKind : std::uint8_t { op_issued, op_done, copy_starts, collective_starts, batch_starts };
  struct Timer {
    std::uint32_t rank = 0;     // or communicator, or lane
    std::uint32_t op = 0;       // or the lane's batch
    TimerKind kind = TimerKind::op_issued;
    std::uint64_t sequence = 0;
    bool operator<(const Timer& other) const {
      if (rank != other.rank) return rank < other.rank;
      if (op != other.op) return op < other.op;
      return sequence < other.sequence;
    }
  };
  /// An epoch of a rank's CPU that has begun.
  struct Epoch {
    Duration start{};
    StartReason reason;                      // what the CPU last had to wait for
  };
  struct ChargeRange {
    std::uint32_t first = 0, count = 0;
  };
  struct RankState {
    RankState(const Program& ops, const ProgramIndex& index, std::pmr::memory_resource* memory)
        : program(&ops), lookup(&index), pending(memory), places(memory), epochs(memory), deferred(memory),
          kernels(memory), waiting_copies(memory), ranges(memory) {}
    const Program* program;
    const ProgramIndex* lookup;
    std::pmr::vector<std::uint32_t> pending;
    std::pmr::vector<std::uint32_t> places;  // among the members of its communicators, by slot
    std::pmr::vector<Epoch> epochs;          // begun so far; the last is the one the CPU is in
    std::pmr::vector<std::uint32_t> deferred;  // ready but for the CPU, which is in an earlier epoch
    std::size_t next_host_work = 0;
    std::uint32_t awaited = no_op;           // what the CPU waits for at the end of its epoch
    bool speed_changed = false;              // of its kernels, at now_
    std::int64_t held_ctas = 0;
    std::pmr::vector<std::pair<std::uint32_t, RunningId>> kernels;   // running segments
    std::int64_t busy_copy_engines = 0;
    std::uint32_t last_copy = StartReason::no_op;               // the copy that freed an engine last
    std::pmr::vector<std::uint32_t> waiting_copies;
    std::vector<Charge> charges;             // in the order in which ops ended
    std::pmr::vector<ChargeRange> ranges;            // of each op in `charges`
  };
  /// A part of a collective that runs.
  struct Part {
    Duration done{};
    std::uint32_t open = 0;                  // parts that must be done before
    // What its time was charged to: most often all of it to one cause, else a range in CommState::charges, of its region.
    std::uint32_t resource_or_first = 0;
    std::uint32_t charge_count = 0;
    Cause cause = Cause::none;
  };
  /// A part that waits for another. Of those it waits for, some may end in one region while others end in another.
  struct Successor {
    std::uint32_t part : 31;
    std::uint32_t awaits_several_regions : 1;
  };
  /// What a collective's parts release, as one list; which of them wait for none; the regions of its activities.
  struct Order {
    PartList once;                           // if the collective has no list of its own
    const PartList* parts = nullptr;
    std::vector<std::uint32_t> first_successor, first;
    std::vector<Successor> successors;
    std::vector<std::uint8_t> regions;
  };
  struct PartId {
    std::uint32_t comm = 0, part = 0;
  };
  /// Activities of a call that start together, by region.
  struct Batch {
    std::uint32_t comm = 0;
    Duration latency{};
    std::array<std::uint32_t, Regions::most + 1> counts{};
    std::vector<std::vector<std::uint32_t>> parts;
  };
  struct BatchRef {
    std::uint32_t lane = 0, batch = 0;
  };
  /// How many activities of a call a lane has ended at this instant, and the last of them.
  struct Ended {
    std::uint32_t comm = 0, count = 0, last_part = 0;
    FlowSerial serial = 0;
  };
  /// A kernel or a copy that has ended.
  struct EndedFlow {
    FlowSerial serial = 0;
    std::uint64_t owner = 0;
    std::vector<Charge> charges;
  };
  /// What happens in a region at this instant, written by one thread. The last lane is that of what lies in several.
  struct alignas(64) Lane {
    std::uint32_t region = 0;
    std::vector<Ended> ended;
    std::vector<std::uint32_t> open_batches;            // begun at this instant
    std::size_t flow_count = 0;
    std::vector<EndedFlow> flows;                       // the first flow_count of them
    std::vector<Batch> batches;
    std::vector<std::uint32_t> free_batches;
    std::vector<std::uint64_t> starting;                // communicator and part
  };
  struct CommState {
    std::uint32_t arrived = 0;
    std::uint32_t collective = 0;            // in Plan::collectives, while one runs
    std::vector<std::uint32_t> ops;          // the op of each member of the running call
    std::uint32_t last_member = 0;           // the rank that reached the call last
    Duration start{};
    std::uint32_t open_parts = 0, last_part = 0;
    std::vector<Part> parts;
    std::vector<std::vector<Charge>> charges;   // of parts with several, by region
  };

  const Program& program(std::uint32_t rank) const { return *ranks_[rank].program; }
  const ProgramIndex& lookup(std::uint32_t rank) const { return *ranks_[rank].lookup; }
  OpRecord& record(Instance at) { return timeline_.ops[at.rank][at.op]; }

  static std::uint32_t place_of(std::uint32_t rank, const Communicator& communicator);
  void begin();
  void end_flows();
  void ring_timers();
  void drain();
  void play_instant();

  // Ops (run.cpp)
  Duration issue_time(Instance at) const;
  void issue_or_wait(Instance at, StartReason reason);
  void become_ready(Instance at, StartReason reason);
  void op_done(Instance at);
  void ring(const Timer& timer);
  void flow_done(const FlowOwner& owner, const std::vector<Charge>& charges);
  void add_timer(Duration time, TimerKind kind, std::uint32_t rank, std::uint32_t op);
  void charge(Instance at, std::initializer_list<Charge> before, const std::vector<Charge>& flow,
              std::initializer_list<Charge> after = {});

  // The CPU (run.cpp)
  void begin_epoch(std::uint32_t rank, Duration start, StartReason reason);
  void advance_host(std::uint32_t rank);

  // Kernels and copies (run_card.cpp)
  void start_segment(Instance at);
  void segment_flow_done(Instance at, const std::vector<Charge>& charges);
  void hand_out_copy_engines();
  void start_copy_flow(Instance at);
  void copy_done(Instance at, const std::vector<Charge>& charges);
  double kernel_speed(Instance at) const;
  void mark_speed(std::uint32_t rank);
  void update_speeds();

  // Collectives (run_collective.cpp)
  const LoweredCollective& lowered(std::uint32_t comm) const { return plan_.collectives[comms_[comm].collective]; }
  void reach_collective(Instance at);
  void start_collective(std::uint32_t comm);
  void collective_done(std::uint32_t comm);
  std::vector<Charge> charges_of_last(const CommState& state, Duration begun) const;

  // Their activities (run_parts.cpp)
  void arrange(const LoweredCollective& collective, Order& order) const;
  const Order& order_of(std::uint32_t collective);
  const Activity& activity_of(PartId id) const;
  void for_each_region(std::size_t work, const std::function<void(std::size_t)>& body);
  void start_parts(std::uint32_t comm);
  void end_flows_of(std::uint32_t region);
  void end_part(Lane& lane, PartId id, FlowSerial serial, const std::vector<Charge>& charges);
  static void keep_charges(Part& part, const std::vector<Charge>& charges, std::vector<Charge>& kept);
  void release_part(Lane& lane, PartId id);
  Batch& batch_of(Lane& lane, std::uint32_t comm, Duration latency);
  void settle_parts();
  void settle_calls();
  void settle_batches();
  bool end_workless_parts();
  std::size_t make_room();
  void start_parts_of(std::uint32_t region);
  void solve_rates();

  Diagnostic deadlock() const;
  std::string describe(Instance at) const;
  void hand_over_charges();

  PlanView plan_;
  std::pmr::monotonic_buffer_resource arena_;   // of what lives as long as the run
  FluidNetwork fluid_;
  std::vector<ProgramIndex> indices_;
  std::vector<RankState> ranks_;
  std::vector<CommState> comms_;
  std::vector<Order> orders_;                 // of each collective's activities, built when first used
  InstantQueue<Timer> timers_;
  std::vector<Timer> due_timers_;
  Executor* executor_;
  std::vector<Lane> lanes_;                   // of each region, and of what lies in several
  std::vector<BatchRef> starting_;            // batches that start at now_
  std::size_t looked_at_ = 0;                 // how many of them, for activities without work
  std::size_t changes_ = 0;                   // parts that end or start in regions at now_
  std::vector<Ended> ended_;
  std::vector<EndedFlow*> ended_flows_;
  std::vector<Instance> done_;                // ops that ended at now_, to be told to their dependents
  std::vector<std::uint32_t> speed_changed_;  // ranks whose kernels got a new speed at now_
  std::vector<std::uint32_t> copy_ranks_;     // ranks with copies that wait for an engine, or a freed engine
  Duration now_{};
  std::uint64_t sequence_ = 0;
  std::size_t unfinished_ = 0;
  std::size_t unfinished_before_ = 0;         // of them, ops of iterations before the measured one
  Timeline timeline_;
};

}  // namespace takt
