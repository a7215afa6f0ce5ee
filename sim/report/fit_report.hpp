// What `takt fit` answers, as text. All sizes are decimal: 1 GB = 1e9 B.
#pragma once

#include "metrics/sizing/fit.hpp"

#include <span>
#include <string>

namespace takt {

/// One question on one screen: states, room by both conventions, verdict, what would fit, and what else it needs.
std::string fit_table(const FitResult& result);

/// Many questions: a line for each card, model and method, a column for each number of cards with the states of a card;
/// in brackets where it does not fit.
std::string fit_grid(std::span<const FitResult> results);

/// Many questions on many cards: a line a card, a column a model and method, with the least number of cards that fits.
std::string fit_overview(std::span<const FitResult> results);

/// Schema takt.fit/1, pretty-printed, ending in a newline. Keys are only added, never renamed; sizes in bytes.
std::string fit_json(std::span<const FitResult> results);

/// One header line and a line a question.
std::string fit_csv(std::span<const FitResult> results);

}  // namespace takt
