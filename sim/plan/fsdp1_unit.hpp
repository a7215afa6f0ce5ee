// The units of FullyShardedDataParallel and what their flat parameters weigh (semantics F1 to F4, F27, F42 to F44).
#pragma once

#include "base/units.hpp"
#include "config/scenario.hpp"
#include "workload/workload.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace takt {

/// What use_orig_params decides about a flat parameter's layout.
enum class FlatLayout { aligned, packed };

/// Elements of a FlatParameter and of one rank's shard (F3).
struct FlatElements {
  std::int64_t total = 0;  ///< without the padding that only shards have
  std::int64_t shard = 0;  ///< shards of all ranks may hold more than `total`

  bool padded_at_run_time(std::int64_t ranks) const { return shard * ranks != total; }
};

/// aligned: each tensor starts at a multiple of 16 bytes of the compute format, and the total is a multiple of the
/// ranks. packed: tensors follow one another, and the last rank's shard is padded.
FlatElements flat_elements(std::span<const std::int64_t> tensors, double element_bytes, std::int64_t ranks,
                           FlatLayout layout);

/// Gradients are divided by `before` ahead of their reduction and by `after` behind it; the product is the number of
/// ranks (F27).
struct ReductionFactors {
  double before = 1.0;
  double after = 1.0;
};
ReductionFactors reduction_factors(std::int64_t ranks);

/// Sizes of one unit on one rank.
struct FlatSizes {
  bool trains = false;
  Bytes gathered{};        ///< the unsharded flat parameter in the compute format
  Bytes gathered_shard{};  ///< one rank's part of it
  Bytes cast_read{};       ///< the master shard that becomes `gathered_shard`; 0 if it has its format (F4)
  Bytes produced{};        ///< gradients as the backward makes them, one tensor each
  Bytes gradient{};        ///< of the flat parameter, unsharded, in the parameters' format; frozen parts included
  Bytes reduced{};         ///< reduce-scatter input: in the reduce format, padded
  Bytes reduced_shard{};
  bool casts_gradient = false;  ///< the reduce format is another than the gradient's
  bool pads_gradient = false;   ///< the gradient is copied to be padded (F3)
  bool casts_reduced = false;   ///< the reduced shard is cast to the format in which gradients are stored
  std::int64_t trainable_shard_elements = 0;
  Bytes weight_shard{};  ///< stored: the shard, and quantisation states, which are not sharded (F44)
  Bytes gradient_shard{};
  Bytes optimizer_shard{};

  FlatSizes& operator+=(const FlatSizes& other);
};

/// One flat parameter of these parameters. All have one format (F2), but for 4-bit weights, which stand in containers
/// of the others' format (F44).
FlatSizes flat_sizes(const Workload& workload, std::span<const Parameter> parameters, std::int64_t ranks,
                     FlatLayout layout);

/// Kernels of a pass that run in a row in the same unit: the block's own or one of its adapters'.
struct PassPart {
  std::size_t first = 0, count = 0;
  std::optional<std::size_t> adapter;  ///< in FlatBlock::adapters
};

/// A kind of block cut into units.
struct FlatBlock {
  FlatSizes own;
  std::vector<FlatSizes> adapters;  ///< A and B of each adapter in forward order, under WrapPolicy::peft (F43)
  std::vector<PassPart> forward, recompute, backward;
};

FlatBlock flat_block(const Workload& workload, const BlockKind& kind, std::int64_t ranks,
                     const Fsdp1Settings& settings);

/// The root's unit: everything around the decoder layers (F1).
FlatSizes flat_root(const Workload& workload, std::int64_t ranks, const Fsdp1Settings& settings);

}  // namespace takt
