// takt fit: does a model under a method fit a number of cards.
#include "commands.hpp"
#include "config/card_state.hpp"
#include "config/library.hpp"
#include "metrics/sizing/fit.hpp"
#include "report/fit_report.hpp"
#include "scenario_runs.hpp"

#include <ostream>

namespace takt {
namespace {

const SourcePlace command_line{"command line", 0, 0, ""};
constexpr std::int64_t usual_counts[] = {1, 2, 4, 8};

/// What a line asks: one value, or every usual one where it names none.
struct Asked {
  std::vector<std::string> models, cards;
  std::vector<Overrides> methods;
  std::vector<std::int64_t> counts;
  Overrides common;  ///< for every question
  std::string mig;
  Offload offload = Offload::none;
  FitBasis basis = FitBasis::states;
  enum class Counts { all, until_it_fits } how_many = Counts::all;
};

/// The option that sets a key of the scenario.
struct KeyOption {
  const char* option;
  const char* key;
};
constexpr KeyOption key_options[] = {{"method", "finetune.method"},
                                     {"optimizer", "finetune.optimizer"},
                                     {"precision", "finetune.precision"},
                                     {"strategy", "parallel.strategy"},
                                     {"sequence", "batch.sequence_length"},
                                     {"micro-batch", "batch.micro_batch"},
                                     {"checkpointing", "finetune.activation_checkpointing"},
                                     {"mig", "hardware.mig"}};

Result<Overrides> common_overrides(const ParsedOptions& options) {
  Overrides overrides = {{"finetune.activation_checkpointing", "full"}};
  for (const KeyOption& option : key_options) {
    if (const auto value = options.value(option.option)) overrides.push_back({option.key, *value});
  }
  const Result<Overrides> set = overrides_of(options);
  if (!set) return set.diagnostics();
  overrides.insert(overrides.end(), set->begin(), set->end());
  return overrides;
}

Offload offload_of(const ParsedOptions& options) {
  const std::string word = options.value("offload").value_or("none");
  if (word == "host") return Offload::cpu;
  return word == "nvme" ? Offload::nvme : Offload::none;
}

/// The numbers of cards that are asked about.
Result<std::vector<std::int64_t>> counts_of(const ParsedOptions& options) {
  const bool has_slice = options.has("mig");
  if (const std::optional<std::string> text = options.value("count")) {
    constexpr std::size_t most = 1024;
    const Result<std::size_t> count = positive_number("count", *text);
    if (!count) return count.diagnostics();
    if (*count > most) return usage_error("--count cannot be " + *text, "at most 1024 cards are sized");
    if (*count > 1 && has_slice) {
      return usage_error("MIG slices cannot share a run: NCCL does not support MIG", "leave --count or --mig out");
    }
    return std::vector<std::int64_t>{static_cast<std::int64_t>(*count)};
  }
  if (has_slice || (options.has("model") && options.has("card"))) return std::vector<std::int64_t>{1};
  return std::vector<std::int64_t>(std::begin(usual_counts), std::end(usual_counts));
}

Result<Asked> asked_by(const ParsedOptions& options, const Library& library) {
  Asked asked;
  Result<Overrides> common = common_overrides(options);
  if (!common) return common.diagnostics();
  asked.common = *std::move(common);
  asked.mig = options.value("mig").value_or("");
  asked.offload = offload_of(options);
  const bool names_model = options.has("model"), names_card = options.has("card"), names_count = options.has("count");
  if (options.has("sequence") || options.has("micro-batch") || !names_model || !names_card) {
    asked.basis = FitBasis::step;
  }
  asked.models = options.all("model");
  if (!names_model) asked.models = {"llama-3.1-8b", "qwen3-32b", "llama-3.3-70b"};
  asked.cards = names_card ? options.all("card") : library.card_names();
  const bool names_method = names_model || options.has("method") || options.has("optimizer");
  asked.methods = {Overrides{}};
  if (!names_method) {
    asked.methods = {{{"finetune.method", "qlora"}},
                     {{"finetune.method", "lora"}},
                     {{"finetune.method", "full"}, {"finetune.optimizer", "adamw-8bit"}},
                     {{"finetune.method", "full"}}};
  }
  Result<std::vector<std::int64_t>> counts = counts_of(options);
  if (!counts) return counts.diagnostics();
  asked.counts = *std::move(counts);
  if (!asked.mig.empty() && !names_card) return usage_error("--mig needs --card: profiles differ from card to card");
  if (!names_model && !names_card && !names_count) asked.how_many = Asked::Counts::until_it_fits;
  return asked;
}

std::string scenario_text(const std::string& model) {
  return "[hardware]\ntopology = \"plain\"\n[model]\nname = \"" + model + "\"\n";
}

/// One question for one card, without the number of cards.
Result<FitQuestion> question_of(const Asked& asked, const std::string& model, const Overrides& method,
                                const CardSpec& card, Library& library) {
  Overrides overrides = asked.common;
  overrides.insert(overrides.end(), method.begin(), method.end());
  Result<Scenario> scenario = read_scenario({command_line.file, scenario_text(model)}, overrides);
  if (!scenario) return scenario.diagnostics();
  const Result<ModelSpec> spec = library.model(model, command_line);
  if (!spec) return spec.diagnostics();
  Diagnostics said = scenario.diagnostics();
  return {FitQuestion{.scenario = *std::move(scenario),
                      .model = *spec,
                      .card = card,
                      .cards = 1,
                      .offload = asked.offload,
                      .basis = asked.basis},
          std::move(said)};
}

/// Answers for one card, model and method, for each number of cards. False after an error.
bool answer(const Asked& asked, const FitQuestion& question, std::vector<FitResult>& results, Diagnostics& said) {
  for (const std::int64_t count : asked.counts) {
    const bool alone = asked.counts.size() == 1 && asked.models.size() * asked.cards.size() == 1;
    const FitQuestion of_count = on_cards(question, count);
    const Result<FitResult> result = alone ? fit_with_alternatives(of_count) : fit(of_count);
    said.insert(said.end(), result.diagnostics().begin(), result.diagnostics().end());
    if (!result) return false;
    results.push_back(*result);
    if (asked.how_many == Asked::Counts::until_it_fits && result->verdict != Verdict::no) break;
  }
  return true;
}

Result<std::vector<FitResult>> answers(const Asked& asked, Library& library) {
  std::vector<FitResult> results;
  Diagnostics said;
  for (const std::string& name : asked.cards) {
    const Result<CardSpec> whole = library.card(name, command_line);
    if (!whole) return whole.diagnostics();
    const Result<CardSpec> card = card_in_state(*whole, {asked.mig, command_line, std::nullopt, command_line});
    if (!card) return card.diagnostics();
    for (const std::string& model : asked.models) {
      for (const Overrides& method : asked.methods) {
        const Result<FitQuestion> question = question_of(asked, model, method, *card, library);
        said.insert(said.end(), question.diagnostics().begin(), question.diagnostics().end());
        if (!question || !answer(asked, *question, results, said)) return said;
      }
    }
  }
  return {std::move(results), std::move(said)};
}

std::string printed(const ParsedOptions& options, const Asked& asked, const std::vector<FitResult>& results) {
  const std::string format = options.value("format").value_or("table");
  if (format == "json") return fit_json(results);
  if (format == "csv") return fit_csv(results);
  if (asked.how_many == Asked::Counts::until_it_fits) return fit_overview(results);
  return results.size() == 1 ? fit_table(results.front()) : fit_grid(results);
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (!options.arguments.empty()) {
    environment.err << render(usage_error("takt fit takes options only, not '" + options.arguments.front() + "'",
                                          "for example --model llama-3.1-8b --card h200-nvl"));
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const Result<Asked> asked = asked_by(options, library);
  if (!asked) {
    environment.err << render(asked.diagnostics());
    return ExitStatus::wrong_usage;
  }
  const Result<std::vector<FitResult>> results = answers(*asked, library);
  if (!results || results->size() == 1) environment.err << render(results.diagnostics());
  if (!results) return ExitStatus::invalid;
  environment.out << printed(options, *asked, *results);
  const bool refused = results->size() == 1 && results->front().verdict == Verdict::no;
  return options.has("require-fit") && refused ? ExitStatus::invalid : ExitStatus::done;
}

std::vector<Option> fit_options() {
  std::vector<Option> options = {
      {"model", "MODEL", "a file of models/, or a path; left out: 8B, 32B and 70B", {}},
      {"method", "METHOD", "what is trained (default full)", {"full", "lora", "qlora"}},
      {"optimizer", "OPTIMIZER", "(default adamw)", {"adamw", "adamw-8bit", "paged-adamw-8bit", "sgd"}},
      {"precision", "FORMAT", "of the products (default bf16)", {"bf16", "fp16", "fp32", "tf32", "fp8", "nvfp4", "mxfp8"}},
      {"card", "CARD", "a file of topologies/cards/; left out: every card", {}},
      {"count", "N", "number of cards; left out: 1, or 1, 2, 4 and 8 where several questions are asked", {}},
      {"strategy",
       "STRATEGY",
       "how several cards share (default fsdp2; zero3 with an offload)",
       {"ddp", "fsdp1", "fsdp2", "zero1", "zero2", "zero3"}},
      {"sequence",
       "TOKENS",
       "play a step of such sequences for its memory peak (4096 where several questions are asked)",
       {}},
      {"micro-batch", "N", "sequences a card (default 1)", {}},
      {"checkpointing", "FORM", "of activations (default full)", {"none", "selective", "full"}},
      {"offload", "WHERE", "where the optimizer's states live (default none: on the cards)", {"none", "host", "nvme"}},
      {"mig", "PROFILE", "size a MIG slice, e.g. 1g.18gb", {}}};
  for (Option& option : override_options()) options.push_back(std::move(option));
  options.push_back({"format", "FORMAT", "how results are written (default table)", {"table", "json", "csv"}});
  options.push_back({"require-fit", "", "exit with status 1 if it does not fit", {}});
  return options;
}

}  // namespace

Command fit_command() {
  return {
      "fit",
      "",
      "which model and method fits which card and count",
      "Counts model states as sizing guides do, plays a step for its memory peak where a sequence is given, and says "
      "what is left on a card, what would make it fit, and what a server needs around the cards. Without options: a "
      "table of common cases.",
      fit_options(),
      "takt fit --model llama-3.3-70b --card h200-nvl --count 8 --sequence 4096",
      execute};
}

}  // namespace takt
