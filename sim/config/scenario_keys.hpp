// The one table of scenario keys, and the words of its choices.
#pragma once

#include <string>

#include "config/key_table.hpp"
#include "config/scenario.hpp"

namespace takt {

const KeyTable<Scenario>& scenario_keys();

}  // namespace takt
