#include "machine_options.hpp"

#include "scenario_runs.hpp"

#include <utility>

namespace takt {

std::vector<Option> machine_options() {
  return {{"links", "BASIS", "capacities of links (default measured)", {"measured", "nominal"}},
          {"set",
           "KEY=VALUE",
           "a state of the machine, as in a scenario: platform.peer_to_peer.acs=true",
           {},
           Option::Count::repeated}};
}

Result<MachineState> machine_state_of(const ParsedOptions& options) {
  const Result<Overrides> overrides = overrides_of(options);
  if (!overrides) return overrides.diagnostics();
  Result<PlatformState> platform = read_platform(*overrides);
  if (!platform) return platform.diagnostics();
  const LinkBasis basis = options.value("links") == "nominal" ? LinkBasis::nominal : LinkBasis::measured;
  return MachineState{basis, *std::move(platform)};
}

}  // namespace takt
