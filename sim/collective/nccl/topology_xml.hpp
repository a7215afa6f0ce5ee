// Reads the XML in which NCCL writes down what it has detected (NCCL_TOPO_DUMP_FILE), and its graph files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "collective/nccl/graph_file.hpp"
#include "collective/nccl/system.hpp"

namespace takt {

/// The server described by `text`. Cards without a rank take no part and are left out, as NCCL does. `file` names the
/// text in diagnostics.
Result<NcclSystem> read_nccl_topology(std::string_view text, const std::string& file);

/// What an NCCL graph file (NCCL_GRAPH_FILE) prescribes.
Result<NcclGraphFile> read_nccl_graph_file(std::string_view text, const std::string& file);

}  // namespace takt
