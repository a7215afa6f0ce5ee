// What collectives reach on a server over what the model of NCCL says: two factors, [nccl] rate and latency.
//
// The model takes fixed times and rates from constants that were fitted to many machines (collective/nccl). A server's
// own measurements move both: fixed times are `latency` times, rates of NCCL's kernels `rate` times the model's. They
// minimise a smoothed |log(predicted / measured)|, weakly held at 1; what links allow stays as it is.
#pragma once

#include "base/result.hpp"
#include "calibration/measurements.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace takt {

struct FittedCollectives {
  double rate = 1.0, latency = 1.0;
  std::size_t rows = 0;
  /// |predicted / measured - 1|; before: the median as the server's file was.
  double before = 0.0, median = 0.0, worst = 0.0;
};

/// Of the rows that are collectives, over the first cards of `server`. Errors: a collective that is none, more cards
/// than the server has (with the row), a server that cannot be built.
Result<FittedCollectives> fit_collectives(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                                          const std::vector<Measurement>& measured);

}  // namespace takt
