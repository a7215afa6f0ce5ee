// takt sweep and takt merge as a user calls them: the same bytes for any number of jobs, resumed, sharded or not.
#include "catch.hpp"
#include "command_line.hpp"
#include "support/source_dir.hpp"
#include "sweep/sweep_rows.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace takt;

namespace {

namespace fs = std::filesystem;

struct Outcome {
  ExitStatus status = ExitStatus::done;
  std::string out;
  std::string err;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string read_all(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// A folder of its own for a test, removed behind it.
class Workplace {
 public:
  Workplace() : folder_(fs::temp_directory_path() / ("takt-sweep-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Workplace() { fs::remove_all(folder_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// A sweep of 18 points over a small synthetic step; two of its models do not exist.
  std::string sweep() const {
    std::ifstream from(takt::test::source_dir() + "/scenarios/fsdp80-star-8.toml");
    std::ofstream to(path("sweep.toml"));
    to << from.rdbuf()
       << "\n[sweep]\n\"model.name\" = [\"fsdp80\", \"no-such-model\"]\n"
          "\"assumptions.overlap\" = [\"streams\", \"none\", \"perfect\"]\n"
          "\"hardware.cards\" = [[0, 1], [0, 1, 2, 3], \"all\"]\n";
    return path("sweep.toml");
  }

  Outcome takt(std::vector<std::string> words) const {
    std::ostringstream out, err;
    const ExitStatus status = run_command_line(words, {out, err});
    return {status, out.str(), err.str()};
  }

  /// The rows of a file as text, for formats whose bytes are not promised.
  std::string rows(const std::string& name) const {
    const auto opened = open_sweep_rows(path(name));
    REQUIRE(opened.has_value());
    std::string text;
    for (SweepRow row; (*opened)->next(row);) text += csv_line(row.cells);
    for (const auto& [key, value] : (*opened)->provenance()) text += key + " = " + value + '\n';
    return text;
  }

 private:
  fs::path folder_;
};

/// Leaves of `path` what a crash could: some whole rows and a part of one.
void cut(const std::string& path, std::size_t lines, std::size_t bytes_more) {
  const std::string text = read_all(path);
  std::size_t end = 0;
  for (std::size_t i = 0; i < lines; ++i) end = text.find('\n', end) + 1;
  fs::resize_file(path, end + bytes_more);
}

}  // namespace

TEST_CASE("rows are the same bytes for any number of jobs", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  for (const std::string ending : {".csv", ".jsonl"}) {
    for (const std::string jobs : {"1", "2", "4"}) {
      const Outcome outcome = here.takt({"sweep", file, "--out", here.path("jobs" + jobs + ending), "--jobs", jobs});
      INFO(outcome.err);
      REQUIRE(outcome.status == ExitStatus::done);
      REQUIRE(has(outcome.err, "18 points; 3 axes: model.name (2), assumptions.overlap (3), hardware.cards (3)\n"));
    }
    const std::string one = read_all(here.path("jobs1" + ending));
    CHECK(std::count(one.begin(), one.end(), '\n') == (ending == ".csv" ? 19 : 18));
    CHECK(one == read_all(here.path("jobs2" + ending)));
    CHECK(one == read_all(here.path("jobs4" + ending)));
  }
  for (const std::string jobs : {"1", "2"}) {
    REQUIRE(here.takt({"sweep", file, "--out", here.path(jobs + ".sqlite"), "--jobs", jobs}).status ==
            ExitStatus::done);
  }
  CHECK(here.rows("1.sqlite") == here.rows("2.sqlite"));
}

TEST_CASE("a point that fails is a row with its error, placed, and the sweep goes on", "[tools][sweep]") {
  const Workplace here;
  const Outcome outcome = here.takt({"sweep", here.sweep(), "--out", here.path("a.jsonl")});
  CHECK(outcome.status == ExitStatus::done);
  CHECK(has(outcome.err, "9 ok, 9 failed"));
  std::istringstream lines(read_all(here.path("a.jsonl")));
  std::size_t ok = 0, failed = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json row = parse_json({"row", line}).value();
    const bool exists = *row.find("model.name") == Json("fsdp80");
    ++(exists ? ok : failed);
    CHECK(*row.find("status") == Json(exists ? "ok" : "error"));
    CHECK((*row.find("step_time_s") == Json()) == !exists);
    if (!exists) CHECK(has(std::get<std::string>(row.find("error")->value), "there is no model \"no-such-model\""));
  }
  CHECK(ok == 9);
  CHECK(failed == 9);
}

TEST_CASE("a row is what takt run says of the same scenario", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  REQUIRE(here.takt({"sweep", file, "--out", here.path("a.jsonl")}).status == ExitStatus::done);
  const std::string first = read_all(here.path("a.jsonl"));
  const Json row = parse_json({"row", first.substr(0, first.find('\n'))}).value();
  const Outcome run = here.takt({"run", file, "--format", "json", "--set", "hardware.cards=[0, 1]"});
  const Json result = std::get<Json::Array>(parse_json({"run", run.out}).value().find("results")->value).front();
  CHECK(*row.find("step_time_s") == *result.find("step_time_s"));
  CHECK(*result.find("step_time_interval_s") == Json());  // synthetic layers
  CHECK(*row.find("step_time_low_s") == Json());
  CHECK(*row.find("hash") == *result.find("scenario")->find("hash"));
  CHECK(*row.find("memory_peak_bytes") == *result.find("memory")->find("peak_bytes"));
}

TEST_CASE("what was cut off anywhere is continued to the same file", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  for (const std::string ending : {".csv", ".jsonl"}) {
    const std::string path = here.path("a" + ending);
    REQUIRE(here.takt({"sweep", file, "--out", path}).status == ExitStatus::done);
    const std::string whole = read_all(path);
    for (const auto& [lines, more] : {std::pair{18U, 5U}, {7U, 0U}, {1U, 3U}, {0U, 2U}, {0U, 0U}}) {
      cut(path, lines, more);
      const Outcome outcome = here.takt({"sweep", file, "--out", path, "--resume", "--jobs", "2"});
      INFO(outcome.err << lines << " lines and " << more << " bytes were left");
      CHECK(outcome.status == ExitStatus::done);
      CHECK(read_all(path) == whole);
    }
  }
}

TEST_CASE("files of other sweeps are not continued, files are not overwritten", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  const std::string path = here.path("a.csv");
  REQUIRE(here.takt({"sweep", file, "--out", path}).status == ExitStatus::done);
  const std::string whole = read_all(path);
  const Outcome again = here.takt({"sweep", file, "--out", path});
  CHECK(again.status == ExitStatus::invalid);
  CHECK(has(again.err, "a.csv exists\nhint: --resume continues it"));
  const Outcome other =
      here.takt({"sweep", file, "--out", path, "--resume", "--set", "collectives.base_latency=\"1 us\""});
  CHECK(other.status == ExitStatus::invalid);
  CHECK(has(other.err, "holds rows of another sweep: its row 1 is point 0"));
  const Outcome axes = here.takt({"sweep", file, "--out", path, "--resume", "--set", "model.name=fsdp80"});
  CHECK(axes.status == ExitStatus::invalid);
  CHECK(has(axes.err, "its columns are others"));
  CHECK(read_all(path) == whole);
}

TEST_CASE("parts are disjoint and join to what one machine writes", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  for (const std::string ending : {".csv", ".jsonl", ".sqlite"}) {
    REQUIRE(here.takt({"sweep", file, "--out", here.path("whole" + ending)}).status == ExitStatus::done);
    std::vector<std::string> merge = {"merge"};
    for (const std::string part : {"3", "1", "4", "2"}) {
      merge.push_back(here.path("part" + part + ending));
      // A part may be one in which every point fails: then the sweep says so by its status.
      here.takt({"sweep", file, "--out", merge.back(), "--shard", part + "/4"});
    }
    std::vector<std::string> without = merge;
    without.erase(without.begin() + 1);
    for (auto* words : {&merge, &without}) {
      words->push_back("--out");
      words->push_back(here.path((words == &merge ? "joined" : "lacking") + ending));
    }
    const Outcome outcome = here.takt(merge);
    INFO(outcome.err);
    REQUIRE(outcome.status == ExitStatus::done);
    CHECK(here.rows("joined" + ending) == here.rows("whole" + ending));
    if (ending != ".sqlite") CHECK(read_all(here.path("joined" + ending)) == read_all(here.path("whole" + ending)));
    const Outcome lacking = here.takt(without);
    CHECK(lacking.status == ExitStatus::invalid);
    CHECK(has(lacking.err, "4 of 18 points are missing: 2, 6, 10, 14; all of them of part 3/4"));
    CHECK_FALSE(fs::exists(here.path("lacking" + ending)));
  }
}

TEST_CASE("merge refuses what does not belong together", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  here.takt({"sweep", file, "--out", here.path("1.csv"), "--shard", "1/2"});
  here.takt({"sweep", file, "--out", here.path("2.csv"), "--shard", "2/2", "--set", "assumptions.overlap=[\"none\"]"});
  const Outcome other = here.takt({"merge", here.path("1.csv"), here.path("2.csv"), "--out", here.path("j.csv")});
  CHECK(other.status == ExitStatus::invalid);
  CHECK(has(other.err, "has other columns than"));
  here.takt({"sweep", file, "--out", here.path("3.csv"), "--set", "collectives.base_latency=\"1 us\""});
  const Outcome differs = here.takt({"merge", here.path("1.csv"), here.path("3.csv"), "--out", here.path("j.csv")});
  CHECK(differs.status == ExitStatus::invalid);
  CHECK(has(differs.err, "point 0 differs"));
}

TEST_CASE("answers without a spreadsheet", "[tools][sweep]") {
  const Workplace here;
  for (const std::string ending : {".csv", ".jsonl", ".sqlite"}) {
    const Outcome outcome = here.takt({"sweep", here.sweep(), "--out", here.path("a" + ending), "--top", "1", "--by",
                                       "step_time_s", "--pareto", "step_time_s,tokens_per_s_per_card"});
    INFO(outcome.err << outcome.out);
    CHECK(outcome.status == ExitStatus::done);
    CHECK(has(outcome.out, "point  model.name  assumptions.overlap  hardware.cards  step_time_s\n"));
  }
}

TEST_CASE("points that do not fit are left out on request", "[tools][sweep]") {
  const Workplace here;
  const std::string scenario = takt::test::source_dir() + "/scenarios/llama-3.1-8b-full-1x-h200-nvl.toml";
  const std::string axis = "batch.micro_batch=[1, 64]";
  REQUIRE(here.takt({"sweep", scenario, "--out", here.path("all.jsonl"), "--set", axis}).status == ExitStatus::done);
  const std::string all = read_all(here.path("all.jsonl"));
  CHECK(has(all, "\"fits\":false"));
  // A language model's step has an interval.
  const Json first = parse_json({"row", all.substr(0, all.find('\n'))}).value();
  const auto number = [&first](const char* key) { return std::get<double>(first.find(key)->value); };
  CHECK(number("step_time_low_s") < number("step_time_s"));
  CHECK(number("step_time_high_s") > number("step_time_s"));
  const Outcome skipped =
      here.takt({"sweep", scenario, "--out", here.path("fit.jsonl"), "--set", axis, "--set", "sweep.skip_unfit=true"});
  CHECK(has(skipped.err, "do not fit"));
  CHECK(has(read_all(here.path("fit.jsonl")), "\"status\":\"unfit\""));
  CHECK_FALSE(has(read_all(here.path("fit.jsonl")), "\"fits\":false"));
}

TEST_CASE("wrong calls of sweep and merge", "[tools][sweep]") {
  const Workplace here;
  const std::string file = here.sweep();
  struct Case {
    std::vector<std::string> words;
    std::string message;
    ExitStatus status;
  };
  const std::vector<Case> cases = {
      {{"sweep"}, "error: takt sweep needs one sweep file\n", ExitStatus::wrong_usage},
      {{"sweep", file}, "error: takt sweep needs --out FILE\n", ExitStatus::wrong_usage},
      {{"sweep", file, "--out", here.path("a.txt")}, "its ending says nothing\nhint: use .csv", ExitStatus::invalid},
      {{"sweep", file, "--out", here.path("a.csv"), "--shard", "3/2"},
       "error: --shard cannot be '3/2'",
       ExitStatus::wrong_usage},
      {{"sweep", file, "--out", here.path("a.csv"), "--max-points", "17"},
       "18 points, more than --max-points 17",
       ExitStatus::invalid},
      {{"sweep", file, "--out", here.path("a.csv"), "--top", "3"},
       "error: --top and --by go together",
       ExitStatus::wrong_usage},
      {{"sweep", file, "--out", here.path("a.csv"), "--pareto", "mfu,stepp_time_s"},
       "did you mean step_time_s?",
       ExitStatus::wrong_usage},
      {{"sweep", "no-such.toml", "--out", here.path("a.csv")},
       "no-such.toml: error: cannot be read",
       ExitStatus::invalid},
      {{"merge", "a.csv"}, "error: takt merge needs parts and --out FILE", ExitStatus::wrong_usage},
      {{"merge", "a.csv", "--out", "b.jsonl"}, "different endings", ExitStatus::wrong_usage},
      {{"merge", "no-such.csv", "--out", "b.csv"}, "there is no such file", ExitStatus::invalid},
  };
  for (const Case& c : cases) {
    const Outcome outcome = here.takt(c.words);
    INFO(outcome.err);
    CHECK(has(outcome.err, c.message));
    CHECK(outcome.status == c.status);
  }
  CHECK_FALSE(fs::exists(here.path("a.csv")));
}
