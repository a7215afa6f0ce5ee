// Which link of a device leads towards its socket, read off a server's specification before there is a graph.
#pragma once

#include "config/hardware_spec.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace takt {

/// Devices by their distance from the nearest socket over PCIe links.
class PcieTree {
 public:
  explicit PcieTree(const ServerSpec& server);

  /// Positions in ServerSpec::links of the PCIe links of `device` that lead a step nearer to a socket; none for
  /// sockets, for devices off the tree and for names that are no device.
  std::vector<std::size_t> uplinks(const std::string& device) const;

  /// The PCIe switches between `device` and its socket, nearest first.
  std::vector<std::string> switches_above(const std::string& device) const;

 private:
  const std::string& other_end(std::size_t link, const std::string& device) const;

  const ServerSpec& server_;
  std::map<std::string, std::size_t> steps_;  ///< to the nearest socket
};

}  // namespace takt
