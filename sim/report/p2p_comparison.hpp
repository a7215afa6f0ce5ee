// A p2pBandwidthLatencyTest log beside what the topology predicts, cell by cell: `takt topo measure-compare`.
#pragma once

#include "topology/import/p2p_log.hpp"
#include "topology/topology.hpp"

#include <string>

namespace takt {

/// One bandwidth matrix: measured/predicted in GB/s for each pair, the median error, and the pairs that are off by more
/// than a tenth with the link that should bound them. `topology` is the machine in the state of the matrix
/// (peer-to-peer off or on); the log's devices are its cards in order. Errors: another number of cards.
Result<std::string> p2p_comparison(const P2pMatrix& matrix, const Topology& topology);

}  // namespace takt
