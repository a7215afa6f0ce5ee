// YAML text to the tree that the readers walk. The home of yaml-cpp is yaml.cpp.
#pragma once

#include "config/node.hpp"

namespace takt {

/// Parses a file of one YAML document, as other programs write their settings. Plain words are read as Python's YAML
/// reads them (`yes`, `no`, `on` and `off` are flags); members without a value (`~`, `null`, nothing) are left out, since
/// programs take them for missing. Errors, with their places: no valid YAML, more than one document, no mapping at the
/// root, a key that is no word or stands twice, more than 100,000 values once aliases are expanded.
Result<Node> parse_yaml(const SourceText& source);

}  // namespace takt
