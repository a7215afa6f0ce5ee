// Jobs that run at the same time on one machine: how much each slows down and what they do together.
#pragma once

#include "metrics/job_pace.hpp"
#include "metrics/step_metrics.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

/// One job.
struct JobResult {
  std::string name;
  std::vector<std::int64_t> cards;
  RunResult alone;                    ///< its scenario without the others
  Duration step_alone{};              ///< mean of steps one after another, as `step_time`
  Duration step_time{};               ///< beside the others
  std::int64_t steps = 0;             ///< over which step_time is the mean
  std::vector<ResourceWait> more_waits;  ///< time a step and rank that it waits for resources more than alone

  double slowdown() const { return to_seconds(step_time) / to_seconds(step_alone); }
  double tokens_per_second_alone() const { return tokens() / to_seconds(step_alone); }
  double tokens_per_second() const { return tokens() / to_seconds(step_time); }

 private:
  double tokens() const { return static_cast<double>(alone.metrics.tokens_per_step); }
};

struct JobsResult {
  std::string file;
  std::string title;
  std::string topology;  ///< its title
  std::vector<JobResult> jobs;
  std::vector<LinkMetrics> links;  ///< that two jobs or more used, by mean utilisation
};

/// Tokens a second of all jobs beside each other, and the sum of what each would do alone.
double tokens_per_second(const JobsResult& result);
double tokens_per_second_alone(const JobsResult& result);

/// A line a job, the sum, and the shared links.
std::string jobs_table(const JobsResult& result);

/// Schema takt.jobs/1: keys are only added, never renamed; times in seconds.
std::string jobs_json(const JobsResult& result);

/// A line a job.
std::string jobs_csv(const JobsResult& result);

}  // namespace takt
