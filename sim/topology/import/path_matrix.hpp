// The matrix of `nvidia-smi topo -m` as a table: who is how far from whom.
#pragma once

#include "base/result.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

enum class PathCell {
  unknown,  ///< no row of the text states it
  self,     ///< X
  nvlink,   ///< NV#
  pix,      ///< at most one PCIe bridge
  pxb,      ///< several PCIe bridges, no host bridge
  phb,      ///< a PCIe host bridge
  node,     ///< host bridges of one NUMA node
  sys,      ///< across NUMA nodes
};

struct PathEntry {
  PathCell cell = PathCell::unknown;
  std::int64_t nvlinks = 0;  ///< of an NV# cell

  bool operator==(const PathEntry&) const = default;
};

/// A row and column of the matrix. What the text does not state is empty.
struct MatrixDevice {
  std::string label;  ///< as the text names it: "GPU0", "NIC3", "mlx5_10"
  bool is_card = true;
  std::string adapter;                        ///< a NIC's name from the legend: "mlx5_0"
  std::string cpu_affinity;                   ///< "0-63,128-191"
  std::optional<std::int64_t> numa_node;      ///< the CPU's; of a list the first
  std::optional<std::int64_t> gpu_numa_node;  ///< the card's own (Grace Hopper)
  SourcePlace place;                          ///< of its row, or of its column when it has no row
  bool has_row = false;
};

struct PathMatrix {
  std::vector<MatrixDevice> devices;            ///< in column order
  std::vector<std::vector<PathEntry>> entries;  ///< symmetric; [row][column]
  bool has_affinity = false;                    ///< some card states its NUMA node or CPU affinity
  Diagnostics warnings;

  const PathEntry& at(std::size_t row, std::size_t column) const { return entries[row][column]; }
};

/// Reads the text around and with colour codes, log prefixes, tabs or spaces, comments at row ends, missing, merged or
/// list-valued affinity columns, legends. Errors: see import_nvidia_smi.
Result<PathMatrix> read_path_matrix(const SourceText& source);

}  // namespace takt
