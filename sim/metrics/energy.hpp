// What the cards of a step draw, as a range.
//
//     draw of a card = sum over what it does of (share of the step) * (draw of that, between low and high)
//
//     kernels                    draw_of_kernels, of the power limit as delivered, at most the limit it is held to
//     communication alone        from idle to draw_of_copies: nobody publishes the draw of NCCL's kernels alone
//     nothing                    from idle to draw_of_waiting, the highest reading of cards that only wait
//
// Low and high are the extremes of published readings (validation/power/draws.csv); they are a range, not an interval
// with a probability. Where no idle draw of a card is published, the lowest share of the limit of those that are.
#pragma once

#include "engine/timeline.hpp"
#include "metrics/step_metrics.hpp"

#include <optional>

namespace takt {

/// Parts of the power limit as delivered: the lowest and the highest reading. Copies on RTX PRO 6000 draw least of what
/// runs there, products of 8192^3 and whole training steps on A100 and H100 reach the limit.
inline constexpr Range draw_of_kernels{0.608, 1.0};
inline constexpr double draw_of_copies = 0.675;    ///< RTX PRO 6000 Workstation
inline constexpr double draw_of_waiting = 0.2325;  ///< A800 at "100 %" with nothing to do
inline constexpr double lowest_idle = 0.075;       ///< RTX PRO 6000 Server

/// Seconds of a step by what the card of a rank does.
struct CardActivity {
  double kernels = 0.0;
  double communication = 0.0;  ///< collectives or copies, and no kernel
  double waiting = 0.0;
};

CardActivity activity_of(const Plan& plan, const Timeline& timeline, RankId rank);

/// Joules of a card that does this.
Range energy_of(const CardSpec& card, const CardActivity& activity);

/// Nothing for a MIG slice, whose part of its card's draw nobody publishes, or for a step that takes no time.
std::optional<PowerMetrics> power_of(const Scenario& scenario, const Plan& plan, const Topology& topology,
                                     const std::vector<CardInstance>& cards, const Timeline& timeline,
                                     std::int64_t tokens_per_step);

}  // namespace takt
