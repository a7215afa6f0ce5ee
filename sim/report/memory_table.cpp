// Memory over a step, on half a screen.
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/table.hpp"

#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t op_width = 36;

std::string phases(const MemoryMetrics& memory) {
  Table table({{fmt::format("memory of rank {} over the step", memory.rank)},
               {"peak", Align::right},
               {"of card", Align::right},
               {"at", Align::right},
               {"reached by"}});
  for (const PhasePeak& peak : memory.phases) {
    const double part = static_cast<double>(peak.allocated.count()) / static_cast<double>(memory.capacity.count());
    table.row({peak.phase, format_size(peak.allocated), format_share(part), format_time(peak.when),
               shorten(peak.op, op_width)});
  }
  return table.text(indent);
}

/// A row a category, a column a phase.
std::string composition(const MemoryMetrics& memory) {
  std::vector<Column> columns = {{"made of"}};
  std::map<std::string, std::vector<std::string>> rows;
  for (std::size_t i = 0; i < memory.phases.size(); ++i) {
    columns.push_back({memory.phases[i].phase, Align::right});
    for (const auto& [category, size] : memory.phases[i].components) {
      std::vector<std::string>& row = rows[category];
      row.resize(memory.phases.size());
      row[i] = format_size(size);
    }
  }
  Table table(columns);
  for (const auto& [category, sizes] : rows) {
    std::vector<std::string> cells = {category};
    cells.insert(cells.end(), sizes.begin(), sizes.end());
    table.row(std::move(cells));
  }
  return table.empty() ? "" : table.text(indent);
}

std::string range(const ByteRange& range) {
  return fmt::format("{} to {}", format_size(range.low), format_size(range.high));
}

std::string card_use(const MemoryMetrics& memory) {
  const CardUse& use = memory.use;
  Table table({{"what the card holds (a range: reserved memory cannot be predicted closer)"}, {""}});
  table.row({"allocated at the peak", format_size(memory.peak)});
  table.row({"reserved by the allocator, allocated included", range(use.reserved)});
  table.row({"CUDA context and libraries", range(use.context)});
  table.row({"NCCL buffers", format_size(use.nccl)});
  table.row({fmt::format("in all, of {}", format_size(memory.capacity)), range(use.in_all)});
  std::string text = table.text(indent);
  if (memory.fits && use.in_all.low > memory.capacity) {
    text +=
        wrap("what is allocated fits, but context, buffers and rounding need more than is left", screen_width, indent);
  }
  return text;
}

}  // namespace

std::string memory_table(const RunResult& result) {
  const MemoryMetrics& memory = result.metrics.memory;
  return phases(memory) + '\n' + composition(memory) + '\n' + card_use(memory);
}

}  // namespace takt
