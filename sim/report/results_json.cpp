// Schema takt.result/1. Keys are only added, never renamed; times in seconds, sizes in bytes, rates per second.
#include "config/json.hpp"
#include "report/report.hpp"
#include "report/step_interval.hpp"

#include <fmt/format.h>

namespace takt {
namespace {

Json::Object breakdown(const Breakdown& breakdown) {
  return {{"compute_s", to_seconds(breakdown.compute)},
          {"exposed_communication_s", to_seconds(breakdown.exposed_communication)},
          {"host_s", to_seconds(breakdown.host)},
          {"optimizer_s", to_seconds(breakdown.optimizer)}};
}

/// Parts of a prediction between which nine in ten measurements lie, or null.
Json parts(const std::optional<PredictionInterval>& interval) {
  if (!interval) return {};
  Json::Array bounds;
  bounds.emplace_back(interval->low);
  bounds.emplace_back(interval->high);
  return Json(std::move(bounds));
}

Json::Object communication(const CommunicationMetrics& metrics) {
  Json::Object exposed;
  for (const auto& [kind, time] : metrics.exposed_by_kind) exposed.push_back({kind, to_seconds(time)});
  return {{"busy_s", to_seconds(metrics.busy)},
          {"hidden_s", to_seconds(metrics.hidden)},
          {"overlap_ratio", metrics.overlap_ratio},
          {"received_bytes_per_card", metrics.received_per_card.count()},
          {"sent_bytes_per_card", metrics.sent_per_card.count()},
          {"exposed_by_kind_s", exposed},
          {"longest", metrics.longest},
          {"longest_interval", parts(metrics.longest_interval)}};
}

Json::Object link(const LinkMetrics& link) {
  return {{"name", link.name},
          {"from", link.from},
          {"to", link.to},
          {"kind", link.kind == ResourceKind::both_directions ? "both directions" : "direction"},
          {"capacity_Bps", link.capacity.count()},
          {"bytes", link.bytes.count()},
          {"busy_s", to_seconds(link.busy)},
          {"utilisation_mean", link.utilisation_mean},
          {"utilisation_peak", link.utilisation_peak}};
}

Json::Object sizes(const std::map<std::string, Bytes>& by_name) {
  Json::Object all;
  for (const auto& [name, size] : by_name) all.push_back({name, size.count()});
  return all;
}

Json::Object range(const ByteRange& range) {
  return {{"low", range.low.count()}, {"high", range.high.count()}};
}

Json::Array changes(const std::vector<FitChange>& tried) {
  Json::Array all;
  for (const FitChange& change : tried) {
    Json::Object keys;
    for (const auto& [key, value] : change.keys) keys.push_back({key, value});
    all.push_back(Json::Object{{"change", change.what},
                               {"set", keys},
                               {"peak_bytes", change.peak.count()},
                               {"capacity_bytes", change.capacity.count()},
                               {"fits", change.fits},
                               {"tokens_per_s", change.tokens_per_second}});
  }
  return all;
}

Json::Object memory(const RunResult& run) {
  const MemoryMetrics& memory = run.metrics.memory;
  const Json::Object components = sizes(memory.components);
  Json::Array phases;
  for (const PhasePeak& peak : memory.phases) {
    phases.push_back(Json::Object{{"phase", peak.phase},
                                  {"peak_bytes", peak.allocated.count()},
                                  {"time_s", to_seconds(peak.when)},
                                  {"op", peak.op},
                                  {"components", sizes(peak.components)}});
  }
  return {{"capacity_bytes", memory.capacity.count()},
          {"nominal_bytes", memory.nominal.count()},
          {"peak_bytes", memory.peak.count()},
          {"peak_op", memory.peak_op},
          {"states_bytes", memory.states.count()},
          {"components", components},
          {"fits", memory.fits},
          {"over_bytes", memory.over().count()},
          {"changes", changes(run.fit_changes)},
          {"rank", memory.rank},
          {"peak_time_s", to_seconds(memory.peak_time)},
          {"phases", phases},
          {"reserved_bytes", range(memory.use.reserved)},
          {"context_bytes", range(memory.use.context)},
          {"nccl_bytes", memory.use.nccl.count()},
          {"card_use_bytes", range(memory.use.in_all)}};
}

Json::Object diagnostic(const Diagnostic& diagnostic) {
  const char* severity = "error";
  if (diagnostic.severity == Severity::warning) severity = "warning";
  if (diagnostic.severity == Severity::note) severity = "note";
  return {{"severity", severity},
          {"file", diagnostic.place.file},
          {"line", static_cast<std::int64_t>(diagnostic.place.line)},
          {"column", static_cast<std::int64_t>(diagnostic.place.column)},
          {"message", diagnostic.message},
          {"hint", diagnostic.hint}};
}

Json::Object cost(const std::optional<CostMetrics>& cost) {
  if (!cost) return {};
  return {{"per_hour", cost->per_hour}, {"per_mtoken", cost->per_million_tokens}};
}

Json::Object range(const Range& range) {
  return {{"low", range.low}, {"high", range.high}};
}

Json::Object power(const std::optional<PowerMetrics>& power) {
  if (!power) return {};
  return {{"card_limit_w", power->limit.count()},
          {"card_idle_w", power->idle.count()},
          {"card_idle_published", power->idle_is_published},
          {"card_w", range(power->watts_per_card)},
          {"step_j", range(power->joules_per_step)},
          {"token_j", range(power->joules_per_token)},
          {"mtoken_kwh", range(power->kwh_per_million_tokens())}};
}

/// Where nine in ten steps lie, or null.
Json interval(const RunResult& run) {
  const std::optional<Range> seconds = step_time_interval(run);
  if (!seconds) return {};
  Json::Array bounds;
  bounds.emplace_back(seconds->low);
  bounds.emplace_back(seconds->high);
  return Json(std::move(bounds));
}

Json::Object result_of(const RunResult& run) {
  const StepMetrics& metrics = run.metrics;
  Json::Array links, blame, diagnostics;
  for (const LinkMetrics& used : metrics.links) links.push_back(link(used));
  for (const BlameEntry& entry : metrics.blame) {
    blame.push_back(
        Json::Object{{"resource", entry.resource}, {"seconds", to_seconds(entry.time)}, {"share", entry.share}});
  }
  for (const Diagnostic& said : run.diagnostics) diagnostics.push_back(diagnostic(said));
  return {{"scenario", Json::Object{{"name", run.scenario.name},
                                    {"file", run.scenario.file},
                                    {"hash", fmt::format("{:016x}", run.scenario.hash)}}},
          {"ranks", metrics.ranks},
          {"step_time_s", to_seconds(metrics.step_time)},
          {"step_time_interval_s", interval(run)},
          {"tokens_per_step", metrics.tokens_per_step},
          {"tokens_per_s", metrics.tokens_per_second},
          {"tokens_per_s_per_card", metrics.tokens_per_second_per_card},
          {"mfu", metrics.mfu},
          {"hfu", metrics.hfu},
          {"breakdown", breakdown(metrics.breakdown)},
          {"communication", communication(metrics.communication)},
          {"links", links},
          {"memory", memory(run)},
          {"host", Json::Object{{"ram_bytes", run.host_memory.needed.count()},
                                {"ram_available_bytes", run.host_memory.available.count()},
                                {"ram_fits", run.host_memory.fits()},
                                {"nvme_bytes", run.host_memory.nvme.count()},
                                {"checkpoint_bytes", run.checkpoint_bytes.count()}}},
          {"power", power(run.power)},
          {"cost", cost(run.cost)},
          {"blame", blame},
          {"diagnostics", diagnostics},
          {"provenance", Json::Object{{"compute", run.compute_provenance}, {"links", run.link_provenance}}}};
}

}  // namespace

std::string takt_version() {
  return TAKT_VERSION;
}

std::string results_json(std::span<const RunResult> results) {
  Json::Array list;
  for (const RunResult& result : results) list.push_back(result_of(result));
  return write_json(
      Json::Object{{"schema", "takt.result/1"}, {"takt_version", takt_version()}, {"results", std::move(list)}});
}

}  // namespace takt
