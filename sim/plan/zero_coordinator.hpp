// Which parameters ZeRO-3 gathers and releases when (semantics Z8 to Z10). A pure function of the order of modules.
#pragma once

#include <cstdint>
#include <vector>

namespace takt {

/// A parameter of the model, by its position there.
struct GatheredParameter {
  std::int64_t elements = 0;
  bool persistent = false;        ///< never released (Z9)
};

/// The parameters that a module visit needs, in trace order.
using Trace = std::vector<std::vector<std::uint32_t>>;

/// What happens around one visit.
struct CoordinatorStep {
  std::vector<std::uint32_t> fetch;     ///< gathered for the module itself; compute waits for it
  std::vector<std::uint32_t> prefetch;  ///< gathered in one call behind it, for later modules
  std::vector<std::uint32_t> release;   ///< freed when the module has run
};

struct CoordinatorSettings {
  std::int64_t prefetch_bucket = 0;     ///< elements; the one that reaches it is inside
  std::int64_t max_live = 0;            ///< elements that prefetching may hold
  std::int64_t max_reuse_distance = 0;  ///< elements
  bool has_trace = true;                ///< false: the first iterations, which do not prefetch
};

/// The steps of a whole trace, one a visit. At its end everything is released but the persistent parameters.
std::vector<CoordinatorStep> coordinate(const std::vector<GatheredParameter>& parameters, const Trace& trace,
                                        const CoordinatorSettings& settings);

}  // namespace takt
