#include "collective/nccl/buffers.hpp"

#include "base/contract.hpp"

namespace takt::nccl {
namespace {

constexpr std::int64_t kibi = 1024, mebi = 1024 * kibi;
/// A tree's rank receives from its children on the way up and from its parent on the way down: 2 (n - 1) / n a rank on
/// the mean, "roughly two" (N70).
constexpr std::int64_t tree_connections_a_channel = 2;
/// NVLS: two ways of 1 MiB a channel and head (N70).
constexpr std::int64_t nvls_bytes_a_head = 2 * mebi;

Bytes of_connections(std::int64_t count) {
  return Bytes(count * receive_buffer_bytes().count());
}

}  // namespace

Bytes buffer_bytes(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return Bytes(512 * kibi);
    case NcclProtocol::ll128:
      return Bytes(4'915'200);
    case NcclProtocol::simple:
      return Bytes(4 * mebi);
  }
  unreachable("a protocol");
}

Bytes receive_buffer_bytes() {
  return buffer_bytes(NcclProtocol::ll) + buffer_bytes(NcclProtocol::ll128) + buffer_bytes(NcclProtocol::simple);
}

Bytes bytes_on_card(const Connections& connections) {
  const RingHops& hops = connections.hops;
  const bool any_on_card = hops.nvlink > 0 || hops.p2p > 0 || hops.net > 0;
  const Bytes nvls(connections.nvls_channels * connections.cards_a_server * nvls_bytes_a_head);
  switch (connections.algorithm) {
    case NcclAlgorithm::nvls:
      return nvls;
    case NcclAlgorithm::nvls_tree:
      return nvls + of_connections(tree_connections_a_channel * connections.nvls_channels);
    case NcclAlgorithm::tree:
      return any_on_card ? of_connections(tree_connections_a_channel * connections.channels) : Bytes{};
    default:
      return any_on_card ? of_connections(connections.channels) : Bytes{};
  }
}

}  // namespace takt::nccl
