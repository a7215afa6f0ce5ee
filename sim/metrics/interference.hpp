// What a kernel keeps of its throughput while something else runs on its card.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/scenario.hpp"
#include "workload/kernel.hpp"

namespace takt {

/// What runs beside a kernel, from before it starts until after it ends.
struct Interference {
  std::int64_t ctas = 0;  ///< thread blocks that keep their SMs
  Bandwidth traffic{};    ///< reads and writes of the card's memory, together
};

/// Throughput of `kernel` beside it as a fraction of what it has alone, as the engine plays both.
Result<double> kept_throughput(const Kernel& kernel, const CardSpec& card, const Interference& beside,
                               const Assumptions& assumptions);

}  // namespace takt
