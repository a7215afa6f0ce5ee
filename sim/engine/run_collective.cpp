// Collectives: every member reaches the call, the call pays its fixed time, its activities run, all members end together.
//
// A member holds its CTAs from the moment it reaches the call, waiting for late members included (semantics H4): that is
// when NCCL's kernel is resident. Activities that wait for others (`after`) make the chunked fidelity; the fluid form has
// one activity a channel and no order among them.
#include <algorithm>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "engine/run.hpp"

namespace takt {
namespace {

/// More charges than this are summed up: by cause, under the resource that took most of it.
constexpr std::size_t most_charges = 16;

std::vector<Charge> condensed_charges(const std::vector<Charge>& charges) {
  if (charges.size() <= most_charges) return charges;
  std::map<std::pair<Cause, ResourceId>, Duration> by_resource;
  for (const Charge& charge : charges) by_resource[{charge.cause, charge.resource}] += charge.time;
  std::map<Cause, Charge> by_cause;
  std::map<Cause, Duration> most;
  for (const auto& [key, time] : by_resource) {
    Charge& sum = by_cause[key.first];
    sum.cause = key.first;
    sum.time += time;
    if (time > most[key.first]) {
      most[key.first] = time;
      sum.resource = key.second;
    }
  }
  std::vector<Charge> condensed;
  for (const auto& [cause, sum] : by_cause) condensed.push_back(sum);
  return condensed;
}

}  // namespace

void Run::reach_collective(Instance at) {
  const auto& call = std::get<Collective>(program(at.rank).ops[at.op].work);
  const auto comm = static_cast<std::uint32_t>(plan_.ranks[at.rank].communicators[index(call.comm)]);
  const Communicator& communicator = plan_.communicators[comm];
  CommState& state = comms_[comm];
  const auto collective = static_cast<std::uint32_t>(communicator.lowered[call.call]);
  if (state.arrived == 0) state.collective = collective;
  expects(state.collective == collective, "the members of a communicator make different calls");
  const std::uint32_t position = ranks_[at.rank].places[index(call.comm)];
  state.ops[position] = at.op;
  state.last_member = at.rank;
  ranks_[at.rank].held_ctas += plan_.collectives[collective].ctas;
  mark_speed(at.rank);
  if (++state.arrived == communicator.members.size()) start_collective(comm);
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

/// What the time of the activities was charged to since they `begun`: those of the one that ended last, before them those
/// of the one that it waited for last, and so on.
std::vector<Charge> Run::charges_of_last(const CommState& state, Duration begun) const {
  const Order& order = orders_[state.collective];
  std::vector<Charge> charges;
  if (order.parts->empty()) return charges;
  std::vector<std::uint32_t> chain = {state.last_part};
  for (auto after = order.parts->after(chain.back()); !after.empty(); after = order.parts->after(chain.back())) {
    chain.push_back(*std::max_element(after.begin(), after.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(state.parts[a].done, a) < std::pair(state.parts[b].done, b);
    }));
  }
  for (auto p = chain.rbegin(); p != chain.rend(); ++p) {
    const Part& part = state.parts[*p];
    const std::uint32_t kind = order.parts->activity(*p);
    const Duration latency = plan_.collectives[state.collective].activities[kind].latency;
    if (latency > Duration{}) charges.push_back({Cause::latency, {}, latency});
    if (part.charge_count == 1) {
      charges.push_back({part.cause, id_at<ResourceId>(part.resource_or_first), part.done - begun - latency});
    } else {
      const auto first = state.charges[order.regions[kind]].begin() + part.resource_or_first;
      charges.insert(charges.end(), first, first + part.charge_count);
    }
    begun = part.done;
  }
  return charges;
}

/// Ends the call on all members and charges them with its time. A long chain of messages is told in full of the first
/// member alone (see Timeline).
void Run::collective_done(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const LoweredCollective& collective = lowered(comm);
  const std::vector<Charge> whole = charges_of_last(state, state.start + collective.fixed);
  const std::vector<Charge> condensed = condensed_charges(whole);
  const auto& members = plan_.communicators[comm].members;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Instance at{static_cast<std::uint32_t>(members[m]), state.ops[m]};
    charge(at, {{Cause::member, {}, state.start - record(at).ready}, {Cause::latency, {}, collective.fixed}},
           m == 0 ? whole : condensed);
    ranks_[at.rank].held_ctas -= collective.ctas;
    mark_speed(at.rank);
    done_.push_back(at);
  }
  state.arrived = 0;
}

}  // namespace takt
