// takt collective and takt validate --collectives.
#include "catch.hpp"
#include "collective/way.hpp"
#include "config/json.hpp"
#include "support/command.hpp"
#include "command_line.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <sstream>

using namespace takt;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("takt collective prints nccl-tests' columns", "[tools]") {
  const Outcome table = takt_command(
      {"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--ranks", "4", "--sizes", "1M:16M:x4"});
  REQUIRE(table.status == ExitStatus::done);
  CHECK(table.out.find("all_gather over 4 cards of 8x-h200-sxm-hgx\n") == 0);
  CHECK(table.out.find("size (B)    count  type   redop  root  time (us)  algbw (GB/s)  busbw (GB/s)") !=
        std::string::npos);
  CHECK(lines(table.out) == 3 + 3 + 1);  // title, header, rule; sizes; how far they may be off
  CHECK(table.out.find(" 1048576    65536  float  none     -1") !=
        std::string::npos);  // 1 MiB of floats over four ranks
  const Outcome explained = takt_command(
      {"collective", "all-reduce", "--topology", "8x-rtx-pro-6000-server-dual-turin", "--sizes", "32M", "--explain"});
  CHECK(explained.out.find("NCCL finds: 8 ranks on 1 node; ring 1 x 0.1") != std::string::npos);
  CHECK(explained.out.find("2 CTAs of 13 GB/s") != std::string::npos);
  CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--sizes", "1M", "--format", "csv"})
            .out.find("\n1048576,32768,float,none,-1,") != std::string::npos);
  CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--sizes", "1M", "--format", "json"})
            .out.find("\"schema\": \"takt.collective/1\"") != std::string::npos);
}

// The log: the times of a published table of eight H100 in the layout of nccl-tests 2.13.
TEST_CASE("takt collective reads a log of nccl-tests and prints it beside the prediction", "[tools]") {
  const std::string log = takt::test::source_dir() + "/tests/tools/logs/all_reduce_perf.txt";
  const Outcome outcome = takt_command({"collective", "all_reduce", "--topology", "8x-h100-sxm-hgx", "--log", log});
  REQUIRE(outcome.status == ExitStatus::done);
  CHECK(outcome.out.find("over 8 cards") != std::string::npos);
  CHECK(lines(outcome.out) == 3 + 4 + 2);  // the errors, and the interval
  CHECK(outcome.out.find("measured (us)") != std::string::npos);
  CHECK(outcome.out.find("median error ") != std::string::npos);
}

TEST_CASE("takt collective says what is wrong with its line", "[tools]") {
  CHECK(takt_command({"collective", "all_gather"}).status == ExitStatus::wrong_usage);
  CHECK(takt_command({"collective", "all_to_all", "--topology", "8x-h200-sxm-hgx"})
            .err.find("no collective 'all_to_all'") != std::string::npos);
  for (const char* sizes : {"", "0", "1M:1K", "1K:1G:x1", "1K:1G:y2", "1K:2K:x2:x2", "-1", "1K:1G:+1"}) {
    CAPTURE(sizes);
    CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--sizes", sizes}).status ==
          ExitStatus::wrong_usage);
  }
  for (const char* ranks : {"", "x", "3-1", "0-", "1,,2"}) {
    CAPTURE(ranks);
    CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--ranks", ranks}).status ==
          ExitStatus::wrong_usage);
  }
  CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--ranks", "9"})
            .err.find("card 8 does not exist") != std::string::npos);
  CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--ranks", "1"}).status ==
        ExitStatus::wrong_usage);
  CHECK(takt_command({"collective", "all_gather", "--topology", "8x-h200-sxm-hgx", "--log", "/nowhere"}).status ==
        ExitStatus::wrong_usage);
}

TEST_CASE("collectives carry the interval of what they cross; sizing floors carry none", "[tools]") {
  const auto json = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"collective", "all_gather", "--sizes", "64M", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = takt_command(words);
    INFO(outcome.err);
    REQUIRE(outcome.status == ExitStatus::done);
    const Result<Json> whole = parse_json({"", outcome.out});
    return std::get<Json::Array>(whole->find("rows")->value).front();
  };
  const auto number = [](const Json& value) { return std::get<double>(value.value); };
  const auto way = [](const Json& row) { return std::get<std::string>(row.find("way")->value); };
  const Json bridged = json({"--topology", "2x-h200-nvl-2-way-bridge"});
  CHECK(way(bridged) == "NVLink bridges");
  const auto& bounds = std::get<Json::Array>(bridged.find("time_interval_s")->value);
  const PredictionInterval recorded = collective_interval(CollectiveWay::bridge);
  CHECK(number(bounds[0]) == Approx(recorded.low * number(*bridged.find("time_s"))));
  CHECK(number(bounds[1]) == Approx(recorded.high * number(*bridged.find("time_s"))));
  CHECK(way(json({"--topology", "8x-h200-sxm-hgx"})) == "NVSwitches");
  CHECK(way(json({"--topology", "2x-8x-h200-sxm-hgx-400g"})) == "a network");
  CHECK(way(json({"--topology", "8x-rtx-pro-6000-server-dual-turin"})) == "host memory");
  CHECK(way(json({"--topology", "8x-rtx-pro-6000-server-4-switches", "--set", "nccl.p2p_level=SYS"})) ==
        "PCIe, card to card");
  CHECK(json({"--topology", "8x-h200-sxm-hgx", "--set", "assumptions.links=nominal"}).find("time_interval_s") ==
        nullptr);
}

TEST_CASE("takt validate --collectives holds its recorded bounds, each machine left out", "[tools]") {
  const Outcome outcome = takt_command({"validate", "--collectives", "--leave-one-out"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == ExitStatus::done);
  CHECK(outcome.out.find("1342 rows") != std::string::npos);
  CHECK(takt_command({"validate", "--links", "--leave-one-out"}).status == ExitStatus::wrong_usage);
}
