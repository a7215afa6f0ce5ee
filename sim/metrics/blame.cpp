// Blame: a walk back along the critical path.
//
// The walk starts with the op that ends last. The time from an op's start to its end is charged as the engine charged
// it: to the resource that froze the op's rate, to its own cap, to latency, and so on. A collective starts when its
// last member reaches it, so the walk goes on with that member's op. Then it asks why that op was not ready earlier:
// because another op of the rank ended then (go on there), or because the CPU issued it then (the time back to where
// the CPU was last set free is the host's, and the walk goes on with the op that had held the CPU). At time zero the
// path ends, and every picosecond of the step has been charged once.
#include "metrics/blame.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace takt {
namespace {

struct Place {
  RankId rank{};
  OpId op{};
};

const Program& program_of(const Plan& plan, RankId rank) {
  return plan.programs[index(plan.ranks[index(rank)].role)];
}

/// The op that ends last; the first such of the first rank.
Place last_op(const Timeline& timeline) {
  for (std::size_t rank = 0; rank < timeline.ops.size(); ++rank) {
    const std::vector<OpRecord>& records = timeline.ops[rank];
    const auto last = std::find_if(records.begin(), records.end(),
                                   [&](const OpRecord& record) { return record.end == timeline.end; });
    if (last != records.end()) {
      return {id_at<RankId>(rank), id_at<OpId>(static_cast<std::size_t>(last - records.begin()))};
    }
  }
  unreachable("no op ends at the end of the timeline");
}

/// Position of the collective `op` among the calls of its communicator slot.
std::size_t call_number(const Program& program, OpId op, CommSlot slot) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < index(op); ++i) {
    const auto* call = std::get_if<Collective>(&program.ops[i].work);
    if (call != nullptr && call->comm == slot) ++number;
  }
  return number;
}

/// The op by which `member` takes part in the collective at `place`.
Place same_call(const Plan& plan, Place place, RankId member) {
  const RoleId role = plan.ranks[index(place.rank)].role;
  if (plan.ranks[index(member)].role == role) return {member, place.op};
  const CommSlot slot = std::get<Collective>(program_of(plan, place.rank).ops[index(place.op)].work).comm;
  std::size_t left = call_number(program_of(plan, place.rank), place.op, slot);
  const Program& program = program_of(plan, member);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto* call = std::get_if<Collective>(&program.ops[i].work);
    if (call == nullptr || call->comm != slot) continue;
    if (left-- == 0) return {member, id_at<OpId>(i)};
  }
  unreachable("a member of a communicator does not take part in its call");
}

std::string name_of(const Charge& charge, const Op& op, const ResourceTable& resources) {
  const bool is_collective = std::holds_alternative<Collective>(op.work);
  switch (charge.cause) {
    case Cause::resource:
      return resources[index(charge.resource)].name;
    case Cause::own_speed:
      if (is_collective) return "NCCL's own limit";
      return std::holds_alternative<Copy>(op.work) ? "copies at their limit" : "compute";
    case Cause::sms:
      return "SMs taken by others";
    case Cause::latency:
      return is_collective ? "latency of collectives" : "latency of copies";
    case Cause::member:
      return "waiting for the last member";
    case Cause::host:
      return "host";
    case Cause::none:
      return "waiting";
  }
  unreachable("an unknown cause");
}

class Walk {
 public:
  Walk(const Plan& plan, const Timeline& timeline, const ResourceTable& resources)
      : plan_(plan), timeline_(timeline), resources_(resources) {}

  std::map<std::string, Duration> charge_back_from(Place place) {
    while (true) {
      place = charge_span(place);
      const StartReason& reason = timeline_.reasons[index(place.rank)][index(place.op)];
      const Duration ready = record(place).ready;
      const bool has_op = reason.kind != StartReason::Kind::begin && reason.op != StartReason::no_op;
      const Place before{place.rank, id_at<OpId>(has_op ? reason.op : 0)};
      const Duration gap = ready - (has_op ? record(before).end : Duration{});
      if (gap > Duration{}) charges_["host"] += gap;
      if (!has_op) return charges_;
      place = before;
    }
  }

 private:
  const OpRecord& record(Place place) const { return timeline_.ops[index(place.rank)][index(place.op)]; }

  RankId first_member(Place place) const {
    const auto& call = std::get<Collective>(program_of(plan_, place.rank).ops[index(place.op)].work);
    const CommunicatorId comm = plan_.ranks[index(place.rank)].communicators[index(call.comm)];
    return plan_.communicators[index(comm)].members.front();
  }

  /// Charges the op's time; returns the op whose readiness began it: itself, or a collective's last member.
  Place charge_span(Place place) {
    const Op& op = program_of(plan_, place.rank).ops[index(place.op)];
    const bool is_collective = std::holds_alternative<Collective>(op.work);
    const Place told = is_collective ? same_call(plan_, place, first_member(place)) : place;  // see Timeline::charges
    const auto [first, last] = charges_of(timeline_, told.rank, told.op);
    for (const Charge* charge = first; charge != last; ++charge) {
      const bool before_start = is_collective && charge->cause == Cause::member;
      if (charge->time > Duration{} && !before_start) charges_[name_of(*charge, op, resources_)] += charge->time;
    }
    return is_collective ? same_call(plan_, place, record(place).last_member) : place;
  }

  const Plan& plan_;
  const Timeline& timeline_;
  const ResourceTable& resources_;
  std::map<std::string, Duration> charges_;
};

}  // namespace

std::vector<BlameEntry> blame(const Plan& plan, const Timeline& timeline, const ResourceTable& resources) {
  std::vector<BlameEntry> entries;
  if (timeline.end == Duration{}) return entries;
  Duration sum{};
  for (const auto& [name, time] : Walk(plan, timeline, resources).charge_back_from(last_op(timeline))) {
    entries.push_back({name, time, to_seconds(time) / to_seconds(timeline.end)});
    sum += time;
  }
  expects(sum == timeline.end, "blame adds up to the step time");
  std::stable_sort(entries.begin(), entries.end(),
                   [](const BlameEntry& a, const BlameEntry& b) { return a.time > b.time; });
  return entries;
}

}  // namespace takt
