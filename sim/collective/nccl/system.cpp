#include "collective/nccl/system.hpp"

#include <algorithm>
#include <optional>

#include "base/contract.hpp"

namespace takt {

NcclSystem restrict_to(const NcclSystem& system, const std::vector<std::size_t>& positions) {
  expects(std::is_sorted(positions.begin(), positions.end()), "cards of a server are kept in order");
  const auto new_position = [&](std::size_t old) -> std::optional<std::size_t> {
    const auto found = std::lower_bound(positions.begin(), positions.end(), old);
    if (found == positions.end() || *found != old) return std::nullopt;
    return static_cast<std::size_t>(found - positions.begin());
  };
  NcclSystem kept = system;
  kept.gpus.clear();
  for (const std::size_t position : positions) {
    NcclGpu gpu = system.gpus.at(position);
    std::vector<NcclNvlink> links;
    for (NcclNvlink link : gpu.nvlinks) {
      if (auto* card = std::get_if<GpuEnd>(&link.end)) {
        const auto target = new_position(card->position);
        if (!target) continue;
        card->position = *target;
      }
      links.push_back(link);
    }
    gpu.nvlinks = std::move(links);
    kept.gpus.push_back(std::move(gpu));
  }
  return kept;
}

}  // namespace takt
