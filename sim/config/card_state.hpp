// A card in the state in which a run has it: cut into a MIG slice, or held to a power limit.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"

#include <optional>
#include <string>

namespace takt {

struct CardState {
  std::string mig;                   ///< a profile of the card; empty = the whole card
  SourcePlace mig_asked_at;          ///< for messages
  std::optional<Power> power_limit;  ///< unset: the card's TDP
  SourcePlace limit_asked_at;
};

/// A card with what a slice has: its share of SMs and so of the dense peaks, of memory bandwidth, cache and memory.
/// Links stay those of the card, which only host transfers use.
CardSpec slice_of(const CardSpec& card, const MigProfile& profile);

/// A card at a limit between its measured points: dense peaks and memory bandwidth scaled, straight lines in between.
/// `limit` must lie between the lowest measured point and the TDP.
CardSpec limited(const CardSpec& card, Power limit);

/// Errors: the card cannot be cut, or not into that profile (with the ones it has); no speed was measured under a
/// limit, or not that low, or the limit is above the TDP.
Result<CardSpec> card_in_state(const CardSpec& card, const CardState& state);

}  // namespace takt
