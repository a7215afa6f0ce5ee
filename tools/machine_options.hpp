// Options of commands that look at a machine without a scenario.
#pragma once

#include "named_topology.hpp"
#include "options.hpp"

#include <vector>

namespace takt {

/// --links and --set.
std::vector<Option> machine_options();

/// Errors: an override that is not below "platform.", a wrong value, settings that contradict each other.
Result<MachineState> machine_state_of(const ParsedOptions& options);

}  // namespace takt
