// Predicted against measured steps as a picture: `takt validate --steps --plot FILE`.
#pragma once

#include "report/step_validation.hpp"

#include <string>
#include <vector>

namespace takt {

/// An SVG with a point for each row that ran, both axes logarithmic, a colour for each publisher, the line where both
/// are equal and lines 20 % beside it. Left-out predictions where there are any. Needs at least one such row.
std::string step_scatter_svg(const std::vector<StepOutcome>& outcomes);

}  // namespace takt
