// Into what pieces NCCL cuts a call: the unit of its pipelines.
#pragma once

#include "collective/nccl/runtime_model.hpp"

#include <cstdint>

namespace takt {

/// Bytes of data that a channel passes on at once: a part of a ring's step, of a tree's buffer, or of one card's share
/// of what NVSwitches reduce (semantics N60, and NCCL's enqueue.cc for what calls with little data get).
std::int64_t chunk_bytes(const RuntimeQuery& query);

/// How many such pieces a channel works off: of one step of a ring, else of all that it carries. At least 1.
std::int64_t chunks_of_channel(const RuntimeQuery& query);

}  // namespace takt
