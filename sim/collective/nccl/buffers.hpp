// What NCCL allocates for the connections of a communicator (semantics N70).
//
// A receiving connection has a buffer for each protocol, whichever runs. NCCL connects an algorithm when its first call
// comes, so a communicator pays for the algorithms that it uses, and each communicator pays its own.
#pragma once

#include "base/units.hpp"
#include "collective/call.hpp"
#include "collective/nccl/runtime_model.hpp"

#include <cstdint>

namespace takt::nccl {

/// Of a receiving connection: LL 512 KiB, LL128 4,915,200 B, Simple 4 MiB.
Bytes buffer_bytes(NcclProtocol protocol);
/// Of all protocols together.
Bytes receive_buffer_bytes();

struct Connections {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  std::int64_t channels = 0;        ///< of the communicator
  std::int64_t nvls_channels = 0;   ///< CTAs of NVLS
  std::int64_t cards_a_server = 0;  ///< NVLS: each card is the head of a part
  RingHops hops;                    ///< of a ring through the members
};

/// On the card of the rank that has most: nothing where every hop goes through host memory, whose buffers lie there.
Bytes bytes_on_card(const Connections& connections);

}  // namespace takt::nccl
