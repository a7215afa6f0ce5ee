#include "metrics/energy.hpp"

#include "metrics/intervals.hpp"
#include "metrics/rank_time.hpp"

#include <algorithm>

namespace takt {
namespace {

Range operator+(Range a, Range b) {
  return {a.low + b.low, a.high + b.high};
}

Range operator*(Range range, double factor) {
  return {range.low * factor, range.high * factor};
}

/// Watts of a card that draws `share` of its limit as delivered, unless it is held lower.
Range held(const CardSpec& card, Range share) {
  const double limit = card.tdp.count();
  const Range drawn = share * card.delivered_limit.value_or(card.tdp).count();
  return {std::min(drawn.low, limit), std::min(drawn.high, limit)};
}

double idle_watts(const CardSpec& card) {
  const double delivered = card.delivered_limit.value_or(card.tdp).count();
  return card.idle_power ? card.idle_power->count() : lowest_idle * delivered;
}

/// Whether two ranks did the same at the same times.
bool same_times(const std::vector<OpRecord>& a, const std::vector<OpRecord>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const OpRecord& x, const OpRecord& y) { return x.start == y.start && x.end == y.end; });
}

}  // namespace

CardActivity activity_of(const Plan& plan, const Timeline& timeline, RankId rank) {
  const Program& program = plan.programs[index(plan.ranks[index(rank)].role)];
  const std::vector<OpRecord>& records = timeline.ops[index(rank)];
  std::vector<Interval> kernels, communication;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Work& work = program.ops[i].work;
    if (std::holds_alternative<Segment>(work)) {
      kernels.push_back(busy_span(timeline, rank, id_at<OpId>(i)));
    } else if (std::holds_alternative<Collective>(work) || std::holds_alternative<Copy>(work)) {
      communication.push_back({records[i].start, records[i].end});
    }
  }
  const TimeSet computes(std::move(kernels));
  const Duration computing = computes.length();
  const Duration communicating = (TimeSet(std::move(communication)) - computes).length();
  return {.kernels = to_seconds(computing),
          .communication = to_seconds(communicating),
          .waiting = to_seconds(timeline.end - computing - communicating)};
}

Range energy_of(const CardSpec& card, const CardActivity& activity) {
  const double idle = idle_watts(card);
  const auto from_idle = [&](double high) { return Range{idle, std::max(idle, held(card, {0.0, high}).high)}; };
  return held(card, draw_of_kernels) * activity.kernels + from_idle(draw_of_copies) * activity.communication +
         from_idle(draw_of_waiting) * activity.waiting;
}

std::optional<PowerMetrics> power_of(const Scenario& scenario, const Plan& plan, const Topology& topology,
                                     const std::vector<CardInstance>& cards, const Timeline& timeline,
                                     std::int64_t tokens_per_step) {
  if (!scenario.mig.empty() || plan.ranks.empty() || !(timeline.end > Duration{})) return std::nullopt;
  Range joules, of_rank;
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const bool as_before = rank > 0 && plan.ranks[rank].role == plan.ranks[rank - 1].role &&
                           cards[rank].spec == cards[rank - 1].spec &&
                           same_times(timeline.ops[rank], timeline.ops[rank - 1]);
    if (!as_before) {
      of_rank = energy_of(topology.card_spec(cards[rank]), activity_of(plan, timeline, id_at<RankId>(rank)));
    }
    joules = joules + of_rank;
  }
  const CardSpec& card = topology.card_spec(cards.front());
  PowerMetrics power;
  power.limit = card.tdp;
  power.idle = Power(idle_watts(card));
  power.idle_is_published = card.idle_power.has_value();
  power.joules_per_step = joules;
  power.watts_per_card = joules * (1.0 / (to_seconds(timeline.end) * static_cast<double>(plan.ranks.size())));
  if (tokens_per_step > 0) power.joules_per_token = joules * (1.0 / static_cast<double>(tokens_per_step));
  return power;
}

}  // namespace takt
