// takt validate --collectives: every measured row by the path that a run takes.
#pragma once

#include "config/library.hpp"
#include "report/collective_validation.hpp"

#include <string>
#include <vector>

namespace takt {

enum class LeaveOut : std::uint8_t { nothing, each_machine };

/// Predicts the rows of `folder` (rows.csv, setups.csv and the topologies beside them). With each_machine, the
/// constants are also fitted once without each machine's rows and predict those. Errors: a file that is wrong, a table
/// without a setup.
Result<std::vector<CollectiveOutcome>> validate_collectives(const std::string& folder, Library& library,
                                                            LeaveOut left_out);

}  // namespace takt
