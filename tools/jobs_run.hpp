// Runs a file of jobs: each job alone, then all together.
#pragma once

#include "config/jobs.hpp"
#include "pipeline.hpp"
#include "report/jobs_report.hpp"

namespace takt {

/// `check_jobs` reads and cross-checks all jobs and simulates nothing. Errors: a scenario that cannot be read or run, cards that two jobs claim, slices that a card does not have, jobs
/// that disagree about the machine that they share. Warnings of the scenarios are kept.
Diagnostics check_jobs(const JobsFile& file, const Overrides& overrides, Library& library);
Result<JobsResult> run_jobs(const JobsFile& file, const Overrides& overrides, Library& library, Executor* executor);

}  // namespace takt
