// A connection's buffer has eight steps (N60, N70). A piece is one step, four for a Simple ring. Where a pipeline is
// deep, pieces of that size would leave it empty most of the time, so NCCL halves them until the buffer of a channel
// holds a multiple of the depth, and takes small ones for NVSwitches, which reduce in many places at once.
#include "collective/nccl/chunking.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace takt {
namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t steps_of_a_buffer = 8;
constexpr std::int64_t simple_step = 4096 * kib / steps_of_a_buffer;
constexpr std::int64_t simple_ring_steps = 4;
constexpr std::int64_t ll_step = 512 * kib / steps_of_a_buffer / 2;             // half of it is flags (N62)
constexpr std::int64_t ll128_step = 4'915'200 / steps_of_a_buffer * 120 / 128;  // N62
constexpr std::int64_t nvls_chunk = 128 * kib;
constexpr std::int64_t nvls_tree_chunk_many_nodes = 64 * kib;  // from four nodes on

double as_double(std::int64_t value) {
  return static_cast<double>(value);
}

std::int64_t log2_floor(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

/// Pieces larger than `least` are halved while a channel has fewer than `pieces` of them.
struct Halving {
  double pieces = 0.0;
  std::int64_t least = 0;
};

template <std::size_t count>
std::int64_t halved(std::int64_t chunk, std::int64_t bytes, std::int64_t channels,
                    const std::array<Halving, count>& rules) {
  for (const Halving& rule : rules) {
    while (as_double(bytes / (channels * chunk)) < rule.pieces && chunk > rule.least) chunk /= 2;
  }
  return chunk;
}

std::int64_t tree_chunk(const RuntimeQuery& query) {
  const std::int64_t bytes = query.call.bytes.count();
  const double cards = as_double(query.ranks) / as_double(query.nodes);
  const double levels = as_double(log2_floor(query.nodes));
  switch (query.protocol) {
    case NcclProtocol::ll:
      return ll_step;
    case NcclProtocol::ll128: {
      const double steps = 1.0 + levels + 0.1 * cards;
      const std::array rules{Halving{64 * steps / cards, 128 * kib}, Halving{16 * steps / cards, 32 * kib}};
      return halved(ll128_step, bytes, query.ctas, rules);
    }
    case NcclProtocol::simple:
      break;
  }
  const double depth = as_double(query.ranks / query.nodes) - 1.0 + levels;
  const std::array rules{Halving{8 * depth, 128 * kib}, Halving{4 * depth, 64 * kib}, Halving{depth, 32 * kib}};
  return halved(simple_step, bytes, query.ctas, rules);
}

/// Cards that own a share of what the switches reduce.
std::int64_t heads_of(const RuntimeQuery& query) {
  return std::max<std::int64_t>(1, query.ranks / query.nodes);
}

/// Pieces become `size` where the buffer has fewer than `pieces` of those so far at all places together.
struct Smaller {
  std::int64_t pieces = 0, size = 0;
};

template <std::size_t count>
std::int64_t shrunk(std::int64_t chunk, const RuntimeQuery& query, const std::array<Smaller, count>& rules) {
  const std::int64_t places = query.ctas * heads_of(query);
  for (const Smaller& rule : rules) {
    if (query.call.bytes.count() < rule.pieces * places * chunk) chunk = std::min(chunk, rule.size);
  }
  return chunk;
}

}  // namespace

std::int64_t chunk_bytes(const RuntimeQuery& query) {
  constexpr std::int64_t many_nodes = 4;
  switch (query.algorithm) {
    case NcclAlgorithm::tree:
      return tree_chunk(query);
    case NcclAlgorithm::nvls:
      return shrunk(nvls_chunk, query, std::array{Smaller{64, 64 * kib}, Smaller{8, 32 * kib}, Smaller{2, 16 * kib}});
    case NcclAlgorithm::nvls_tree:
      return shrunk(query.nodes >= many_nodes ? nvls_tree_chunk_many_nodes : nvls_chunk, query,
                    std::array{Smaller{4, 64 * kib}, Smaller{1, 32 * kib}});
    default:
      break;
  }
  if (query.protocol == NcclProtocol::ll) return ll_step;
  return query.protocol == NcclProtocol::ll128 ? ll128_step : simple_step * simple_ring_steps;
}

std::int64_t chunks_of_channel(const RuntimeQuery& query) {
  const bool switches = query.algorithm == NcclAlgorithm::nvls || query.algorithm == NcclAlgorithm::nvls_tree;
  std::int64_t parts = query.ctas;
  if (switches) parts *= heads_of(query);
  if (!switches && query.algorithm != NcclAlgorithm::tree) parts *= query.ranks;
  const double bytes = as_double(query.call.bytes.count()) / as_double(parts);
  const auto chunk = chunk_bytes(query);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>((bytes + as_double(chunk) - 1.0) / as_double(chunk)));
}

}  // namespace takt
