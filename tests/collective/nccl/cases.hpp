// The expected choices of NCCL (fixtures/graphs_and_times.csv) and the servers they belong to.
#pragma once

#include <string>
#include <vector>

#include "collective/nccl/plan.hpp"

namespace takt::test {

using Row = std::vector<std::string>;  ///< the cells of a line

/// Lines of the expectations whose first cell is `kind`: GRAPH, RING, TREE, LATBW or TIME.
std::vector<Row> expected_rows(const std::string& kind);

NcclSystem fixture_system(const std::string& name);

/// `count` equal servers with ranks numbered through.
std::vector<NcclSystem> servers_of(const NcclSystem& system, std::size_t count);

/// The plan of a case of the expectations; computed once a run.
const NcclPlan& plan_of_case(const std::string& name);

/// The number after `key` in a cell such as "n=12 intra=30.00"; fails if there is none.
double number_after(const std::string& cell, const std::string& key);
/// The word after `key`, up to a blank.
std::string word_after(const std::string& cell, const std::string& key);

CollectiveKind collective_kind(const std::string& name);
NcclAlgorithm algorithm_named(const std::string& name);
NcclProtocol protocol_named(const std::string& name);

/// Counts which columns of a table match, so that a failing test says which ones do not.
class ColumnCounts {
 public:
  void add(const std::string& column, const std::string& row, bool matches);
  /// "channels 50/50, speed 49/50 (first: hgx_h100_8_n1)".
  std::string report() const;
  bool all_match() const;

 private:
  struct Count {
    std::string column;
    int matching = 0, rows = 0;
    std::string first_difference;
  };
  std::vector<Count> counts_;
};

}  // namespace takt::test
