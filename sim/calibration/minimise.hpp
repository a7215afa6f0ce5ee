// The least value of a function of several numbers, without derivatives: Nelder and Mead's simplex, with the usual
// coefficients (reflect 1, expand 2, contract and shrink one half). Deterministic.
#pragma once

#include <functional>
#include <vector>

namespace takt {

struct Minimum {
  std::vector<double> at;
  double value = 0.0;
};

/// Walks `rounds` rounds from `start`; the first simplex reaches `steps` along each axis (same length, none zero).
Minimum minimise(const std::function<double(const std::vector<double>&)>& function, std::vector<double> start,
                 const std::vector<double>& steps, int rounds);

}  // namespace takt
