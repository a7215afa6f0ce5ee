// Collectives: every member reaches the call, the call pays its fixed time, its activities run, all members end together.
//
// A member holds its CTAs from the moment it reaches the call, waiting for late members included (semantics H4): that is
// when NCCL's kernel is resident. Activities that wait for others (`after`) make the chunked fidelity; the fluid form has
// one activity a channel and no order among them.
#include <algorithm>

#include "base/contract.hpp"
#include "engine/run.hpp"
#include "engine/run_owner.hpp"

namespace takt {

const LoweredCollective& Run::lowered(std::uint32_t comm) const { return plan_.collectives[comms_[comm].collective]; }

void Run::reach_collective(Instance at) {
  const auto& call = std::get<Collective>(program(at.rank).ops[at.op].work);
  const auto comm = static_cast<std::uint32_t>(plan_.ranks[at.rank].communicators[index(call.comm)]);
  const Communicator& communicator = plan_.communicators[comm];
  CommState& state = comms_[comm];
  const auto collective = static_cast<std::uint32_t>(communicator.lowered[call.call]);
  if (state.arrived == 0) state.collective = collective;
  expects(state.collective == collective, "the members of a communicator make different calls");
  const auto& members = communicator.members;
  const auto position = static_cast<std::size_t>(
      std::lower_bound(members.begin(), members.end(), id_at<RankId>(at.rank)) - members.begin());
  expects(position < members.size() && index(members[position]) == at.rank, "a rank calls a communicator it is not in");
  state.ops[position] = at.op;
  state.last_member = at.rank;
  ranks_[at.rank].held_ctas += plan_.collectives[collective].ctas;
  mark_speed(at.rank);
  if (++state.arrived == members.size()) start_collective(comm);
}

void Run::start_collective(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const auto& members = plan_.communicators[comm].members;
  state.start = now_;
  for (std::size_t m = 0; m < members.size(); ++m) {
    OpRecord& span = record({static_cast<std::uint32_t>(members[m]), state.ops[m]});
    span.start = now_;
    span.last_member = span.ready == now_ ? members[m] : id_at<RankId>(state.last_member);
  }
  const Duration fixed = lowered(comm).fixed;
  if (fixed > Duration{}) {
    add_timer(now_ + fixed, TimerKind::collective_starts, comm, 0);
  } else {
    start_parts(comm);
  }
}

void Run::start_parts(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const auto& activities = lowered(comm).activities;
  state.parts.assign(activities.size(), Part{});
  state.open_parts = static_cast<std::uint32_t>(activities.size());
  if (activities.empty()) return collective_done(comm);
  for (std::uint32_t p = 0; p < activities.size(); ++p) {
    state.parts[p].open = static_cast<std::uint32_t>(activities[p].after.size());
  }
  for (std::uint32_t p = 0; p < activities.size(); ++p) {
    if (activities[p].after.empty()) release_part(comm, p);
  }
}

void Run::release_part(std::uint32_t comm, std::uint32_t part) {
  const Activity& activity = lowered(comm).activities[part];
  if (activity.latency > Duration{}) {
    comms_[comm].parts[part].charges.push_back({Cause::latency, {}, activity.latency});
    add_timer(now_ + activity.latency, TimerKind::part_starts, comm, part);
  } else {
    begin_part(comm, part);
  }
}

void Run::begin_part(std::uint32_t comm, std::uint32_t part) {
  const Activity& activity = lowered(comm).activities[part];
  if (!(activity.work > 0.0)) return part_done(comm, part, {});
  fluid_.start(now_, {.work = activity.work,
                      .cap = activity.cap,
                      .weight = activity.weight,
                      .payload = activity.payload,
                      .demands = activity.demands,
                      .owner = part_owner(comm, part)});
}

const std::vector<std::vector<std::uint32_t>>& Run::successors(std::uint32_t collective) {
  auto& list = successors_[collective];
  const auto& activities = plan_.collectives[collective].activities;
  if (list.empty()) {
    list.resize(activities.size());
    for (std::uint32_t p = 0; p < activities.size(); ++p) {
      for (const std::uint32_t before : activities[p].after) list[before].push_back(p);
    }
  }
  return list;
}

void Run::part_done(std::uint32_t comm, std::uint32_t part, const std::vector<Charge>& charges) {
  CommState& state = comms_[comm];
  auto& own = state.parts[part].charges;
  own.insert(own.end(), charges.begin(), charges.end());
  state.last_part = part;
  --state.open_parts;
  for (const std::uint32_t next : successors(state.collective)[part]) {
    Part& waiting = state.parts[next];
    if (--waiting.open > 0) continue;
    waiting.released_by = part;
    release_part(comm, next);
  }
  // A part without work may have ended inside the loop above; the last of all ends the call, once.
  if (state.open_parts == 0 && state.last_part == part) collective_done(comm);
}

/// Charges the members with the chain of activities that ended last, and ends the call on all of them.
void Run::collective_done(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const LoweredCollective& collective = lowered(comm);
  std::vector<std::uint32_t> chain;
  if (!state.parts.empty()) {
    for (std::uint32_t p = state.last_part; p != StartReason::no_op; p = state.parts[p].released_by) chain.push_back(p);
  }
  std::vector<Charge> charges;
  for (auto p = chain.rbegin(); p != chain.rend(); ++p) {
    charges.insert(charges.end(), state.parts[*p].charges.begin(), state.parts[*p].charges.end());
  }
  const auto& members = plan_.communicators[comm].members;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Instance at{static_cast<std::uint32_t>(members[m]), state.ops[m]};
    charge(at, {{Cause::member, {}, state.start - record(at).ready}, {Cause::latency, {}, collective.fixed}}, charges);
    ranks_[at.rank].held_ctas -= collective.ctas;
    mark_speed(at.rank);
    done_.push_back(at);
  }
  state.arrived = 0;
}

}  // namespace takt
