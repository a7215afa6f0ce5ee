// Reads the XML in which NCCL writes down what it has detected (NCCL_TOPO_DUMP_FILE), and its graph files.
#pragma once

#include "base/result.hpp"
#include "collective/nccl/graph_file.hpp"
#include "collective/nccl/system.hpp"
#include "config/source.hpp"

namespace takt {

/// The server that an NCCL topology file describes. Cards without a rank take no part and are left out, as NCCL does.
Result<NcclSystem> read_nccl_topology(const SourceText& source);

/// What an NCCL graph file (NCCL_GRAPH_FILE) prescribes.
Result<NcclGraphFile> read_nccl_graph_file(const SourceText& source);

}  // namespace takt
