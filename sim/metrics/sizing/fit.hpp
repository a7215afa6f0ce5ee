// Does a model under a method fit a number of cards, what is left beside it, and what would make it fit.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/model_spec.hpp"
#include "metrics/sizing/state_sizes.hpp"
#include "metrics/step_metrics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// Whether only the model states are counted, or a step of the scenario's batch is played for its peak.
enum class FitBasis { states, step };

struct FitQuestion {
  Scenario scenario;  ///< its method, optimizer, strategy and batch count; its hardware does not
  ModelSpec model;
  CardSpec card;  ///< a whole one, or a MIG slice
  std::int64_t cards = 1;
  Offload offload = Offload::none;
  FitBasis basis = FitBasis::states;
};

enum class Verdict {
  no,
  states_fit,  ///< the model states leave room; what a step needs beside them was not asked or cannot be played
  fits,        ///< a step's peak stays within what the driver shows
};

/// Something else that fits where the question's own wish does not.
struct Alternative {
  std::string change;  ///< "8-bit AdamW", "4 cards", ...
  Bytes states{};      ///< of a card
  std::optional<Bytes> peak;
  Bytes offloaded{};
};

struct FitResult {
  FitQuestion question;
  std::int64_t parameters = 0;
  std::int64_t trained = 0;
  StateSizes whole;
  StateSizes of_card;  ///< what stays on each card
  Bytes offloaded{};   ///< to host memory or NVMe, all cards together
  std::optional<MemoryMetrics> step;
  Diagnostics notes;  ///< why a step was asked for and could not be played
  CheckpointSizes checkpoints;
  GuideTraffic traffic;
  Verdict verdict = Verdict::no;
  std::vector<Alternative> alternatives;  ///< if it does not fit

  /// Negative where the states do not fit. Two conventions are in use: the data sheet's capacity and the driver's.
  Bytes free_nominal() const { return question.card.memory_nominal - of_card.total(); }
  Bytes free_visible() const { return question.card.memory_visible - of_card.total(); }
};

/// Errors: of the workload (a precision that the card does not have, ...), an offload that nobody's optimizer does.
Result<FitResult> fit(const FitQuestion& question);

/// `fit`, with alternatives where it does not.
Result<FitResult> fit_with_alternatives(const FitQuestion& question);

/// The same question for another number of cards: one needs no strategy, several shard fully.
FitQuestion on_cards(FitQuestion question, std::int64_t cards);

}  // namespace takt
