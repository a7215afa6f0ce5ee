#include "metrics/statistics.hpp"

#include "base/contract.hpp"

#include <algorithm>

namespace takt {

double median(std::vector<double> values) {
  expects(!values.empty(), "a median needs values");
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double ninetieth_percentile(std::vector<double> values) {
  expects(!values.empty(), "a percentile needs values");
  std::sort(values.begin(), values.end());
  return values[values.size() * 9 / 10];
}

}  // namespace takt
