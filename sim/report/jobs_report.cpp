#include "report/jobs_report.hpp"

#include "base/text.hpp"
#include "config/json.hpp"
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t name_width = 34;
constexpr std::size_t links_shown = 6;

std::string card_list(const std::vector<std::int64_t>& cards) {
  std::vector<std::string> numbers;
  for (const std::int64_t card : cards) numbers.push_back(std::to_string(card));
  return join(numbers, " ");
}

/// What a job waits for more than alone, if that is more than a thousandth of its step.
std::string held_back_by(const JobResult& job) {
  if (job.more_waits.empty()) return "";
  const ResourceWait& first = job.more_waits.front();
  constexpr double noticeable = 1e-3;
  if (to_seconds(first.time) < noticeable * to_seconds(job.step_time)) return "";
  return shorten(first.resource, name_width);
}

std::string lines_of_jobs(const JobsResult& result) {
  Table table({{"job"},
               {"cards"},
               {"step alone", Align::right},
               {"together", Align::right},
               {"slower by", Align::right},
               {"tokens/s", Align::right},
               {"memory", Align::right},
               {"waits for"}});
  for (const JobResult& job : result.jobs) {
    const MemoryMetrics& memory = job.alone.metrics.memory;
    table.row({shorten(job.name, name_width), card_list(job.cards), format_time(job.step_alone),
               format_time(job.step_time), format_share(job.slowdown() - 1.0), format_number(job.tokens_per_second()),
               memory.fits ? format_size(memory.peak) : "DOES NOT FIT", held_back_by(job)});
  }
  return table.text(indent);
}

std::string shared_links(const JobsResult& result) {
  if (result.links.empty()) return "  no link, socket or host memory carries traffic of two jobs\n";
  Table table({{"busiest shared parts"}, {"mean use", Align::right}, {"peak use", Align::right},
               {"capacity", Align::right}});
  for (std::size_t i = 0; i < std::min(links_shown, result.links.size()); ++i) {
    const LinkMetrics& link = result.links[i];
    table.row({shorten(link.name, name_width), format_share(link.utilisation_mean), format_share(link.utilisation_peak),
               format_bandwidth(link.capacity)});
  }
  return table.text(indent);
}

Json::Object scenario_object(const Scenario& scenario) {
  return {{"name", scenario.name}, {"file", scenario.file}, {"hash", fmt::format("{:016x}", scenario.hash)}};
}

Json::Object memory_object(const MemoryMetrics& memory) {
  return {{"peak_bytes", memory.peak.count()}, {"fits", memory.fits}};
}

Json::Object wait_object(const ResourceWait& wait) {
  return {{"resource", wait.resource}, {"seconds", to_seconds(wait.time)}};
}

Json::Object link_object(const LinkMetrics& link) {
  return {{"name", link.name},
          {"capacity_Bps", link.capacity.count()},
          {"utilisation_mean", link.utilisation_mean},
          {"utilisation_peak", link.utilisation_peak}};
}

Json::Object job_object(const JobResult& job) {
  Json::Array cards;
  for (const std::int64_t card : job.cards) cards.emplace_back(card);
  Json::Array waits;
  for (const ResourceWait& wait : job.more_waits) waits.emplace_back(wait_object(wait));
  return {{"name", job.name},
          {"scenario", scenario_object(job.alone.scenario)},
          {"cards", cards},
          {"step_time_alone_s", to_seconds(job.step_alone)},
          {"step_time_s", to_seconds(job.step_time)},
          {"steps", job.steps},
          {"slowdown", job.slowdown()},
          {"tokens_per_s_alone", job.tokens_per_second_alone()},
          {"tokens_per_s", job.tokens_per_second()},
          {"memory", memory_object(job.alone.metrics.memory)},
          {"more_waits", waits}};
}

}  // namespace

double tokens_per_second(const JobsResult& result) {
  double sum = 0.0;
  for (const JobResult& job : result.jobs) sum += job.tokens_per_second();
  return sum;
}

double tokens_per_second_alone(const JobsResult& result) {
  double sum = 0.0;
  for (const JobResult& job : result.jobs) sum += job.tokens_per_second_alone();
  return sum;
}

std::string jobs_table(const JobsResult& result) {
  const double together = tokens_per_second(result);
  const double alone = tokens_per_second_alone(result);
  return fmt::format("{}\n  machine  {}\n\n{}\n  all jobs: {} tokens/s, {} of the {} that they would do alone\n\n{}",
                     result.title, result.topology, lines_of_jobs(result), format_number(together),
                     format_share(together / alone), format_number(alone), shared_links(result));
}

std::string jobs_json(const JobsResult& result) {
  Json::Array jobs;
  for (const JobResult& job : result.jobs) jobs.emplace_back(job_object(job));
  Json::Array links;
  for (const LinkMetrics& link : result.links) links.emplace_back(link_object(link));
  return write_json(Json::Object{{"schema", "takt.jobs/1"},
                                 {"takt_version", takt_version()},
                                 {"title", result.title},
                                 {"file", result.file},
                                 {"topology", result.topology},
                                 {"tokens_per_s", tokens_per_second(result)},
                                 {"tokens_per_s_alone", tokens_per_second_alone(result)},
                                 {"jobs", jobs},
                                 {"shared_links", links}});
}

std::string jobs_csv(const JobsResult& result) {
  std::string text = "job,scenario,cards,step_time_alone_s,step_time_s,slowdown,tokens_per_s_alone,tokens_per_s,"
                     "peak_bytes,fits\n";
  for (const JobResult& job : result.jobs) {
    const MemoryMetrics& memory = job.alone.metrics.memory;
    text += fmt::format("\"{}\",\"{}\",{},{},{},{},{},{},{},{}\n", job.name, job.alone.scenario.name,
                        card_list(job.cards), to_seconds(job.step_alone), to_seconds(job.step_time), job.slowdown(),
                        job.tokens_per_second_alone(), job.tokens_per_second(), memory.peak.count(), memory.fits);
  }
  return text;
}

}  // namespace takt
