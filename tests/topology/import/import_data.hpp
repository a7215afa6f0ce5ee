// The options of the import tests: the project's own cards and link types.
#pragma once

#include "topology/data.hpp"
#include "topology/import/import.hpp"

namespace takt::test {

inline ImportOptions import_options(const std::string& card = "", const std::string& cpu = "") {
  return {card, cpu, data::cards(), data::link_types()};
}

}  // namespace takt::test
