// Property: no text makes a reader throw or crash; what it refuses has an error, with places inside the file.
#include <algorithm>
#include <random>

#include "catch.hpp"
#include "config/reader.hpp"

using namespace takt;

namespace {

const std::string scenario_text = R"(title = "mutant"
[hardware]
topology = "box"
cards = [0, 1]
[model]
name = "m"
[finetune]
method = "lora"
lora = { rank = 16, targets = ["q", "v"], dropout = 0.05 }
[parallel]
strategy = "ddp"
bucket_size = "25 MiB"
prefetch = "default"
[assumptions]
kernel_launch = "4 us"
sm_slowdown = 1.5
)";

const std::string server_text = R"(title = "mutant"
source = "test"
[[socket]]
name = "cpu0"
memory = "1 TB"
memory_bandwidth = "300 GB/s"
[cards]
count = 2
card = "c"
[[link]]
from = "cpu0"
to = "gpu0"
type = "pcie5-x16"
effective = "50 GB/s"
[[bridge]]
cards = ["gpu0", "gpu1"]
)";

/// `text` with a few bytes replaced, dropped, or copied from elsewhere in it.
std::string mutate(std::string text, std::mt19937_64& random) {
  constexpr std::string_view interesting = "\"'[]{}=.#,\\\n\t 0-9eE+_\x80\x00nai";
  for (std::size_t changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = interesting[random() % interesting.size()]; break;
      case 1: text.erase(at, 1 + random() % 6); break;
      case 2: text.insert(at, text.substr(random() % text.size(), random() % 12)); break;
      default: text.insert(at, 1, interesting[random() % interesting.size()]);
    }
  }
  return text;
}

void require_sensible(const Diagnostics& diagnostics, bool has_value, const std::string& text) {
  REQUIRE(has_error(diagnostics) == !has_value);
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const Diagnostic& diagnostic : diagnostics) {
    REQUIRE(diagnostic.place.file == "mutant.toml");
    REQUIRE(diagnostic.place.line <= lines + 1);
    REQUIRE_FALSE(diagnostic.message.empty());
    REQUIRE_FALSE(render(diagnostic).empty());
  }
}

}  // namespace

TEST_CASE("property: mutated files are read or refused, with sensible messages", "[config][property]") {
  constexpr std::uint64_t seed = 31337;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::map<std::string, LinkType> link_types;
  link_types["pcie5-x16"].id = "pcie5-x16";
  int refused = 0;
  constexpr int draws = 1500;
  for (int i = 0; i < draws; ++i) {
    const std::string scenario = mutate(scenario_text, random);
    INFO("draw " << i << "\n" << scenario);
    const Result<Scenario> read = read_scenario(SourceText{"mutant.toml", scenario});
    require_sensible(read.diagnostics(), read.has_value(), scenario);
    refused += read.has_value() ? 0 : 1;
    const std::string server = mutate(server_text, random);
    INFO(server);
    const Result<ServerSpec> spec = read_server({"mutant.toml", server}, link_types);
    require_sensible(spec.diagnostics(), spec.has_value(), server);
  }
  REQUIRE(refused > draws / 4);  // the mutations bite
  REQUIRE(refused < draws);
}
