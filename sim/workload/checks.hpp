// What a scenario may not ask of a model and a card, with the place of the key that asks.
#pragma once

#include "config/card_spec.hpp"
#include "config/model_spec.hpp"
#include "config/scenario.hpp"

namespace takt {

/// Errors first to last; notes about formats whose prices nobody has measured. Empty: nothing to say.
Diagnostics check_workload(const ModelSpec& model, const Scenario& scenario, const CardSpec& card);

}  // namespace takt
