// Small plans written by hand.
#pragma once

#include <string>
#include <vector>

#include "engine/simulate.hpp"
#include "plan/plan.hpp"

namespace takt::test {

constexpr Duration ms(double value) { return Duration(static_cast<std::int64_t>(value * 1e9)); }
constexpr Duration us(double value) { return Duration(static_cast<std::int64_t>(value * 1e6)); }

/// A program being written by hand, op by op.
struct Script {
  Program program;

  Script() { program.labels = {"op"}; }
  StreamId stream(const std::string& name) {
    program.streams.push_back({StreamKind::compute, name});
    return id_at<StreamId>(program.streams.size() - 1);
  }
  CommSlot comm(std::vector<CollectiveCall> calls) {
    program.comms.push_back({"comm", std::move(calls)});
    return id_at<CommSlot>(program.comms.size() - 1);
  }
  OpId op(StreamId on, Work work, std::vector<OpId> waits = {}, Duration issue_cost = {}) {
    Op op;
    op.stream = on;
    op.work = work;
    op.waits = std::move(waits);
    op.issue_cost = issue_cost;
    program.ops.push_back(op);
    return id_at<OpId>(program.ops.size() - 1);
  }
  OpId kernel(StreamId on, Duration time, double bytes = 0.0, std::vector<OpId> waits = {}) {
    Segment segment;
    segment.time = time;
    segment.memory_bytes = bytes;
    return op(on, segment, std::move(waits));
  }
  OpId call(StreamId on, CommSlot comm, std::uint32_t number, std::vector<OpId> waits = {}) {
    return op(on, Collective{comm, number}, std::move(waits));
  }
};

/// Adds a rank with its own program and card memory; returns its number.
inline std::size_t add_rank(Plan& plan, ResourceTable& resources, Script script, double memory_bandwidth) {
  RankBinding rank;
  rank.role = id_at<RoleId>(plan.programs.size());
  rank.name = "rank " + std::to_string(plan.ranks.size());
  rank.memory = id_at<ResourceId>(resources.size());
  rank.sm_count = 100;
  resources.push_back({rank.name + " memory", ResourceKind::card_memory, memory_bandwidth});
  plan.programs.push_back(std::move(script.program));
  plan.ranks.push_back(rank);
  return plan.ranks.size() - 1;
}

inline ResourceId add_link(ResourceTable& resources, const std::string& name, double capacity) {
  resources.push_back({name, ResourceKind::link, capacity});
  return id_at<ResourceId>(resources.size() - 1);
}

/// A communicator over all ranks of `members` whose slot is the next of each; each call is lowered as given.
inline void add_communicator(Plan& plan, std::vector<std::size_t> members, std::vector<LoweredCollective> calls) {
  Communicator comm;
  comm.name = "comm";
  comm.slot = id_at<CommSlot>(plan.ranks[members.front()].communicators.size());
  for (LoweredCollective& call : calls) {
    comm.lowered.push_back(id_at<CollectiveId>(plan.collectives.size()));
    plan.collectives.push_back(std::move(call));
  }
  for (const std::size_t member : members) {
    comm.members.push_back(id_at<RankId>(member));
    plan.ranks[member].communicators.push_back(id_at<CommunicatorId>(plan.communicators.size()));
  }
  plan.communicators.push_back(std::move(comm));
}

inline LoweredCollective one_activity(double work, std::vector<Demand> demands, std::int64_t ctas = 0,
                                      Duration fixed = {}) {
  LoweredCollective call;
  call.fixed = fixed;
  call.ctas = ctas;
  Activity activity;
  activity.work = work;
  activity.demands = std::move(demands);
  call.activities = {activity};
  return call;
}

}  // namespace takt::test
