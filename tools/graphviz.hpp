// Pictures by Graphviz' program `dot`, if it is installed.
#pragma once

#include "base/result.hpp"

#include <string>

namespace takt {

/// The SVG that `dot -Tsvg` makes of a drawing. Errors: `dot` is not installed, or it fails.
Result<std::string> svg_of_dot(const std::string& drawing);

}  // namespace takt
