// Measured transfers against the topology's predictions: `takt validate --links`.
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"
#include "metrics/copy_rates.hpp"

#include <string>
#include <vector>

namespace takt {

/// The state of a machine during a measurement.
enum class PeerState { on, off, acs };

/// A row of validation/links/cases.csv.
struct LinkCase {
  std::string server;  ///< a file beside the cases
  PeerState state = PeerState::on;
  std::string group;                ///< what rows are summed up by, e.g. "copies, one direction"
  std::string what;                 ///< the measurement in words
  std::vector<Transfer> transfers;  ///< all at once
  Bandwidth measured{};             ///< of all transfers together
  std::string not_modelled;         ///< why no prediction is claimed; empty: it is
  std::string source;
  SourcePlace place{};  ///< of the row
};

/// Columns: server, state (on, off, acs), group, what, transfers ("0>1 1>0 host>2"), measured_GBps, not_modelled,
/// source. Errors: a wrong header, a row with another number of cells, a transfer or number that is none.
Result<std::vector<LinkCase>> read_link_cases(const SourceText& source);

struct LinkOutcome {
  LinkCase measurement;
  Bandwidth predicted{};

  /// (predicted - measured) / measured.
  double error() const { return predicted.count() / measurement.measured.count() - 1.0; }
};

/// A row of validation/links/excluded.csv: published rows that are compared with nothing, and the rule.
struct LinkExclusion {
  std::string machine;
  std::string measurement;
  std::int64_t rows = 0;
  std::string rule;
  std::string source{};
};

/// Columns: machine, measurement, rows, rule, source. Errors: as for cases.
Result<std::vector<LinkExclusion>> read_link_exclusions(const SourceText& source);

/// A row a machine and group with the median and the largest error, contention rows one by one, what is not modelled
/// and why, what is excluded and by which rule, and the median over all that is modelled. Every published row is in one
/// of the three.
std::string link_validation_table(const std::vector<LinkOutcome>& outcomes,
                                  const std::vector<LinkExclusion>& exclusions);

/// Every row as CSV; an exclusion stands for as many rows as it counts.
std::string link_rows_csv(const std::vector<LinkOutcome>& outcomes, const std::vector<LinkExclusion>& exclusions);

/// The median of the absolute errors of the modelled rows.
double median_link_error(const std::vector<LinkOutcome>& outcomes);

}  // namespace takt
