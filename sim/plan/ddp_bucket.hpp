// How DistributedDataParallel groups gradients into buckets (semantics D1 to D5, D8). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "workload/workload.hpp"

namespace takt {

/// A gradient as the reducer sees it; gradients of different element sizes never share a bucket.
struct ReducedTensor {
  Bytes bytes{};
  double element_bytes = 2.0;
};

struct Bucket {
  std::vector<std::uint32_t> members;   ///< positions in the list that was assigned
  Bytes bytes{};
};

/// Capacity of the first bucket when the user gave none: 1 MiB (D3, D4).
inline constexpr Bytes first_bucket_limit{1 << 20};

/// Fills buckets in the order of `tensors`: the tensor that reaches the limit is inside and closes the bucket, the next
/// one gets the next limit, the last limit repeats. What is left over becomes final buckets. `limits` is not empty.
std::vector<Bucket> assign_buckets(std::span<const ReducedTensor> tensors, std::span<const Bytes> limits);

/// Buckets of find_unused_parameters=True: filled in registration order and launched last to first (D3).
std::vector<Bucket> registration_buckets(std::span<const ReducedTensor> tensors, std::span<const Bytes> limits);

/// Positions in `kind.parameters` in the order in which gradients arrive (D5, D8): last used first; of one linear the
/// bias before the weight, B before A. Frozen parameters are listed too.
std::vector<std::uint32_t> arrival_order(const BlockKind& kind);

/// When the gradients of a block arrive during its backward.
struct Arrival {
  std::uint32_t parameter = 0;          ///< position in BlockKind::parameters; trainable
  std::size_t after_kernels = 0;        ///< it is there once so many kernels of the backward are issued
};

/// Gradients in order of arrival. Each linear's share of the backward is taken as its share of the block's elements:
/// the weight gradient of a linear costs time in proportion to them.
std::vector<Arrival> arrivals(const BlockKind& kind);

}  // namespace takt
