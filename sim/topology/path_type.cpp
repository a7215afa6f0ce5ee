#include "topology/path_type.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace takt {

std::string_view name_of(PathType type) {
  switch (type) {
    case PathType::self: return "X";
    case PathType::nvlink: return "NV";
    case PathType::pix: return "PIX";
    case PathType::pxb: return "PXB";
    case PathType::phb: return "PHB";
    case PathType::node: return "NODE";
    case PathType::sys: return "SYS";
    case PathType::net: return "NET";
    case PathType::disconnected: return "DIS";
  }
  unreachable("a path type without a name");
}

std::optional<PathType> path_type_of(std::string_view level) {
  if (level == "LOC") return PathType::self;
  if (level == "NVL") return PathType::nvlink;
  constexpr std::array levels = {PathType::pix, PathType::pxb, PathType::phb, PathType::node, PathType::sys};
  const auto found = std::find_if(levels.begin(), levels.end(), [&](PathType type) { return name_of(type) == level; });
  if (found == levels.end()) return std::nullopt;
  return *found;
}

PathType link_path_type(LinkKind kind, DeviceKind from, DeviceKind to) {
  const auto touches = [&](DeviceKind device) { return from == device || to == device; };
  const auto joins_two = [&](DeviceKind device) { return from == device && to == device; };
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::nvswitch: return PathType::nvlink;
    case LinkKind::pcie:
      if (touches(DeviceKind::socket)) return PathType::phb;
      return joins_two(DeviceKind::pcie_switch) ? PathType::pxb : PathType::pix;
    case LinkKind::fabric: return joins_two(DeviceKind::socket) ? PathType::node : PathType::phb;
    case LinkKind::memory: return PathType::phb;
    case LinkKind::socket: return PathType::sys;
    case LinkKind::network: return PathType::net;
  }
  unreachable("a link kind without a path type");
}

std::string path_type_label(const Topology& topology, VertexId from, VertexId to) {
  if (from == to) return std::string(name_of(PathType::self));
  const CardRoute& card_route = topology.card_route(from, to);
  const bool over_nvlink = card_route.type == PathType::nvlink && !card_route.route.links.empty();
  if (!over_nvlink) return std::string(name_of(card_route.type));
  std::int64_t links = topology.link(card_route.route.links.front()).lanes;
  for (const LinkId link : card_route.route.links) links = std::min(links, topology.link(link).lanes);
  return "NV" + std::to_string(links);
}

std::vector<std::vector<std::string>> path_type_matrix(const Topology& topology) {
  std::vector<std::vector<std::string>> matrix;
  for (const CardInstance& from : topology.cards()) {
    std::vector<std::string>& row = matrix.emplace_back();
    for (const CardInstance& to : topology.cards()) row.push_back(path_type_label(topology, from.vertex, to.vertex));
  }
  return matrix;
}

}  // namespace takt
