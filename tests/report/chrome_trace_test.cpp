#include "catch.hpp"
#include "config/json.hpp"
#include "metrics/hand_made.hpp"
#include "report/hand_made_result.hpp"
#include "report/report.hpp"

using namespace takt;

namespace {

std::string text(const Json& event, const char* key) {
  const Json* value = event.find(key);
  return value == nullptr ? "" : std::get<std::string>(value->value);
}

double number(const Json& event, const char* key) {
  const Json* value = event.find(key);
  REQUIRE(value != nullptr);
  if (const auto* whole = std::get_if<std::int64_t>(&value->value)) return static_cast<double>(*whole);
  return std::get<double>(value->value);
}

/// The events of the hand-made step for which `wanted` holds.
template <class Wanted>
std::vector<Json> events(const Timeline& timeline, Wanted wanted) {
  const Result<Topology> topology = topology_from_resources(hand_made::resources());
  REQUIRE(topology.has_value());
  const std::string trace = chrome_trace(hand_made::bridge(), hand_made::plan(), *topology, timeline);
  const Result<Json> json = parse_json({"trace.json", trace});
  REQUIRE(json.has_value());
  std::vector<Json> chosen;
  for (const Json& event : std::get<Json::Array>(json->find("traceEvents")->value)) {
    if (wanted(event)) chosen.push_back(event);
  }
  return chosen;
}

}  // namespace

TEST_CASE("segments are expanded to kernels, each stretched as the segment was", "[report][trace]") {
  const auto kernels = events(hand_made::timeline(), [](const Json& event) {
    return text(event, "cat") == "kernel" && number(event, "pid") == 0.0;
  });
  REQUIRE(kernels.size() == 4);
  // forward 12 .. 30: q_proj 6, down_proj 12
  REQUIRE(text(kernels[0], "name") == "q_proj");
  REQUIRE(number(kernels[0], "ts") == 12.0);
  REQUIRE(number(kernels[0], "dur") == 6.0);
  REQUIRE(number(kernels[1], "ts") == 18.0);
  REQUIRE(number(kernels[1], "dur") == 12.0);
  // backward: 15 stand-alone, stretched to 20
  REQUIRE(number(kernels[2], "dur") == 20.0);
  REQUIRE(number(*kernels[2].find("args"), "stand_alone_us") == 15.0);
}

TEST_CASE("a collective is a span on each rank, and an arrow from its last member", "[report][trace]") {
  const auto spans =
      events(hand_made::timeline(), [](const Json& event) { return text(event, "cat") == "communication"; });
  REQUIRE(spans.size() == 6);
  REQUIRE(text(spans[0], "name") == "all-gather");
  REQUIRE(number(spans[0], "ts") == 2.0);
  REQUIRE(number(*spans[0].find("args"), "waited_us") == 2.0);
  const auto arrows =
      events(hand_made::timeline(), [](const Json& event) { return text(event, "cat") == "collective"; });
  REQUIRE(arrows.size() == 6);
  REQUIRE(text(arrows[0], "ph") == "s");
  REQUIRE(number(arrows[0], "pid") == 1.0);  // rank 1 came last
  REQUIRE(text(arrows[1], "ph") == "f");
  REQUIRE(number(arrows[1], "pid") == 0.0);
}

TEST_CASE("counters show memory, and rates where they were recorded", "[report][trace]") {
  const auto counters = [](const Json& event) { return text(event, "ph") == "C"; };
  // five points a rank, in all and by category
  REQUIRE(events(hand_made::timeline(), counters).size() == 20);
  const auto parts = events(hand_made::timeline(), [](const Json& event) {
    return text(event, "name") == "memory by category" && number(event, "pid") == 0.0;
  });
  REQUIRE(parts.size() == 5);
  REQUIRE(number(*parts[3].find("args"), "gradients") == 1200.0);
  REQUIRE(number(*parts[4].find("args"), "activations") == 0.0);  // given back: the series goes on at nothing
  Timeline timeline = hand_made::timeline();
  timeline.rates = {{hand_made::us(2), ResourceId(0), 8e8}, {hand_made::us(12), ResourceId(0), 0.0}};
  const auto with_rates = events(timeline, counters);
  REQUIRE(with_rates.size() == 22);
  REQUIRE(text(with_rates[20], "name") == "gpu0 -> gpu1");
  REQUIRE(number(*with_rates[20].find("args"), "GB/s") == 0.8);
}

TEST_CASE("every rank is a process and every stream a thread", "[report][trace]") {
  const auto names =
      events(hand_made::timeline(), [](const Json& event) { return text(event, "name") == "thread_name"; });
  // CPU, compute, gather, on two ranks
  REQUIRE(names.size() == 6);
  REQUIRE(text(*names[1].find("args"), "name") == "compute");
}
