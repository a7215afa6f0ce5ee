// Every flow case that another simulator solved: each flow's duration within max(1e-6 of it, 3 ps).
#include "catch.hpp"
#include "engine/simulate.hpp"
#include "flow_case.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace takt;

namespace {

std::vector<std::string> cases() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(takt::test::source_dir() + "/tests/oracle/flows")) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("flow cases end when another simulator says, pruned or not", "[oracle]") {
  const auto paths = cases();
  REQUIRE(paths.size() >= 25);
  for (const std::string& path : paths) {
    const auto flow_case = oracle::read_flow_case(path);
    for (const bool prune : {true, false}) {
      EngineOptions options;
      options.prune = prune;
      const auto timeline = simulate(flow_case.plan, flow_case.resources, options);
      REQUIRE(timeline.has_value());
      double worst = 0.0;
      for (std::size_t flow = 0; flow < flow_case.finish_s.size(); ++flow) {
        const double end = to_seconds(timeline->ops[flow][1].end);
        // The files print 12 significant digits of the finish; the rest of the difference must be ours.
        const double allowed = std::max({1e-6 * flow_case.duration_s[flow], 3e-12, 1e-11 * flow_case.finish_s[flow]});
        worst = std::max(worst, std::abs(end - flow_case.finish_s[flow]) / allowed);
      }
      INFO(path << (prune ? ", pruned" : ", not pruned") << ": worst difference over what is allowed");
      CHECK(worst <= 1.0);
    }
  }
}
