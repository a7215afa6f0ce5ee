// Random plans that end: ranks in groups with a communicator each, one communicator over all, kernels, copies and host
// waits on a few streams.
#pragma once

#include <random>

#include "../engine/plans.hpp"

namespace takt::test {

struct RandomPlan {
  Plan plan;
  ResourceTable resources;
};

inline RandomPlan random_plan(unsigned seed, std::size_t groups, std::size_t group_size, std::size_t ops) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(0.2, 2.0);
  RandomPlan result;
  Script script;
  const StreamId streams[] = {script.stream("compute"), script.stream("copy"), script.stream("a"), script.stream("b")};
  const CommSlot group = script.comm({{CollectiveKind::all_gather, Bytes(1)}, {CollectiveKind::reduce_scatter, Bytes(1)}});
  const CommSlot world = script.comm({{CollectiveKind::all_reduce, Bytes(1)}});
  while (script.program.ops.size() < ops) {
    const std::size_t i = script.program.ops.size();
    std::vector<OpId> waits;
    if (i > 0 && random() % 2 == 0) waits.push_back(id_at<OpId>(random() % i));
    const StreamId on = streams[random() % 4];
    const auto kind = random() % 10;
    if (kind < 4) {
      script.kernel(on, us(100.0 * real(random)), random() % 3 == 0 ? 0.0 : 2e5 * real(random), waits);
    } else if (kind < 7) {
      script.call(on, group, static_cast<std::uint32_t>(random() % 2), waits);
    } else if (kind == 7) {
      script.call(on, world, 0, waits);
    } else if (kind == 8) {
      script.op(on, Copy{0, Bytes(static_cast<std::int64_t>(1e5 * real(random)))}, waits, us(3));
    } else if (i > 0) {
      script.op(on, random() % 2 == 0 ? Work{HostWait{id_at<OpId>(random() % i)}} : Work{HostWork{us(20.0 * real(random))}});
    }
  }
  const std::size_t ranks = groups * group_size;
  result.plan.programs.push_back(script.program);
  std::vector<ResourceId> uplinks;
  for (std::size_t g = 0; g < groups; ++g) uplinks.push_back(add_link(result.resources, "uplink", 1.5e9 * real(random)));
  const ResourceId spine = add_link(result.resources, "spine", 2e9 * static_cast<double>(groups));
  for (std::size_t r = 0; r < ranks; ++r) {
    RankBinding rank;
    rank.name = "rank " + std::to_string(r);
    rank.memory = id_at<ResourceId>(result.resources.size());
    rank.sm_count = 64;
    rank.copy_engines = 1;
    rank.speed = r % 5 == 4 ? 0.9 : 1.0;
    result.resources.push_back({rank.name + " memory", ResourceKind::card_memory, 4e9});
    rank.paths.push_back({"path", {{uplinks[r / group_size], 1.0}, {rank.memory, 1.0}}, us(1)});
    result.plan.ranks.push_back(rank);
  }
  const auto demands = [&](std::size_t first, std::size_t count, bool across) {
    std::vector<Demand> list = {{across ? spine : uplinks[first / group_size], across ? 1.0 : 2.0}};
    for (std::size_t r = first; r < first + count; ++r) list.push_back({result.plan.ranks[r].memory, 2.0});
    return list;
  };
  for (std::size_t g = 0; g < groups; ++g) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < group_size; ++i) members.push_back(g * group_size + i);
    add_communicator(result.plan, members,
                     {one_activity(2e5, demands(g * group_size, group_size, false), 4, us(5)),
                      one_activity(1e5, demands(g * group_size, group_size, false), 2)});
  }
  std::vector<std::size_t> all;
  for (std::size_t r = 0; r < ranks; ++r) all.push_back(r);
  add_communicator(result.plan, all, {one_activity(3e5, demands(0, ranks, true), 8, us(10))});
  return result;
}

}  // namespace takt::test
