#include "topology/pcie_tree.hpp"

#include <utility>

namespace takt {

PcieTree::PcieTree(const ServerSpec& server) : server_(server) {
  std::vector<std::string> reached;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind != DeviceKind::socket) continue;
    steps_[device.name] = 0;
    reached.push_back(device.name);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (std::size_t link = 0; link < server.links.size(); ++link) {
      const LinkSpec& spec = server.links[link];
      const std::string from = reached[next];
      if (spec.type.kind != LinkKind::pcie || (spec.from != from && spec.to != from)) continue;
      const std::string& other = other_end(link, from);
      if (steps_.emplace(other, steps_.at(from) + 1).second) reached.push_back(other);
    }
  }
}

const std::string& PcieTree::other_end(std::size_t link, const std::string& device) const {
  const LinkSpec& spec = server_.links[link];
  return spec.from == device ? spec.to : spec.from;
}

std::vector<std::size_t> PcieTree::uplinks(const std::string& device) const {
  std::vector<std::size_t> links;
  const auto mine = steps_.find(device);
  if (mine == steps_.end()) return links;
  for (std::size_t link = 0; link < server_.links.size(); ++link) {
    const LinkSpec& spec = server_.links[link];
    if (spec.type.kind != LinkKind::pcie || (spec.from != device && spec.to != device)) continue;
    const auto other = steps_.find(other_end(link, device));
    if (other != steps_.end() && other->second < mine->second) links.push_back(link);
  }
  return links;
}

std::vector<std::string> PcieTree::switches_above(const std::string& device) const {
  std::vector<std::string> switches;
  std::vector<std::size_t> up = uplinks(device);
  for (std::string here = device; !up.empty(); up = uplinks(here)) {
    here = std::string(other_end(up.front(), here));
    if (steps_.at(here) > 0) switches.push_back(here);
  }
  return switches;
}

}  // namespace takt
