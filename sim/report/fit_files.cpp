// Sizing answers for programs: JSON (schema takt.fit/1) and CSV. Sizes in bytes, power in watts.
#include "config/json.hpp"
#include "config/words.hpp"
#include "metrics/sizing/server_needs.hpp"
#include "report/fit_report.hpp"
#include "report/report.hpp"

#include <algorithm>

namespace takt {
namespace {

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::no:
      return "no";
    case Verdict::states_fit:
      return "states fit";
    case Verdict::fits:
      return "fits";
  }
  return "";
}

const char* place_of_states(Offload offload) {
  switch (offload) {
    case Offload::none:
      return "none";
    case Offload::cpu:
      return "host";
    case Offload::nvme:
      return "nvme";
  }
  return "";
}

Json::Object states(const StateSizes& sizes) {
  return {{"frozen_weights", sizes.frozen_weights.count()}, {"weights", sizes.weights.count()},
          {"gradients", sizes.gradients.count()},           {"master", sizes.master.count()},
          {"optimizer", sizes.optimizer.count()},           {"total", sizes.total().count()}};
}

Json step(const FitResult& result) {
  if (!result.step) return {};
  Json::Object components;
  for (const auto& [category, size] : result.step->components) components.push_back({category, size.count()});
  const BatchSettings& batch = result.question.scenario.batch;
  return Json::Object{{"sequence_length", batch.sequence_length},
                      {"micro_batch", batch.micro_batch},
                      {"peak_bytes", result.step->peak.count()},
                      {"components", std::move(components)}};
}

Json alternatives(const FitResult& result) {
  Json::Array list;
  for (const Alternative& other : result.alternatives) {
    list.push_back(Json::Object{{"change", other.change},
                                {"states_bytes_per_card", other.states.count()},
                                {"peak_bytes_per_card", other.peak ? Json(other.peak->count()) : Json()},
                                {"offloaded_bytes", other.offloaded.count()}});
  }
  return list;
}

Json server(const FitQuestion& question) {
  if (!question.scenario.mig.empty()) return {};
  const std::int64_t cards = std::min(question.cards, cards_a_server);
  const Bytes twice = host_memory_rule(question.card, cards, 2);
  const Power power = server_power(question.card.tdp, cards, reference_cpu(cards).power);
  Json::Array of_feeds;
  for (const Feed& feed : feeds) {
    of_feeds.push_back(Json::Object{{"feed", feed.name}, {"usable_W", usable_power(feed).count()}});
  }
  return Json::Object{{"servers", (question.cards + cards_a_server - 1) / cards_a_server},
                      {"cards", cards},
                      {"host_memory_2x_bytes", twice.count()},
                      {"host_memory_2x_in_modules_bytes", populated_memory(twice, two_socket_modules).count()},
                      {"host_memory_3x_bytes", host_memory_rule(question.card, cards, 3).count()},
                      {"cores", host_cores(cards)},
                      {"power_W", power.count()},
                      {"feeds", std::move(of_feeds)}};
}

Json::Object answer(const FitResult& result) {
  const FitQuestion& question = result.question;
  const FinetuneSettings& finetune = question.scenario.finetune;
  return {{"model", question.model.name},
          {"parameters", result.parameters},
          {"trained_parameters", result.trained},
          {"method", takt::word(finetune.method)},
          {"optimizer", takt::word(finetune.optimizer)},
          {"precision", takt::word(finetune.precision)},
          {"strategy", takt::word(question.scenario.parallel.strategy)},
          {"card", question.card.id},
          {"mig", question.scenario.mig},
          {"cards", question.cards},
          {"offload", place_of_states(question.offload)},
          {"states_bytes", states(result.whole)},
          {"states_bytes_per_card", states(result.of_card)},
          {"capacity_bytes", Json::Object{{"nominal", question.card.memory_nominal.count()},
                                          {"driver_visible", question.card.memory_visible.count()}}},
          {"free_bytes",
           Json::Object{{"nominal", result.free_nominal().count()}, {"driver_visible", result.free_visible().count()}}},
          {"step", step(result)},
          {"verdict", word(result.verdict)},
          {"alternatives", alternatives(result)},
          {"offloaded_bytes", result.offloaded.count()},
          {"checkpoint_bytes", Json::Object{{"weights", result.checkpoints.weights.count()},
                                            {"resumable", result.checkpoints.resumable.count()},
                                            {"training_state", result.checkpoints.training_state.count()}}},
          {"guide_traffic_bytes", Json::Object{{"gradients", result.traffic.gradients.count()},
                                               {"all_reduce_per_step", result.traffic.all_reduce.count()},
                                               {"gathered_per_micro_batch", result.traffic.gathered.count()}}},
          {"server", server(question)}};
}

struct CsvColumn {
  const char* name;
  Json (*cell)(const FitResult&);
};

constexpr CsvColumn columns[] = {
    {"model", [](const FitResult& r) { return Json(r.question.model.name); }},
    {"method", [](const FitResult& r) { return Json(takt::word(r.question.scenario.finetune.method)); }},
    {"optimizer", [](const FitResult& r) { return Json(takt::word(r.question.scenario.finetune.optimizer)); }},
    {"strategy", [](const FitResult& r) { return Json(takt::word(r.question.scenario.parallel.strategy)); }},
    {"card", [](const FitResult& r) { return Json(r.question.card.id); }},
    {"mig", [](const FitResult& r) { return Json(r.question.scenario.mig); }},
    {"cards", [](const FitResult& r) { return Json(r.question.cards); }},
    {"offload", [](const FitResult& r) { return Json(place_of_states(r.question.offload)); }},
    {"states_bytes_per_card", [](const FitResult& r) { return Json(r.of_card.total().count()); }},
    {"capacity_nominal_bytes", [](const FitResult& r) { return Json(r.question.card.memory_nominal.count()); }},
    {"capacity_driver_visible_bytes", [](const FitResult& r) { return Json(r.question.card.memory_visible.count()); }},
    {"peak_bytes", [](const FitResult& r) { return r.step ? Json(r.step->peak.count()) : Json(""); }},
    {"offloaded_bytes", [](const FitResult& r) { return Json(r.offloaded.count()); }},
    {"verdict", [](const FitResult& r) { return Json(word(r.verdict)); }},
};

/// Text without quotes (no cell here has commas), numbers as in JSON.
std::string csv_cell(const Json& value) {
  const auto* text = std::get_if<std::string>(&value.value);
  return text != nullptr ? *text : write_json(value, JsonLayout::compact);
}

}  // namespace

std::string fit_json(std::span<const FitResult> results) {
  Json::Array list;
  for (const FitResult& result : results) list.push_back(answer(result));
  return write_json(
      Json::Object{{"schema", "takt.fit/1"}, {"takt_version", takt_version()}, {"results", std::move(list)}});
}

std::string fit_csv(std::span<const FitResult> results) {
  std::string text;
  for (const CsvColumn& column : columns) text += (text.empty() ? "" : ",") + std::string(column.name);
  text += '\n';
  for (const FitResult& result : results) {
    for (const CsvColumn& column : columns) {
      text += (&column == columns ? "" : ",") + csv_cell(column.cell(result));
    }
    text += '\n';
  }
  return text;
}

}  // namespace takt
