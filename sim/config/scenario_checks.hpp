// What keys of a scenario mean together, as far as one file can tell.
#pragma once

#include "config/reading.hpp"
#include "config/scenario.hpp"

namespace takt {

/// Fills defaults that depend on other keys: DDP's first bucket, FSDP2's resharding, the title.
void resolve_defaults(Scenario& scenario, const Reading& reading);

/// Adds errors for keys that contradict each other and warnings for keys that have no effect.
void check_scenario(const Scenario& scenario, Reading& reading);

}  // namespace takt
