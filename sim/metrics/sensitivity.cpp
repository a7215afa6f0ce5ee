#include "metrics/sensitivity.hpp"

#include "engine/simulate.hpp"

#include <cctype>
#include <cmath>
#include <set>

namespace takt {
namespace {

Plan with_faster_kernels(Plan plan, double factor) {
  for (RankBinding& rank : plan.ranks) rank.speed *= factor;
  return plan;
}

/// The memories that faster kernels need: a kernel's price does not say what bounds it.
ResourceTable with_faster_memories(ResourceTable resources, double factor) {
  for (Resource& resource : resources) {
    if (resource.kind == ResourceKind::card_memory) resource.capacity *= factor;
  }
  return resources;
}

Plan with_higher_caps(Plan plan, double factor) {
  for (LoweredCollective& collective : plan.collectives) {
    for (Activity& activity : collective.activities) activity.cap *= factor;
  }
  return plan;
}

Duration shorter(Duration time, double factor) {
  return Duration(std::llround(static_cast<double>(time.count()) / factor));
}

Plan with_shorter_latencies(Plan plan, double factor) {
  for (LoweredCollective& collective : plan.collectives) {
    collective.fixed = shorter(collective.fixed, factor);
    for (Activity& activity : collective.activities) activity.latency = shorter(activity.latency, factor);
  }
  return plan;
}

/// Kinds of the resources that collectives and copies use, in alphabetical order.
std::set<std::string> kinds_in_use(const Plan& plan, const ResourceTable& resources) {
  std::set<std::string> kinds;
  const auto add = [&](const std::vector<Demand>& demands) {
    for (const Demand& demand : demands) kinds.insert(kind_of_resource(resources[index(demand.resource)].name));
  };
  for (const LoweredCollective& collective : plan.collectives) {
    for (const Activity& activity : collective.activities) add(activity.demands);
  }
  for (const RankBinding& rank : plan.ranks) {
    for (const CopyPath& path : rank.paths) add(path.demands);
  }
  return kinds;
}

ResourceTable with_more_of(ResourceTable resources, const std::string& kind, double factor) {
  for (Resource& resource : resources) {
    if (kind_of_resource(resource.name) == kind) resource.capacity *= factor;
  }
  return resources;
}

}  // namespace

std::string kind_of_resource(const std::string& name) {
  std::string kind;
  for (const char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kind += c;
  }
  return kind;
}

Result<std::vector<Sensitivity>> sensitivities(const Plan& plan, const ResourceTable& resources, double factor) {
  std::vector<Sensitivity> list;
  Diagnostics errors;
  const auto play = [&](const std::string& name, const Plan& changed, const ResourceTable& table) {
    const Result<Timeline> timeline = simulate(changed, table, {});
    if (timeline) list.push_back({name, timeline->end - timeline->begin});
    else errors = timeline.diagnostics();
  };
  play("compute", with_faster_kernels(plan, factor), with_faster_memories(resources, factor));
  if (!plan.collectives.empty()) {
    play("NCCL's own limits", with_higher_caps(plan, factor), resources);
    play("latency of collectives (shorter)", with_shorter_latencies(plan, factor), resources);
  }
  for (const std::string& kind : kinds_in_use(plan, resources)) play(kind, plan, with_more_of(resources, kind, factor));
  if (has_error(errors)) return errors;
  return list;
}

}  // namespace takt
