#include "support/source_dir.hpp"

namespace takt::test {

std::string source_dir() {
  return TAKT_SOURCE_DIR;
}

}  // namespace takt::test
