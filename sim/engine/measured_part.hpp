// The measured iteration of a program that begins with others.
#pragma once

#include "engine/timeline.hpp"
#include "plan/plan.hpp"

namespace takt {

/// Whether some program begins with iterations that are not measured.
bool begins_earlier(const Plan& plan);

/// Takes the iterations before the measured one out of the programs and the timeline; the measured one then begins at
/// time zero, when the last op before it had ended on every rank. What earlier ops still held in memory is held since
/// then. An op that was ready before that is cut there. Does nothing if the measured iteration is the first.
void keep_measured_part(Plan& plan, Timeline& timeline);

}  // namespace takt
