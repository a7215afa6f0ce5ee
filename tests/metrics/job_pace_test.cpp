// Jobs that share a machine: hand-made plans whose joint times can be written down.
#include "metrics/job_pace.hpp"

#include "catch.hpp"
#include "engine/plans.hpp"
#include "engine/simulate.hpp"

using namespace takt;
using takt::test::ms;

namespace {

/// One rank that copies `bytes` over the resource 1 (1 GB/s) after a kernel of `kernel`.
struct CopyJob {
  Plan plan;
  ResourceTable resources;

  CopyJob(double bytes, Duration kernel) {
    test::Script script;
    const StreamId compute = script.stream("compute");
    const OpId first = script.kernel(compute, kernel);
    script.op(script.stream("copies"), Copy{0, Bytes(static_cast<std::int64_t>(bytes))}, {first});
    test::add_rank(plan, resources, std::move(script), 1e12);
    const ResourceId link = test::add_link(resources, "link", 1e9);
    plan.ranks[0].paths.push_back({"to host", {{link, 1.0}}});
  }
};

/// The pace of each job of one joint run on the first job's resources.
std::vector<std::optional<JobPace>> together(const std::vector<const CopyJob*>& jobs, std::vector<std::int64_t> steps) {
  std::vector<PlanPart> parts;
  for (std::size_t i = 0; i < jobs.size(); ++i) parts.push_back({&jobs[i]->plan, std::to_string(i), steps[i], {}});
  const JoinedPlan plan = joined(parts);
  return paces(plan, simulate(plan.plan, jobs.front()->resources).value());
}

}  // namespace

TEST_CASE("a job alone takes its own time, step after step", "[metrics][jobs]") {
  const CopyJob job(1e8, ms(50));  // 50 ms of kernel, 100 ms of copy
  const auto pace = together({&job}, {4}).front();
  REQUIRE(pace);
  CHECK(pace->step_time == ms(150));
  CHECK(pace->steps == 3);
}

TEST_CASE("two jobs that only copy share the link evenly", "[metrics][jobs]") {
  const CopyJob job(1e8, ms(0.001));
  const auto pace = together({&job, &job}, {5, 5});
  for (const auto& each : pace) {
    REQUIRE(each);
    CHECK(to_seconds(each->step_time) == Approx(0.200).epsilon(1e-4));
  }
}

TEST_CASE("jobs with as much kernel as copy take turns at the link", "[metrics][jobs]") {
  // Alone a step takes 200 ms. Together they start alike and copy at half speed: 300 ms a step, for ever.
  const CopyJob job(1e8, ms(100));
  const auto pace = together({&job, &job}, {5, 5});
  for (const auto& each : pace) CHECK(to_seconds(each->step_time) == Approx(0.300));
}

TEST_CASE("jobs that share nothing do not slow down", "[metrics][jobs]") {
  const CopyJob job(1e8, ms(50));
  std::vector<PlanPart> parts{{&job.plan, "a", 3, {}}, {&job.plan, "b", 3, {}}};
  ResourceTable resources = job.resources;
  parts[1].resources[id_at<ResourceId>(1)] = test::add_link(resources, "another link", 1e9);
  parts[1].resources[id_at<ResourceId>(0)] = test::add_link(resources, "another memory", 1e12);
  const JoinedPlan plan = joined(parts);
  for (const auto& pace : paces(plan, simulate(plan.plan, resources).value())) {
    REQUIRE(pace);
    CHECK(pace->step_time == ms(150));
  }
}

TEST_CASE("a pace counts only steps beside all other jobs", "[metrics][jobs]") {
  const CopyJob short_job(1e7, ms(1)), long_job(1e8, ms(900));
  CHECK_FALSE(together({&short_job, &long_job}, {3, 3}).back().has_value());  // the short one ends too early
  const auto pace = together({&short_job, &long_job}, {1000, 3});
  REQUIRE(pace.back());
  CHECK(pace.back()->steps >= 1);
  CHECK(pace.front()->steps > 100);
}

TEST_CASE("what a job waits for more is the link that it shares", "[metrics][jobs]") {
  const CopyJob job(1e8, ms(50));
  const auto wait = [&](std::size_t jobs) {
    const std::vector<PlanPart> parts(jobs, {&job.plan, "job", 3, {}});
    const JoinedPlan plan = joined(parts);
    return resource_waits(plan, 0, simulate(plan.plan, job.resources).value(), job.resources);
  };
  REQUIRE(wait(1).size() == 1);
  CHECK(wait(1).front().resource == "link");
  CHECK(wait(1).front().time == ms(100));
  CHECK(wait(2).front().time == ms(200));
}
