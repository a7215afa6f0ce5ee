// The activities of a collective that runs, in their order: what ends releases what waited for it.
//
// A ring over a thousand cards is a million messages, of which a thousand end in one instant. Those of an instant are
// ended, released and started together; what follows does not depend on the order in which they ended.
#include <algorithm>

#include "engine/run.hpp"
#include "engine/run_owner.hpp"

namespace takt {

const Run::Order& Run::order_of(std::uint32_t collective) {
  Order& order = orders_[collective];
  const std::vector<Activity>& activities = plan_.collectives[collective].activities;
  if (!order.first_successor.empty()) return order;
  order.first_successor.assign(activities.size() + 1, 0);
  order.waits_for.reserve(activities.size());
  for (const Activity& activity : activities) {
    order.waits_for.push_back(static_cast<std::uint32_t>(activity.after.size()));
    for (const std::uint32_t before : activity.after) ++order.first_successor[before + 1];
  }
  for (std::size_t p = 0; p < activities.size(); ++p) order.first_successor[p + 1] += order.first_successor[p];
  order.successors.resize(order.first_successor.back());
  std::vector<std::uint32_t> cursor(order.first_successor.begin(), order.first_successor.end() - 1);
  for (std::uint32_t p = 0; p < activities.size(); ++p) {
    for (const std::uint32_t before : activities[p].after) order.successors[cursor[before]++] = p;
  }
  return order;
}

void Run::start_parts(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const Order& order = order_of(state.collective);
  const std::size_t count = order.waits_for.size();
  state.open_parts = static_cast<std::uint32_t>(count);
  if (count == 0) return collective_done(comm);
  state.charges.clear();
  state.parts.resize(count);
  std::vector<std::uint32_t> first;
  for (std::uint32_t p = 0; p < count; ++p) {
    state.parts[p] = {};
    state.parts[p].open = order.waits_for[p];
    if (order.waits_for[p] == 0) first.push_back(p);
  }
  release_parts(comm, first);
}

/// Nothing that these wait for is open any more.
void Run::release_parts(std::uint32_t comm, const std::vector<std::uint32_t>& parts) {
  const std::vector<Activity>& activities = lowered(comm).activities;
  std::vector<std::uint32_t> without_latency;
  for (const std::uint32_t part : parts) {
    if (activities[part].latency > Duration{}) {
      add_timer(now_ + activities[part].latency, TimerKind::part_starts, comm, part);
    } else {
      without_latency.push_back(part);
    }
  }
  begin_parts(comm, without_latency);
}

void Run::begin_parts(std::uint32_t comm, const std::vector<std::uint32_t>& parts) {
  const std::vector<Activity>& activities = lowered(comm).activities;
  static const std::vector<Charge> no_charges;
  std::vector<EndedPart> without_work;
  for (const std::uint32_t part : parts) {
    const Activity& activity = activities[part];
    if (!(activity.work > 0.0)) {
      without_work.push_back({comm, part, &no_charges});
      continue;
    }
    fluid_.start(now_, {.work = activity.work,
                        .cap = activity.cap,
                        .weight = activity.weight,
                        .payload = activity.payload,
                        .demands = activity.demands,
                        .owner = part_owner(comm, part)});
  }
  if (!without_work.empty()) end_parts_of(comm, without_work);
}

void Run::end_parts(std::vector<EndedPart>& ended) {
  const auto by_comm = [](const EndedPart& a, const EndedPart& b) { return a.comm < b.comm; };
  std::stable_sort(ended.begin(), ended.end(), by_comm);
  for (auto first = ended.begin(); first != ended.end();) {
    const auto last = std::upper_bound(first, ended.end(), *first, by_comm);
    end_parts_of(first->comm, {first, last});
    first = last;
  }
}

void Run::end_parts_of(std::uint32_t comm, std::span<const EndedPart> ended) {
  CommState& state = comms_[comm];
  const Order& order = order_of(state.collective);
  std::vector<std::uint32_t> released;
  for (const EndedPart& end : ended) {
    Part& part = state.parts[end.part];
    part.done = now_;
    part.first_charge = static_cast<std::uint32_t>(state.charges.size());
    part.charge_count = static_cast<std::uint32_t>(end.charges->size());
    state.charges.insert(state.charges.end(), end.charges->begin(), end.charges->end());
    for (std::uint32_t s = order.first_successor[end.part]; s < order.first_successor[end.part + 1]; ++s) {
      const std::uint32_t next = order.successors[s];
      if (--state.parts[next].open == 0) released.push_back(next);
    }
  }
  std::sort(released.begin(), released.end());
  state.open_parts -= static_cast<std::uint32_t>(ended.size());
  state.last_part = ended.back().part;
  if (state.open_parts == 0) return collective_done(comm);
  if (!released.empty()) release_parts(comm, released);
}

}  // namespace takt
