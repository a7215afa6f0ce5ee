// The pictures under docs/ are what takt run --timeline draws.
#include "catch.hpp"
#include "report/report.hpp"
#include "support/scenarios.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace takt;

TEST_CASE("the pictures of what overlaps with what are drawn from the scenarios", "[golden]") {
  for (const std::string name : {"overlap-ddp", "overlap-fsdp1", "overlap-fsdp2"}) {
    const std::string file = takt::test::source_dir() + "/docs/" + name + ".svg";
    const FinishedRun run = test::finished(name);
    const std::string drawn = timeline_svg(run.result, run.built.plan, run.timeline);
    if (std::getenv("TAKT_UPDATE_GOLDEN") != nullptr) {
      std::filesystem::create_directories(takt::test::source_dir() + "/docs");
      std::ofstream(file, std::ios::binary) << drawn;
      continue;
    }
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    CAPTURE(name);
    CHECK(text.str() == drawn);
  }
}
