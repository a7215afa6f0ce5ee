// Where one rank's time goes: compute, exposed communication, host, optimizer; and how much communication hides.
#pragma once

#include "engine/timeline.hpp"
#include "metrics/intervals.hpp"
#include "metrics/step_metrics.hpp"
#include "plan/plan.hpp"

namespace takt {

struct RankTime {
  Breakdown breakdown;
  CommunicationMetrics communication;
};

RankTime rank_time(const Plan& plan, const Timeline& timeline, RankId rank);

/// When a segment's kernels ran: without the gaps in which the card waited for the CPU to launch them, which are
/// counted at its end.
Interval busy_span(const Timeline& timeline, RankId rank, OpId op);

/// The rank whose last op ends last; the first such.
RankId slowest_rank(const Timeline& timeline);

}  // namespace takt
