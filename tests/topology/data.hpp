// The data files of the project, read and built.
#pragma once

#include "config/reader.hpp"
#include "support/source_dir.hpp"
#include "topology/topology.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace takt::data {

inline std::string folder() {
  return takt::test::source_dir() + "/topologies/";
}

/// The stems of a folder's files, sorted.
inline std::vector<std::string> names_in(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder() + kind)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.diagnostics()));
  return std::move(result).value();
}

inline SourceText text_of(const std::string& path) {
  return value_or_throw(read_text_file(folder() + path));
}

inline const std::map<std::string, LinkType>& link_types() {
  static const std::map<std::string, LinkType> types = value_or_throw(read_link_types(text_of("links.toml")));
  return types;
}

inline const std::map<std::string, CardSpec>& cards() {
  static const std::map<std::string, CardSpec> all = [] {
    std::map<std::string, CardSpec> specs;
    for (const std::string& name : names_in("cards")) {
      specs.emplace(name, value_or_throw(read_card(text_of("cards/" + name + ".toml"))));
    }
    return specs;
  }();
  return all;
}

inline ServerSpec server(const std::string& name) {
  return value_or_throw(read_server(text_of("servers/" + name + ".toml"), link_types()));
}

inline Topology topology(const std::string& name, LinkBasis basis) {
  return value_or_throw(build_topology(server(name), cards(), basis));
}

inline Topology cluster(const std::string& name, LinkBasis basis) {
  const ClusterSpec spec = value_or_throw(read_cluster(text_of("clusters/" + name + ".toml")));
  return value_or_throw(build_topology(spec, server(spec.server), cards(), basis));
}

}  // namespace takt::data
