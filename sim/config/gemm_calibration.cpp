#include "config/gemm_calibration.hpp"

#include "config/csv.hpp"

#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace takt {
namespace {

constexpr double thousandths = 1000.0;

}  // namespace

Result<GemmResiduals> read_gemm_residuals(const SourceText& source) {
  const Result<CsvTable> table = read_csv(source);
  if (!table) return table.diagnostics();
  GemmResiduals residuals;
  const CsvRow header{1, table->header};
  for (std::size_t column = 2; column < header.cells.size(); ++column) {
    const std::optional<double> m = number_in(header.cells[column]);
    if (!m || *m < 1.0 || (column > 2 && std::log2(*m) <= residuals.log2_m.back())) {
      return table->error_at(header, "the columns after n and k are values of M, ascending");
    }
    residuals.log2_m.push_back(std::log2(*m));
  }
  if (residuals.log2_m.empty()) return table->error_at(header, "there is no column for any M");
  for (const CsvRow& row : table->rows) {
    std::vector<double> numbers;
    for (const std::string& cell : row.cells) {
      const std::optional<double> number = number_in(cell);
      if (!number) return table->error_at(row, fmt::format("\"{}\" is no number", cell));
      numbers.push_back(*number);
    }
    if (numbers[0] < 1.0 || numbers[1] < 1.0) return table->error_at(row, "n and k are at least 1");
    GemmResiduals::Cell& cell = residuals.cells.emplace_back();
    cell.log2_n = std::log2(numbers[0]);
    cell.log2_k = std::log2(numbers[1]);
    for (std::size_t i = 2; i < numbers.size(); ++i) cell.log_ratio.push_back(numbers[i] / thousandths);
  }
  return residuals;
}

std::string write_gemm_residuals(const GemmResiduals& residuals) {
  std::string text = "n,k";
  for (const double log2_m : residuals.log2_m) text += fmt::format(",{}", std::llround(std::exp2(log2_m)));
  text += '\n';
  for (const GemmResiduals::Cell& cell : residuals.cells) {
    text += fmt::format("{},{}", std::llround(std::exp2(cell.log2_n)), std::llround(std::exp2(cell.log2_k)));
    for (const double ratio : cell.log_ratio) text += fmt::format(",{}", std::llround(thousandths * ratio));
    text += '\n';
  }
  return text;
}

}  // namespace takt
