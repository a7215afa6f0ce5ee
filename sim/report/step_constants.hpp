// What the constants fitted to training steps rest on: `takt validate --steps --constants`.
#pragma once

#include "workload/global_constants.hpp"

#include <string>
#include <vector>

namespace takt {

/// The scored rows whose predicted time moves when a constant moves.
struct ConstantBasis {
  struct Row {
    std::string row, publisher;
    double share = 0.0;  ///< relative change of the step over that of the constant
  };
  std::vector<Row> rows;
};

/// Each constant as recorded and as `refitted` to all rows, with its rows by publisher. `bases` are of
/// global_constants(), in their order.
std::string constants_text(const std::vector<ConstantBasis>& bases, const GlobalConstants& refitted);

/// Constants that are more than eight, rest on nothing, or differ from what the rows give now, in words.
std::vector<std::string> left_constant_bounds(const std::vector<ConstantBasis>& bases, const GlobalConstants& refitted);

}  // namespace takt
