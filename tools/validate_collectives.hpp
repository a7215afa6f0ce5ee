// takt validate --collectives: every measured row by the path that a run takes.
#pragma once

#include "config/library.hpp"
#include "report/collective_validation.hpp"
#include "validation.hpp"

#include <string>
#include <vector>

namespace takt {

enum class LeaveOut : std::uint8_t { nothing, each_machine };

/// Predicts the rows of the folder (rows.csv, setups.csv and the topologies beside them), or of a user's table: a table
/// that setups.csv does not know runs on the first cards of the topology that its column `machine` names. With
/// each_machine, the constants are also fitted once without each machine's rows and predict those. Errors: a file that
/// is wrong, a table without a setup.
Result<std::vector<CollectiveOutcome>> validate_collectives(const ValidationRows& rows, Library& library,
                                                            LeaveOut left_out);

}  // namespace takt
