// Published training steps as scenarios: a row names its machine and its software, and becomes a file that runs.
#pragma once

#include "base/result.hpp"
#include "config/csv.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// A row of validation/steps/rows.csv.
struct StepCase {
  std::string row;  ///< unique
  std::string publisher, family, machine, model, stack, method;
  std::int64_t sequence = 0;                     ///< tokens
  std::int64_t micro_batch = 0;                  ///< sequences a card and micro-step
  std::int64_t accumulation = 1;                 ///< micro-steps
  double measured_s = 0.0;                       ///< of an optimizer step
  std::string memory, memory_unit, memory_kind;  ///< the publisher's peak, as he states it
  std::string excluded;                          ///< the rule by which the row leaves; empty: it is scored
  std::string source;
  SourcePlace place;                             ///< of the row in its file
};

inline constexpr const char* step_columns =
    "row,publisher,family,machine,model,stack,method,sequence,micro_batch,accumulation,measured_s,memory,memory_unit,"
    "memory_kind,excluded,source";

/// Errors: another header, a cell that is no positive number where one must be.
Result<std::vector<StepCase>> read_step_cases(const SourceText& source);

/// The cell of a row in the column of that name, one of step_columns.
SourcePlace place_in(const StepCase& row, std::string_view column);

/// How the machines and stacks that rows name are written as keys of a scenario.
struct StepLegend {
  std::map<std::string, Overrides> machines;
  std::map<std::string, Overrides> stacks;
  std::map<std::string, std::string> rules;  ///< by which rows leave, with the reason
  std::map<std::string, std::string> assumed_of_machine, assumed_of_stack;  ///< what publishers do not state; or empty
};

/// machines.csv, stacks.csv and rules.csv of `folder`.
Result<StepLegend> read_step_legend(const std::string& folder);

/// Keys of the row's scenario, each once, later ones of the same name winning: machine, stack, then the row's own. A
/// machine that is not in the legend is a topology by its name; a stack with "=" in it is keys, separated by ";".
/// Error: an unknown stack.
Result<Overrides> step_keys(const StepCase& one, const StepLegend& legend);

/// The row's scenario as a file of the name `file`: what it asks, what was measured and by whom, what is assumed, and
/// its keys by section.
Result<SourceText> step_scenario(const StepCase& one, const StepLegend& legend, std::string file);

}  // namespace takt
