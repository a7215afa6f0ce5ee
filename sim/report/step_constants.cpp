#include "report/step_constants.hpp"

#include "report/format.hpp"
#include "report/table.hpp"

#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

constexpr std::size_t most_constants = 8;
constexpr double most_drift = 0.01;  ///< of a constant, from what the rows give with the present code

std::map<std::string, std::vector<std::string>> rows_by_publisher(const ConstantBasis& basis) {
  std::map<std::string, std::vector<std::string>> rows;
  for (const ConstantBasis::Row& row : basis.rows) rows[row.publisher].push_back(row.row);
  return rows;
}

double mean_share(const ConstantBasis& basis) {
  double sum = 0.0;
  for (const ConstantBasis::Row& row : basis.rows) sum += row.share;
  return basis.rows.empty() ? 0.0 : sum / static_cast<double>(basis.rows.size());
}

}  // namespace

std::string constants_text(const std::vector<ConstantBasis>& bases, const GlobalConstants& refitted) {
  const GlobalConstants recorded = recorded_global_constants();
  std::string text = fmt::format("{} constants are fitted to steps (at most {}); of each, the rows whose step moves with it\n",
                                 global_constants().size(), most_constants);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const GlobalConstant& constant = global_constants()[i];
    const auto by_publisher = rows_by_publisher(bases[i]);
    text += '\n' + wrap(fmt::format("{}: recorded {:.3f}, all scored rows give {:.3f}; {} rows of {} publishers, whose "
                                    "steps lengthen by {} with 10 % more of it ({})",
                                    constant.name, recorded.*constant.value, refitted.*constant.value,
                                    bases[i].rows.size(), by_publisher.size(), format_share(0.1 * mean_share(bases[i])),
                                    constant.rests_on),
                        screen_width);
    for (const auto& [publisher, rows] : by_publisher) {
      std::string line = fmt::format("{} ({}):", publisher, rows.size());
      for (const std::string& row : rows) line += ' ' + row;
      text += wrap(line, screen_width, 2);
    }
  }
  return text;
}

std::vector<std::string> left_constant_bounds(const std::vector<ConstantBasis>& bases,
                                              const GlobalConstants& refitted) {
  std::vector<std::string> left;
  if (global_constants().size() > most_constants)
    left.push_back(fmt::format("{} constants are fitted to steps, at most {} may be", global_constants().size(),
                               most_constants));
  const GlobalConstants recorded = recorded_global_constants();
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const GlobalConstant& constant = global_constants()[i];
    if (bases[i].rows.empty()) left.push_back(fmt::format("no scored step moves with {}", constant.name));
    const double was = recorded.*constant.value, now = refitted.*constant.value;
    if (std::abs(now / was - 1.0) > most_drift)
      left.push_back(fmt::format("{} is recorded as {:.3f}, a fit to all scored steps gives {:.3f}", constant.name, was,
                                 now));
  }
  return left;
}

}  // namespace takt
