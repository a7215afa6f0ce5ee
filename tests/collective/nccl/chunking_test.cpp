// N60: the pieces in which a channel works, by algorithm, protocol and how much data there is.
#include "catch.hpp"
#include "collective/nccl/chunking.hpp"

using namespace takt;

namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib;

struct Case {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  CollectiveKind kind;
  std::int64_t bytes, ranks, nodes, ctas;
  std::int64_t chunk, chunks;
};

RuntimeQuery query_of(const Case& one) {
  RuntimeQuery query;
  query.call = {one.kind, Bytes(one.bytes)};
  query.algorithm = one.algorithm;
  query.protocol = one.protocol;
  query.ranks = one.ranks;
  query.nodes = one.nodes;
  query.ctas = one.ctas;
  return query;
}

}  // namespace

TEST_CASE("A channel's pieces are steps of its buffer, fewer bytes where a pipeline is deep (N60)", "[nccl]") {
  constexpr auto ring = NcclAlgorithm::ring, tree = NcclAlgorithm::tree;
  constexpr auto nvls = NcclAlgorithm::nvls, nvls_tree = NcclAlgorithm::nvls_tree;
  constexpr auto ll = NcclProtocol::ll, ll128 = NcclProtocol::ll128, simple = NcclProtocol::simple;
  constexpr auto gather = CollectiveKind::all_gather, reduce = CollectiveKind::all_reduce;
  const Case cases[] = {
      // A step of a ring is the message over ranks and channels: 1 GiB / 8 / 2 = 64 MiB, in chunks of four steps.
      {ring, simple, gather, 1024 * mib, 8, 1, 2, 2 * mib, 32},
      {ring, simple, gather, 16 * mib, 8, 1, 2, 2 * mib, 1},
      {ring, ll, gather, 8 * mib, 8, 1, 4, 32 * kib, 8},
      {ring, ll128, gather, 96 * mib, 8, 1, 8, 576'000, 3},
      // Depth 7: 56 pieces are wanted down to 128 KiB (here 512 of 512 KiB, 32 of 128 KiB), 28 down to 64 KiB, 7 down
      // to 32 KiB (2 of 128 KiB, 4 of 64 KiB, 8 of 32 KiB).
      {tree, simple, reduce, 1024 * mib, 8, 1, 4, 512 * kib, 512},
      {tree, simple, reduce, 16 * mib, 8, 1, 4, 128 * kib, 32},
      {tree, simple, reduce, 1 * mib, 8, 1, 4, 32 * kib, 8},
      {tree, ll, reduce, 1 * mib, 8, 1, 4, 32 * kib, 8},
      // 1 + 1 + 0.4 steps: 64 x 2.4 / 4 = 38.4 pieces are wanted of 576,000 bytes, halved down to less than 128 KiB.
      {tree, ll128, reduce, 16 * mib, 8, 2, 16, 72'000, 15},
      // 16 channels x 8 cards: 256 MiB are fewer than 64 x 128 pieces of 128 KiB, but not than 8 x 128 of 64 KiB.
      {nvls, simple, reduce, 256 * mib, 8, 1, 16, 64 * kib, 32},
      {nvls, simple, reduce, 1 * mib, 8, 1, 16, 16 * kib, 1},
      {nvls_tree, simple, reduce, 256 * mib, 16, 2, 16, 128 * kib, 16},
      {nvls_tree, simple, reduce, 256 * mib, 32, 4, 16, 64 * kib, 32},
  };
  for (const Case& one : cases) {
    CAPTURE(to_text(one.algorithm), to_text(one.protocol), one.bytes);
    CHECK(chunk_bytes(query_of(one)) == one.chunk);
    CHECK(chunks_of_channel(query_of(one)) == one.chunks);
  }
}
