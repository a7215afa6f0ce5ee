// Machines of the library by their names.
#pragma once

#include "../support/hardware.hpp"
#include "config/library.hpp"

#include <map>
#include <string>
#include <variant>

namespace takt::test {

inline Topology named_machine(const std::string& id) {
  Library library(search_path(nullptr));
  const auto spec = library.topology(id, {}).value();
  const auto* cluster = std::get_if<ClusterSpec>(&spec);
  const ServerSpec server = cluster ? library.server(cluster->server, {}).value() : std::get<ServerSpec>(spec);
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind == DeviceKind::card) cards.emplace(device.card, card(device.card));
  }
  return cluster ? build_topology(*cluster, server, cards, LinkBasis::measured).value()
                 : build_topology(server, cards, LinkBasis::measured).value();
}

}  // namespace takt::test
