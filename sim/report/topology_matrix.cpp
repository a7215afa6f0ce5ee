#include "report/topology_export.hpp"
#include "topology/path_type.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

namespace takt {
namespace {

/// A row of the matrix.
struct Row {
  VertexId vertex{};
  std::string label;
  bool is_card = true;
};

/// "0-31", by socket: cores in the order of the sockets.
std::map<std::int32_t, std::string> cpu_ranges(const Topology& topology) {
  std::map<std::int32_t, std::string> ranges;
  std::int64_t first = 0;
  for (const DeviceSpec& spec : topology.server_spec().devices) {
    if (spec.kind != DeviceKind::socket) continue;
    const auto number = static_cast<std::int32_t>(ranges.size());
    ranges[number] = spec.cores == 0 ? "" : fmt::format("{}-{}", first, first + spec.cores - 1);
    first += spec.cores;
  }
  return ranges;
}

std::vector<Row> rows_of(const Topology& topology) {
  std::vector<Row> rows;
  for (const CardInstance& card : topology.cards()) {
    if (card.server == 0) rows.push_back({card.vertex, fmt::format("GPU{}", rows.size()), true});
  }
  std::size_t nics = 0;
  for (std::size_t v = 0; v < topology.device_count(); ++v) {
    const Device& device = topology.device(id_at<VertexId>(v));
    if (device.kind != DeviceKind::nic || device.server != 0) continue;
    rows.push_back({id_at<VertexId>(v), fmt::format("NIC{}", nics++), false});
  }
  return rows;
}

}  // namespace

std::string distance_label(const Topology& topology, VertexId from, VertexId to) {
  if (from == to) return std::string(name_of(PathType::self));
  const std::optional<Route> route = topology.route(from, to);
  if (!route || route->links.empty()) return std::string(name_of(PathType::disconnected));
  PathType type = PathType::self;
  std::int64_t lanes = topology.link(route->links.front()).lanes;
  std::int64_t entered_by = 0;  // the host bridge of the link before
  for (const LinkId id : route->links) {
    const Link& link = topology.link(id);
    const DeviceKind source = topology.device(topology.link_source(id)).kind;
    const DeviceKind target = topology.device(topology.link_target(id)).kind;
    type = std::max(type, link_path_type(link.kind, source, target));
    lanes = std::min(lanes, link.lanes);
    const bool both_stated = source == DeviceKind::socket && entered_by > 0 && link.host_bridge > 0;
    if (both_stated && link.host_bridge != entered_by) type = std::max(type, PathType::node);
    entered_by = link.host_bridge;
  }
  if (type == PathType::nvlink) return fmt::format("NV{}", lanes);
  return std::string(name_of(type));
}

std::string topology_matrix(const Topology& topology) {
  const std::vector<Row> rows = rows_of(topology);
  const std::map<std::int32_t, std::string> cpus = cpu_ranges(topology);
  std::string text;
  for (const Row& row : rows) text += '\t' + row.label;
  text += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (const Row& row : rows) {
    text += row.label;
    for (const Row& column : rows) {
      const std::string label = distance_label(topology, row.vertex, column.vertex);
      text += '\t' + (label == "X" ? " X " : label);
    }
    const std::int32_t socket = topology.device(row.vertex).socket;
    const auto cpu = cpus.find(socket);
    if (!row.is_card) {
      text += "\t\t\t";
    } else if (socket < 0 || cpu == cpus.end()) {
      text += "\t\tN/A\tN/A";
    } else {
      text += fmt::format("\t{}\t{}\tN/A", cpu->second, socket);
    }
    text += '\n';
  }
  std::string legend;
  for (const Row& row : rows) {
    if (!row.is_card) legend += fmt::format("  {}: {}\n", row.label, topology.device(row.vertex).name);
  }
  return legend.empty() ? text : text + "\nNIC Legend:\n\n" + legend;
}

}  // namespace takt
