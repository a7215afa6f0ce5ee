// The keys of [platform]: rows of the scenario's table, and a table of their own for commands that take no scenario.
#pragma once

#include "config/key_table.hpp"
#include "config/scenario.hpp"

#include <vector>

namespace takt {

std::vector<Key<Scenario>> platform_rows();

/// Errors: settings that contradict each other whatever the machine is.
void check_platform(const PlatformSettings& platform, Reading& reading);

}  // namespace takt
