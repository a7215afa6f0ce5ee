#include "plan/ddp_bucket.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/contract.hpp"

namespace takt {
namespace {

/// The open bucket of one element size.
struct OpenBucket {
  double element_bytes = 0.0;
  std::size_t limit = 0;
  Bucket bucket;
};

}  // namespace

std::vector<Bucket> assign_buckets(std::span<const ReducedTensor> tensors, std::span<const Bytes> limits) {
  expects(!limits.empty(), "buckets have a limit");
  std::vector<Bucket> closed;
  std::vector<OpenBucket> open;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const double element_bytes = tensors[i].element_bytes;
    auto at = std::find_if(open.begin(), open.end(),
                           [&](const OpenBucket& candidate) { return candidate.element_bytes == element_bytes; });
    if (at == open.end()) at = open.insert(open.end(), OpenBucket{element_bytes, 0, {}});
    at->bucket.members.push_back(static_cast<std::uint32_t>(i));
    at->bucket.bytes += tensors[i].bytes;
    if (at->bucket.bytes < limits[at->limit]) continue;
    closed.push_back(std::exchange(at->bucket, {}));
    at->limit = std::min(at->limit + 1, limits.size() - 1);
  }
  for (OpenBucket& rest : open) {
    if (!rest.bucket.members.empty()) closed.push_back(std::move(rest.bucket));
  }
  return closed;
}

std::vector<Bucket> registration_buckets(std::span<const ReducedTensor> tensors, std::span<const Bytes> limits) {
  std::vector<Bucket> buckets = assign_buckets(tensors, limits);
  std::sort(buckets.begin(), buckets.end(),
            [](const Bucket& a, const Bucket& b) { return a.members.front() > b.members.front(); });
  return buckets;
}

std::vector<std::uint32_t> arrival_order(const BlockKind& kind) {
  std::vector<std::uint32_t> order(kind.parameters.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return kind.parameters[a].used > kind.parameters[b].used;
  });
  return order;
}

std::vector<Arrival> arrivals(const BlockKind& kind) {
  double all_elements = 0.0, all_time = 0.0;
  for (const Parameter& parameter : kind.parameters) all_elements += static_cast<double>(parameter.elements());
  for (const Kernel& kernel : kind.backward) all_time += static_cast<double>(kernel.time.count());
  const bool timed = all_time > 0.0;   // else kernels count alike
  if (!timed) all_time = static_cast<double>(kind.backward.size());

  std::vector<Arrival> result;
  double elements = 0.0, time = 0.0;
  std::size_t kernels = 0;
  for (const std::uint32_t position : arrival_order(kind)) {
    elements += static_cast<double>(kind.parameters[position].elements());
    while (kernels < kind.backward.size() && time * all_elements < elements * all_time) {
      time += timed ? static_cast<double>(kind.backward[kernels].time.count()) : 1.0;
      ++kernels;
    }
    if (kind.parameters[position].trainable) result.push_back({position, kernels});
  }
  return result;
}

}  // namespace takt
