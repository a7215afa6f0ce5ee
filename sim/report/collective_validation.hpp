// Measured collectives against predictions: `takt validate --collectives`.
#pragma once

#include "base/result.hpp"
#include "collective/way.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

/// A row of validation/collectives/rows.csv.
struct CollectiveCase {
  std::string table;
  CollectiveCall call;
  std::int64_t ranks = 0;
  std::string family;   ///< "NVSwitch", "host staged", ...
  std::string machine;  ///< rows of one machine are left out together
  double measured_us = 0.0;
  SourcePlace place{};  ///< of the row
};

/// How the cases of a table ran: a row of setups.csv.
struct CollectiveCaseSetup {
  std::string table;
  std::int64_t ranks = 0;
  std::string topology;               ///< a name, or a file beside the list
  std::string cards;                  ///< "0-7"
  std::vector<std::string> settings;  ///< "nccl.p2p_level=SYS"
  double harness_us = 0.0;            ///< what the benchmark program adds to each time; no part of a collective
  std::string inferred;               ///< what of the setup was read from the rows themselves; empty: nothing
};

/// Errors: a wrong header, a row with another number of cells, a number or collective that is none.
Result<std::vector<CollectiveCase>> read_collective_cases(const SourceText& source);
Result<std::vector<CollectiveCaseSetup>> read_collective_setups(const SourceText& source);

struct CollectiveOutcome {
  CollectiveCase measurement;
  double harness_us = 0.0;
  bool inferred = false;
  double predicted_us = 0.0;  ///< with the harness
  double left_out_us = 0.0;   ///< the same by constants that have not seen this machine; 0: not asked for
  std::string choice;         ///< "Ring, Simple, 24"
  CollectiveWay way{};
};

/// Median and 90th percentile over tables of the tables' median errors, percent.
struct CollectiveScore {
  double median = 0.0, ninetieth = 0.0;
  std::size_t tables = 0;
};

enum class Sizes : std::uint8_t { all, mebibyte_and_more };
enum class Tables : std::uint8_t { all, not_inferred };
enum class Prediction : std::uint8_t { recorded, left_out };

/// What a score is over.
struct ScoreOf {
  Prediction prediction = Prediction::recorded;
  Sizes sizes = Sizes::all;
  Tables tables = Tables::all;
  std::string family{};  ///< empty: all
};
CollectiveScore score(const std::vector<CollectiveOutcome>& outcomes, const ScoreOf& of);

/// Tables one by one, classes, and the summary.
std::string collective_validation_text(const std::vector<CollectiveOutcome>& outcomes);

/// Every row as CSV.
std::string collective_rows_csv(const std::vector<CollectiveOutcome>& outcomes);

/// Scores that must hold, with what they are now: one line for each that is left. Empty: all hold.
std::vector<std::string> broken_bounds(const std::vector<CollectiveOutcome>& outcomes);

}  // namespace takt
