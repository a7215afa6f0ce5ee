#include "sweep/sweep_run.hpp"

#include "pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <vector>

namespace takt {
namespace {

/// Points under way for each thread: enough that a slow point does not hold up the others.
constexpr std::size_t points_per_thread = 8;

PointOutcome failed(PointOutcome outcome, const Diagnostics& errors) {
  outcome.status = status_error;
  outcome.errors = errors;
  return outcome;
}

/// A point while it is under way.
struct Slot {
  std::uint64_t point = 0;
  SweepRow row;
};

void count(const SweepRow& row, std::size_t error_column, SweepCounts& counts) {
  constexpr std::size_t status_column = 3;
  const std::string& status = std::get<std::string>(row.cells[status_column].value);
  if (status == status_ok) ++counts.ok;
  if (status == status_unfit) ++counts.unfit;
  if (status != status_error) return;
  if (counts.failed++ == 0) counts.first_error = std::get<std::string>(row.cells[error_column].value);
}

}  // namespace

SweepRow play_point(const SweepDocument& sweep, std::uint64_t point, SharedParts& parts, const SweepOutput& output) {
  PointOutcome outcome{point, std::nullopt, status_ok, nullptr, {}};
  SweepRow row;
  const auto written = [&](const PointOutcome& of) {
    row.cells = sweep_row(sweep, of);
    output.format(row);
    return row;
  };
  Result<Scenario> scenario = sweep.scenario(point);
  if (!scenario) return written(failed(outcome, scenario.diagnostics()));
  outcome.hash = scenario->hash;
  Result<PreparedRun> prepared = prepare(std::move(scenario), parts);
  if (!prepared) return written(failed(outcome, prepared.diagnostics()));
  const Result<FinishedRun> finished = finish_run(std::move(*prepared), {});
  if (!finished) return written(failed(outcome, finished.diagnostics()));
  if (sweep.unfit == Unfit::skip && !finished->result.metrics.memory.fits)
    outcome.status = status_unfit;
  else
    outcome.result = &finished->result;
  return written(outcome);
}

SweepCounts run_sweep(const SweepDocument& sweep, SharedParts& parts, SweepOutput& output, Executor& executor,
                      Progress& progress, const SweepRunOptions& options) {
  SweepCounts counts;
  std::vector<Slot> slots(executor.threads() == 1 ? 1 : executor.threads() * points_per_thread);
  const std::uint64_t end = options.shard.size(sweep.points);
  const std::size_t error_column = find_column(sweep_columns(sweep.keys()), "error");
  std::uint64_t position = options.first;
  std::atomic<bool> broken = false;
  OrderedStages stages;
  stages.next = [&](std::size_t slot) {
    if (position >= end || broken || (options.stop && options.stop())) return false;
    slots[slot].point = options.shard.point(position++);
    return true;
  };
  stages.work = [&](std::size_t slot) { slots[slot].row = play_point(sweep, slots[slot].point, parts, output); };
  stages.finish = [&](std::size_t slot) {
    if (broken) return;
    const SweepRow& row = slots[slot].row;
    counts.broken = output.append(row);
    broken = counts.broken.has_value();
    if (broken) return;
    count(row, error_column, counts);
    progress.point_done();
  };
  executor.stream(slots.size(), stages);
  if (!counts.broken) counts.broken = output.flush();
  return counts;
}

std::optional<Diagnostic> check_present(const SweepDocument& sweep, const Shard& shard, const SweepOutput& output,
                                        Executor& executor, const std::string& path) {
  const std::vector<RowKey>& present = output.present();
  const std::uint64_t expected = shard.size(sweep.points);
  std::atomic<std::size_t> first_wrong =
      present.size() > expected ? static_cast<std::size_t>(expected) : present.size();
  executor.for_each(std::min<std::size_t>(present.size(), first_wrong), [&](std::size_t position) {
    RowKey wanted{shard.point(position), std::nullopt};
    if (const Result<Scenario> scenario = sweep.scenario(wanted.point)) wanted.hash = scenario->hash;
    if (wanted == present[position]) return;
    std::size_t known = first_wrong;
    while (position < known && !first_wrong.compare_exchange_weak(known, position)) {
    }
  });
  if (first_wrong == present.size()) return std::nullopt;
  return Diagnostic{Severity::error,
                    {path, 0, 0, {}},
                    fmt::format("holds rows of another sweep: its row {} is point {}, which is not what this sweep{} "
                                "has there",
                                first_wrong.load() + 1, present[first_wrong].point,
                                shard.parts > 1 ? fmt::format("'s part {}/{}", shard.part, shard.parts) : ""),
                    "resume with the file, --set and --shard that it was begun with, or name another file"};
}

}  // namespace takt
