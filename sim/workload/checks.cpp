#include "workload/checks.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "workload/precision.hpp"
#include "workload/shape.hpp"
#include "workload/workload.hpp"

namespace takt {
namespace {

/// The place of the first of `keys` that the file sets, else the file as a whole.
SourcePlace place_of_first(const SourcePlaces& places, const std::string& file,
                           std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = places.find(key);
    if (found != places.end()) return found->second;
  }
  return place_of(places, "", file);
}

class Checker {
 public:
  Checker(const ModelSpec& model, const Scenario& scenario, const CardSpec& card)
      : model_(model), scenario_(scenario), card_(card) {}

  Diagnostics run() {
    check_precision();
    check_clocks();
    if (model_.synthetic) {
      check_synthetic();
    } else {
      check_parameters(*model_.transformer);
      check_heads(*model_.transformer);
      check_positions(*model_.transformer);
      check_embedding_unit(*model_.transformer);
      if (scenario_.finetune.method != Method::full) check_adapters(*model_.transformer);
    }
    return std::move(diagnostics_);
  }

 private:
  SourcePlace scenario_place(std::initializer_list<const char*> keys) const {
    return place_of_first(scenario_.places, scenario_.file, keys);
  }
  SourcePlace model_place(std::initializer_list<const char*> keys) const {
    return place_of_first(model_.places, model_.file, keys);
  }
  void report(Severity severity, SourcePlace place, std::string message, std::string hint) {
    diagnostics_.push_back({severity, std::move(place), std::move(message), std::move(hint)});
  }
  void error(SourcePlace place, std::string message, std::string hint) {
    report(Severity::error, std::move(place), std::move(message), std::move(hint));
  }

  void check_precision();
  void check_clocks() {
    if (scenario_.assumptions.clocks == Clocks::burst || card_.sustained) return;
    error(scenario_place({"assumptions.clocks"}), fmt::format("nobody measured which clock {} keeps up", card_.name),
          "leave assumptions.clocks out, or add `sustained` to the card's file");
  }
  void check_format(Precision precision, const SourcePlace& place);
  void check_synthetic();
  void check_parameters(const TransformerShape& shape);
  void check_heads(const TransformerShape& shape);
  void check_positions(const TransformerShape& shape);
  void check_embedding_unit(const TransformerShape& shape);
  void check_adapters(const TransformerShape& shape);

  const ModelSpec& model_;
  const Scenario& scenario_;
  const CardSpec& card_;
  Diagnostics diagnostics_;
};

std::string upper(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string capability_text(std::int64_t capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

constexpr std::int64_t blackwell_workstation = 120;

/// Compute capability that training in a format needs: what NVIDIA's Transformer Engine checks.
std::int64_t needed_capability(Precision precision) {
  switch (precision) {
    case Precision::fp8: return 89;
    case Precision::nvfp4:
    case Precision::mxfp8: return 100;
    default: return 0;
  }
}

std::string formats_of(const CardSpec& card) {
  std::vector<std::string> names;
  for (const auto& [precision, rate] : card.dense_peak)
    if (card.compute_capability >= needed_capability(precision)) names.emplace_back(name_of(precision));
  return join(names, ", ");
}

void Checker::check_format(Precision precision, const SourcePlace& place) {
  const std::int64_t needed = needed_capability(precision);
  std::string reason;
  if (precision == Precision::mxfp8 && card_.compute_capability >= blackwell_workstation) {
    reason = fmt::format("Transformer Engine (2.19, 2.20) does not support it on compute capability {} and later",
                         capability_text(blackwell_workstation));
  } else if (card_.compute_capability < needed) {
    reason = fmt::format("it needs compute capability {}, this card has {}", capability_text(needed),
                         capability_text(card_.compute_capability));
  } else if (!card_.dense_peak.contains(precision)) {
    reason = "its data file states no such rate";
  } else {
    return;
  }
  error(place, fmt::format("{} cannot compute in {}: {}", card_.name, upper(name_of(precision)), reason),
        fmt::format("this card has {}", formats_of(card_)));
}

void Checker::check_precision() {
  const FinetuneSettings& finetune = scenario_.finetune;
  const SourcePlace place = scenario_place({"finetune.precision"});
  check_format(finetune.precision, place);
  const Precision activation = activation_precision(finetune.precision);
  if (activation != finetune.precision) check_format(activation, place);
  if (finetune.method != Method::full && finetune.lora.adapter_precision != finetune.precision)
    check_format(finetune.lora.adapter_precision,
                 scenario_place({"finetune.lora.adapter_precision", "finetune.lora", "finetune.method"}));
  if (finetune.method == Method::qlora && finetune.precision != Precision::bf16 &&
      finetune.precision != Precision::fp16) {
    error(place,
          fmt::format("qlora dequantises its weights to 16 bits and multiplies in these, so {} has no effect on it",
                      upper(name_of(finetune.precision))),
          "use bf16 or fp16");
  }
  if (finetune.precision == Precision::fp8 && card_.compute_capability >= blackwell_workstation) {
    report(Severity::note, place,
           fmt::format("fp8 means scaling by tensor here: MXFP8 is not supported on compute capability {}",
                       capability_text(card_.compute_capability)),
           "");
  }
}

void Checker::check_synthetic() {
  if (scenario_.finetune.method == Method::full) return;
  error(scenario_place({"finetune.method"}),
        fmt::format("{} is a synthetic model of given layer times: it has no linear layers to adapt or quantise",
                    model_.name),
        "use method = \"full\"");
}

void Checker::check_parameters(const TransformerShape& shape) {
  const std::int64_t counted = parameter_count(shape);
  if (model_.parameters == 0 || model_.parameters == counted) return;
  error(model_place({"parameters"}),
        fmt::format("the shape of {} has {} parameters, but the file states {}", model_.name, counted,
                    model_.parameters),
        "check the dimensions, tied_embeddings, biases and norms");
}

void Checker::check_heads(const TransformerShape& shape) {
  if (shape.kv_heads > 0 && shape.query_heads % shape.kv_heads == 0) return;
  error(model_place({"kv_heads"}),
        fmt::format("{} query heads cannot share {} key and value heads evenly", shape.query_heads, shape.kv_heads),
        "kv_heads must divide query_heads");
}

void Checker::check_positions(const TransformerShape& shape) {
  if (shape.learned_positions == 0 || scenario_.batch.sequence_length <= shape.learned_positions) return;
  error(scenario_place({"batch.sequence_length"}),
        fmt::format("{} has {} positions, a sequence of {} tokens does not fit", model_.name,
                    shape.learned_positions, scenario_.batch.sequence_length),
        fmt::format("use {} or less", shape.learned_positions));
}

/// A weight that the head shares is the root's, which is gathered when the head needs it.
void Checker::check_embedding_unit(const TransformerShape& shape) {
  if (!scenario_.parallel.fsdp2.embedding_unit || !shape.tied_embeddings) return;
  error(scenario_place({"parallel.fsdp2.embedding_unit"}),
        fmt::format("{} shares its embedding with the head, so it cannot be a unit of its own", model_.name),
        "leave parallel.fsdp2.embedding_unit out");
}

void Checker::check_adapters(const TransformerShape& shape) {
  const LoraSettings& lora = scenario_.finetune.lora;
  const std::vector<std::string> names = target_names(shape);
  const std::vector<bool> targeted = targeted_linears(shape, lora.targets);
  const SourcePlace place = scenario_place({"finetune.lora.targets", "finetune.lora", "finetune.method"});
  const bool all = std::find(targeted.begin(), targeted.end(), false) == targeted.end();
  if (lora.targets.empty()) error(place, "lora needs at least one target", "use targets = \"all-linear\"");
  for (const std::string& target : lora.targets) {
    if (all || std::find(names.begin(), names.end(), target) != names.end()) continue;
    constexpr std::size_t shortest_slip = 3;  // one letter is always near another
    const std::optional<std::string> near =
        target.size() < shortest_slip ? std::nullopt : did_you_mean(target, names);
    error(place, fmt::format("{} has no linear layer \"{}\" to adapt", model_.name, target),
          near ? fmt::format("did you mean \"{}\"?", *near) : fmt::format("it has {}", join(names, ", ")));
  }
  const std::int64_t widest = std::max(shape.hidden, shape.intermediate);
  if (lora.rank > widest) {
    error(scenario_place({"finetune.lora.rank", "finetune.lora", "finetune.method"}),
          fmt::format("a rank of {} is more than any linear layer of {} has ({})", lora.rank, model_.name, widest),
          "ranks of 8 to 64 are usual");
  }
}

}  // namespace

Diagnostics check_workload(const ModelSpec& model, const Scenario& scenario, const CardSpec& card) {
  return Checker(model, scenario, card).run();
}

}  // namespace takt
