#include "naive_flows.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <variant>

namespace takt::bench {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct NaiveFlow {
  std::size_t number = 0;
  double begins_s = 0.0;  ///< its latency has passed
  double left_bytes = 0.0;
  double weight = 1.0;
  double rate = 0.0;
  bool frozen = false;
  std::vector<std::size_t> links;
};

std::vector<NaiveFlow> flows_of(const oracle::FlowCase& flow_case) {
  std::vector<NaiveFlow> flows;
  for (std::size_t i = 0; i < flow_case.plan.ranks.size(); ++i) {
    const CopyPath& path = flow_case.plan.ranks[i].paths.front();
    const std::vector<Op>& ops = flow_case.plan.programs[i].ops;
    NaiveFlow& flow = flows.emplace_back();
    flow.number = i;
    flow.begins_s = to_seconds(std::get<HostWork>(ops[0].work).time + path.latency);
    flow.left_bytes = static_cast<double>(std::get<Copy>(ops[1].work).bytes.count());
    flow.weight = path.weight;
    for (const Demand& demand : path.demands) flow.links.push_back(index(demand.resource));
  }
  std::stable_sort(flows.begin(), flows.end(),
                   [](const NaiveFlow& a, const NaiveFlow& b) { return a.begins_s < b.begins_s; });
  return flows;
}

/// Progressive filling: the link with the lowest level freezes its flows; again until none is left.
void solve_all(std::vector<NaiveFlow>& running, const ResourceTable& links) {
  std::vector<double> left(links.size()), weight(links.size(), 0.0);
  for (std::size_t link = 0; link < links.size(); ++link) left[link] = links[link].capacity;
  for (NaiveFlow& flow : running) {
    flow.frozen = false;
    for (const std::size_t link : flow.links) weight[link] += flow.weight;
  }
  for (std::size_t open = running.size(); open > 0;) {
    std::size_t lowest = 0;
    double level = never;
    for (std::size_t link = 0; link < links.size(); ++link) {
      if (weight[link] > 0.0 && left[link] / weight[link] < level) {
        lowest = link;
        level = left[link] / weight[link];
      }
    }
    for (NaiveFlow& flow : running) {
      if (flow.frozen || std::find(flow.links.begin(), flow.links.end(), lowest) == flow.links.end()) continue;
      flow.frozen = true;
      flow.rate = level * flow.weight;
      --open;
      for (const std::size_t link : flow.links) {
        left[link] = std::max(0.0, left[link] - flow.rate);
        weight[link] -= flow.weight;
      }
    }
    weight[lowest] = 0.0;
  }
}

}  // namespace

std::vector<double> play_naively(const oracle::FlowCase& flow_case) {
  const std::vector<NaiveFlow> flows = flows_of(flow_case);
  std::vector<double> ends_s(flows.size(), 0.0);
  std::vector<NaiveFlow> running;
  double now_s = 0.0;
  for (std::size_t next = 0; next < flows.size() || !running.empty();) {
    double until_s = next < flows.size() ? flows[next].begins_s : never;
    for (const NaiveFlow& flow : running) until_s = std::min(until_s, now_s + flow.left_bytes / flow.rate);
    for (NaiveFlow& flow : running) flow.left_bytes -= flow.rate * (until_s - now_s);
    now_s = until_s;
    constexpr double rounding_bytes = 1e-3;
    std::erase_if(running, [&](const NaiveFlow& flow) {
      if (flow.left_bytes > rounding_bytes) return false;
      ends_s[flow.number] = now_s;
      return true;
    });
    for (; next < flows.size() && flows[next].begins_s <= now_s; ++next) running.push_back(flows[next]);
    solve_all(running, flow_case.resources);
  }
  return ends_s;
}

}  // namespace takt::bench
