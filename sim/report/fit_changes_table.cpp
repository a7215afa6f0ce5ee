// Which single changes make a run fit.
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace takt {

std::string fit_changes_table(const RunResult& result) {
  constexpr std::size_t indent = 2;
  const MemoryMetrics& memory = result.metrics.memory;
  if (memory.fits) return "";
  std::string text = fmt::format("  {} too much for a card\n", format_size(memory.over()));
  if (result.fit_changes.empty()) return text;
  Table table({{"single changes, each tried by a run"},
               {"peak", Align::right},
               {"of card", Align::right},
               {"tokens/s", Align::right},
               {""}});
  for (const FitChange& change : result.fit_changes) {
    table.row({change.what, format_size(change.peak), format_share(change.part_of_card()),
               format_number(change.tokens_per_second), change.fits ? "fits" : "does not fit"});
  }
  const bool any = std::any_of(result.fit_changes.begin(), result.fit_changes.end(),
                               [](const FitChange& change) { return change.fits; });
  return text + table.text(indent) + (any ? "" : "  none of them alone is enough\n");
}

}  // namespace takt
