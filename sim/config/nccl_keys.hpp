// The keys of [nccl]: NCCL's version, its environment settings and the fabric between servers.
#pragma once

#include "config/key_table.hpp"
#include "config/scenario.hpp"

#include <vector>

namespace takt {

std::vector<Key<Scenario>> nccl_rows();

}  // namespace takt
