// Time of one rank, by interval unions.
//
// Each instant of the step counts once, for the first of these that runs: a kernel of forward, recomputation or
// backward; an optimizer kernel; communication (a collective from its start to its end, or a copy); else it is the
// host's: the CPU issues, works or waits, or the rank waits for another. So the four parts add up to the step.
//
// Kernels that wait for their launch leave gaps in a segment; they are counted at its end, and are the host's.
//
// "Hidden" is Holistic Trace Analysis' definition: the time during which a collective and any kernel both run. A
// collective that waits for its last member has not started, so waiting for a straggler is not communication.
#include "metrics/rank_time.hpp"

#include "metrics/intervals.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

namespace takt {
namespace {

/// Kinds of communication in the order in which an instant with several of them is counted.
enum CommunicationKind : std::size_t { all_gather, reduce_scatter, all_reduce, broadcast, copy, communication_kinds };

constexpr std::array<const char*, communication_kinds> kind_names = {"all-gather", "reduce-scatter", "all-reduce",
                                                                     "broadcast", "copy"};

CommunicationKind kind_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return all_gather;
    case CollectiveKind::reduce_scatter:
      return reduce_scatter;
    case CollectiveKind::all_reduce:
      return all_reduce;
    case CollectiveKind::broadcast:
      return broadcast;
  }
  unreachable("a collective of an unknown kind");
}

struct BusyTimes {
  TimeSet kernels;  ///< but the optimizer's
  TimeSet optimizer;
  std::array<TimeSet, communication_kinds> communication;
};

BusyTimes busy_times(const Program& program, const Timeline& timeline, RankId rank) {
  const std::vector<OpRecord>& records = timeline.ops[index(rank)];
  std::vector<Interval> kernels, optimizer;
  std::array<std::vector<Interval>, communication_kinds> communication;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const Interval span{records[i].start, records[i].end};
    if (std::holds_alternative<Segment>(op.work)) {
      (op.phase == Phase::optimizer ? optimizer : kernels).push_back(busy_span(timeline, rank, id_at<OpId>(i)));
    } else if (const auto* call = std::get_if<Collective>(&op.work)) {
      communication[kind_of(program.comms[index(call->comm)].calls[call->call].kind)].push_back(span);
    } else if (std::holds_alternative<Copy>(op.work) && op.phase == Phase::optimizer) {
      optimizer.push_back(span);  // the CPU's, with the copies that bring it its states and the card its weights
    } else if (std::holds_alternative<Copy>(op.work)) {
      communication[copy].push_back(span);
    }
  }
  BusyTimes busy{TimeSet(std::move(kernels)), TimeSet(std::move(optimizer)), {}};
  for (std::size_t k = 0; k < communication_kinds; ++k) busy.communication[k] = TimeSet(std::move(communication[k]));
  return busy;
}

/// What the rank's collectives move each way, and which of them took most time.
struct CollectiveSums {
  Bytes moved{};
  std::string longest;
  std::optional<PredictionInterval> longest_interval;
};

CollectiveSums sum_collectives(const Plan& plan, const Timeline& timeline, RankId rank) {
  const RankBinding& binding = plan.ranks[index(rank)];
  const Program& program = plan.programs[index(binding.role)];
  CollectiveSums sums;
  std::map<CollectiveId, Duration> times;
  std::map<CollectiveId, CollectiveKind> kinds;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto* call = std::get_if<Collective>(&program.ops[i].work);
    if (call == nullptr) continue;
    const Communicator& communicator = plan.communicators[index(binding.communicators[index(call->comm)])];
    const CollectiveId id = communicator.lowered[call->call];
    const OpRecord& record = timeline.ops[index(rank)][i];
    sums.moved += plan.collectives[index(id)].moved_per_rank;
    times[id] += record.end - record.start;
    kinds[id] = program.comms[index(call->comm)].calls[call->call].kind;
  }
  const auto longest =
      std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (longest != times.end()) {
    sums.longest = std::string(kind_names[kind_of(kinds[longest->first])]) + ": " +
                   plan.collectives[index(longest->first)].explanation;
    sums.longest_interval = plan.collectives[index(longest->first)].interval;
  }
  return sums;
}

}  // namespace

Interval busy_span(const Timeline& timeline, RankId rank, OpId op) {
  const OpRecord& record = timeline.ops[index(rank)][index(op)];
  const auto [first, last] = charges_of(timeline, rank, op);
  Duration late{};
  for (const Charge* charge = first; charge != last; ++charge) {
    if (charge->cause == Cause::host) late += charge->time;
  }
  return {record.start, record.end - late};
}

RankId slowest_rank(const Timeline& timeline) {
  std::size_t slowest = 0;
  Duration latest{-1};
  for (std::size_t rank = 0; rank < timeline.ops.size(); ++rank) {
    for (const OpRecord& record : timeline.ops[rank]) {
      if (record.end > latest) {
        latest = record.end;
        slowest = rank;
      }
    }
  }
  return id_at<RankId>(slowest);
}

RankTime rank_time(const Plan& plan, const Timeline& timeline, RankId rank) {
  const Program& program = plan.programs[index(plan.ranks[index(rank)].role)];
  const BusyTimes busy = busy_times(program, timeline, rank);
  const TimeSet all_kernels = busy.kernels | busy.optimizer;

  RankTime time;
  time.breakdown.compute = busy.kernels.length();
  time.breakdown.optimizer = all_kernels.length() - time.breakdown.compute;

  TimeSet counted = all_kernels;
  TimeSet collectives;
  for (std::size_t kind = 0; kind < communication_kinds; ++kind) {
    const TimeSet& running = busy.communication[kind];
    if (running.intervals().empty()) continue;
    const Duration exposed = (running - counted).length();
    time.communication.exposed_by_kind[kind_names[kind]] = exposed;
    time.breakdown.exposed_communication += exposed;
    counted = counted | running;
    if (kind != copy) collectives = collectives | running;
  }
  time.breakdown.host = timeline.end - counted.length();

  CommunicationMetrics& communication = time.communication;
  communication.busy = collectives.length();
  communication.hidden = (collectives & all_kernels).length();
  communication.overlap_ratio =
      communication.busy > Duration{} ? to_seconds(communication.hidden) / to_seconds(communication.busy) : 1.0;
  const CollectiveSums sums = sum_collectives(plan, timeline, rank);
  communication.sent_per_card = sums.moved;
  communication.received_per_card = sums.moved;
  communication.longest = sums.longest;
  communication.longest_interval = sums.longest_interval;
  return time;
}

}  // namespace takt
