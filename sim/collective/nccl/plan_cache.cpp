#include "collective/nccl/plan_cache.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace takt {
namespace {

using Plan = Result<std::shared_ptr<const NcclPlan>>;

/// All that a plan depends on.
struct Inputs {
  std::vector<NcclSystem> servers;
  NcclSettings settings;
  std::optional<NcclGraphFile> graph_file;

  auto operator<=>(const Inputs&) const = default;
};

struct Memo {
  /// A plan of 128 servers takes some hundred kB; a sweep over hardware meets a few dozen.
  static constexpr std::size_t most_plans = 256;

  std::mutex mutex;
  std::map<Inputs, Plan> plans;
};

Memo& memo() {
  static Memo the_memo;
  return the_memo;
}

}  // namespace

Plan planned(const std::vector<NcclSystem>& servers, const NcclSettings& settings,
             const std::shared_ptr<const NcclGraphFile>& graph_file) {
  Inputs inputs{servers, settings, graph_file ? std::optional(*graph_file) : std::nullopt};
  {
    const std::lock_guard lock(memo().mutex);
    const auto known = memo().plans.find(inputs);
    if (known != memo().plans.end()) return known->second;
  }
  Result<NcclPlan> made = plan_nccl(servers, settings, graph_file.get());
  Plan plan = made ? Plan(std::make_shared<const NcclPlan>(*std::move(made))) : Plan(made.diagnostics());
  const std::lock_guard lock(memo().mutex);
  if (memo().plans.size() >= Memo::most_plans) memo().plans.clear();
  return memo().plans.emplace(std::move(inputs), std::move(plan)).first->second;
}

}  // namespace takt
