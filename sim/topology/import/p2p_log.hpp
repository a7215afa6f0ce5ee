// The output of CUDA's p2pBandwidthLatencyTest.
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"

#include <string>
#include <vector>

namespace takt {

enum class P2pMeasure { bandwidth_one_direction, bandwidth_both_directions, latency };
enum class P2pAccess { off, on };

/// One matrix of the log. Bandwidths in GB/s (of both directions together where both run), latencies in us.
struct P2pMatrix {
  P2pMeasure measure = P2pMeasure::bandwidth_one_direction;
  P2pAccess access = P2pAccess::off;
  std::vector<std::vector<double>> values;  ///< [from][to], square
  SourcePlace place;                        ///< of its title
};

struct P2pLog {
  std::vector<std::string> devices;  ///< names, where the log lists them
  std::vector<P2pMatrix> matrices;   ///< in the order of the log; latencies as the GPUs measure them
};

/// Errors: no matrix, a cell that is no number, a matrix that is not square (with the line).
Result<P2pLog> read_p2p_log(const SourceText& source);

}  // namespace takt
