// Topologies of data files for tests, whole or with their text changed.
#pragma once

#include "config/reader.hpp"
#include "support/source_dir.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::test {

inline std::string data(const std::string& path) {
  return takt::test::source_dir() + "/" + path;
}

inline SourceText text_of(const std::string& path) {
  return read_text_file(data(path)).value();
}

inline CardSpec card(const std::string& id) {
  return read_card(text_of("topologies/cards/" + id + ".toml")).value();
}

inline Result<Topology> build(const SourceText& server_text, LinkBasis basis) {
  const auto types = read_link_types(text_of("topologies/links.toml")).value();
  Result<ServerSpec> server = read_server(server_text, types);
  if (!server) return server.diagnostics();
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server->devices) {
    if (device.kind == DeviceKind::card) cards.emplace(device.card, card(device.card));
  }
  return build_topology(*server, cards, basis);
}

/// The server of topologies/servers/`id`.toml.
inline Topology server(const std::string& id, LinkBasis basis) {
  return build(text_of("topologies/servers/" + id + ".toml"), basis).value();
}

inline std::vector<VertexId> vertices(const Topology& topology, std::size_t count) {
  std::vector<VertexId> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(topology.cards()[i].vertex);
  return list;
}

/// `text` with the first `from` after `after` replaced by `to`; the test is wrong if it is not there.
inline std::string replaced(std::string text, const std::string& after, const std::string& from,
                            const std::string& to) {
  const std::size_t start = text.find(after);
  const std::size_t place = start == std::string::npos ? start : text.find(from, start);
  if (place == std::string::npos) throw std::runtime_error("'" + from + "' is not in the text");
  return text.replace(place, from.size(), to);
}

}  // namespace takt::test
