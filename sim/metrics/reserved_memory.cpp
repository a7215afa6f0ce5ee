#include "metrics/reserved_memory.hpp"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

constexpr OverheadRange rounding{0.03, 0.10};                              // M8
constexpr ByteRange context_size{Bytes(500'000'000), Bytes(800'000'000)};  // M7
constexpr std::int64_t segment_granule = 2 * 1024 * 1024;                  // H2: large segments are whole 2 MiB

Bytes share_of(Bytes size, double share) {
  return Bytes(std::llround(static_cast<double>(size.count()) * share));
}

Bytes whole_segments(Bytes size) {
  return Bytes((size.count() + segment_granule - 1) / segment_granule * segment_granule);
}

}  // namespace

OverheadRange measured_overhead(const Scenario& scenario, std::int64_t ranks) {
  const bool one = ranks == 1;
  if (scenario.finetune.method == Method::full) return {0.06, 0.92};
  const bool fused = scenario.finetune.cross_entropy == CrossEntropy::fused_linear;
  if (fused) return one ? OverheadRange{0.06, 0.14} : OverheadRange{0.18, 0.54};
  return one ? OverheadRange{0.04, 0.62} : OverheadRange{0.16, 0.85};
}

CardUse card_use(OverheadRange measured, Bytes allocated, Bytes nccl, Bytes capacity) {
  CardUse use;
  use.context = context_size;
  use.nccl = nccl;
  // What nvidia-smi shows has context and buffers in it. The range is the union of the rules' and of the measured one.
  const Bytes low_by_rule = share_of(allocated, 1.0 + rounding.low);
  const Bytes high_by_rule = share_of(allocated, 1.0 + rounding.high);
  const Bytes low_measured = share_of(allocated, 1.0 + measured.low) - use.context.high - nccl;
  const Bytes high_measured = share_of(allocated, 1.0 + measured.high) - use.context.low - nccl;
  use.reserved.low = whole_segments(std::max(allocated, std::min(low_by_rule, low_measured)));
  use.reserved.high = whole_segments(std::max(high_by_rule, high_measured));
  const Bytes left = capacity - use.context.high - nccl;
  use.reserved.high = std::max(use.reserved.low, std::min(use.reserved.high, left));
  use.in_all = {use.reserved.low + use.context.low + nccl, use.reserved.high + use.context.high + nccl};
  return use;
}

}  // namespace takt
