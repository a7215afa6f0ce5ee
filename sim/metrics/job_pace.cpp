#include "metrics/job_pace.hpp"

#include <algorithm>
#include <map>

namespace takt {
namespace {

std::size_t role_of(const JoinedPlan& joined, const JoinedPart& part, std::uint32_t rank) {
  return index(joined.plan.ranks[rank].role) - part.first_role;
}

}  // namespace

std::vector<Duration> step_ends(const JoinedPlan& joined, std::size_t part_number, const Timeline& timeline) {
  const JoinedPart& part = joined.parts[part_number];
  std::vector<Duration> ends(part.steps.front().size() - 1);
  for (std::uint32_t rank = part.first_rank; rank < part.first_rank + part.ranks; ++rank) {
    const std::vector<std::uint32_t>& begins = part.steps[role_of(joined, part, rank)];
    for (std::size_t step = 0; step < ends.size(); ++step) {
      for (std::uint32_t op = begins[step]; op < begins[step + 1]; ++op) {
        ends[step] = std::max(ends[step], timeline.ops[rank][op].end);
      }
    }
  }
  return ends;
}

std::vector<std::optional<JobPace>> paces(const JoinedPlan& joined, const Timeline& timeline) {
  std::vector<std::vector<Duration>> ends;
  for (std::size_t part = 0; part < joined.parts.size(); ++part) ends.push_back(step_ends(joined, part, timeline));
  Duration all_ran_until = ends.front().back();
  for (const std::vector<Duration>& of_job : ends) all_ran_until = std::min(all_ran_until, of_job.back());
  std::vector<std::optional<JobPace>> result;
  for (const std::vector<Duration>& of_job : ends) {
    const auto whole = std::count_if(of_job.begin(), of_job.end(), [&](Duration end) { return end <= all_ran_until; });
    if (whole < 2) {
      result.emplace_back();
      continue;
    }
    const Duration time = of_job[static_cast<std::size_t>(whole - 1)] - of_job.front();
    result.push_back(JobPace{time / (whole - 1), whole - 1});
  }
  return result;
}

std::vector<ResourceWait> resource_waits(const JoinedPlan& joined, std::size_t part_number, const Timeline& timeline,
                                         const ResourceTable& resources) {
  const JoinedPart& part = joined.parts[part_number];
  std::map<std::string, Duration> sums;
  for (std::uint32_t rank = part.first_rank; rank < part.first_rank + part.ranks; ++rank) {
    for (const Charge& charge : timeline.charges[rank]) {
      if (charge.cause == Cause::resource) sums[resources[index(charge.resource)].name] += charge.time;
    }
  }
  const auto steps = static_cast<std::int64_t>(part.steps.front().size() - 1);
  std::vector<ResourceWait> waits;
  for (const auto& [name, time] : sums) waits.push_back({name, time / (steps * part.ranks)});
  std::stable_sort(waits.begin(), waits.end(),
                   [](const ResourceWait& a, const ResourceWait& b) { return a.time > b.time; });
  return waits;
}

}  // namespace takt
