// Collectives in the columns of nccl-tests: predictions, and logs of real runs beside them.
#pragma once

#include "base/result.hpp"
#include "collective/lowering.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

/// nccl-tests' name: "all_gather", "all_reduce", "reduce_scatter", "broadcast".
std::string_view name_of(CollectiveKind kind);
/// Reads that name, with - for _ or with _perf behind it too.
std::optional<CollectiveKind> collective_named(std::string_view name);

/// Bus bandwidth over algorithm bandwidth, as nccl-tests counts: (n - 1) / n, twice that, or 1.
double bus_factor(CollectiveKind kind, std::int64_t ranks);

/// A line of nccl-tests' output. Out-of-place times are read; in-place ones are the same but for noise.
struct NcclTestsLine {
  std::int64_t bytes = 0;
  double time_us = 0.0;
};

struct NcclTestsLog {
  std::int64_t ranks = 0;  ///< as the header lists them; 0: it does not
  std::vector<NcclTestsLine> lines;
};

/// The lines of one run. Errors: no line of results in the text.
Result<NcclTestsLog> read_nccl_tests_log(const SourceText& source);

struct CollectiveRow {
  CollectiveCall call;
  CollectiveAccount account;
  std::optional<double> measured_us;
  std::optional<PredictionInterval> interval{};  ///< of its time
};

/// All rows of one call over `ranks` cards.
struct CollectiveTable {
  std::string topology;
  std::int64_t ranks = 0;
  std::vector<CollectiveRow> rows;
};

enum class Explanations : std::uint8_t { left_out, added };

/// For reading: nccl-tests' columns; measured times and errors where rows have them; what NCCL chose and what limits it
/// where explanations are asked for.
std::string collective_text(const CollectiveTable& table, Explanations explanations);
std::string collective_csv(const CollectiveTable& table);
/// Schema takt.collective/1.
std::string collective_json(const CollectiveTable& table);

}  // namespace takt
