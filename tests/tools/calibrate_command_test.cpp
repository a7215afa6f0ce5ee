// takt calibrate: files that are written whole or not at all, and read back by the commands that price with them.
#include "catch.hpp"
#include "config/csv.hpp"
#include "config/library.hpp"
#include "support/command.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

using namespace takt;
using test::has;
using test::takt_command;

namespace {

namespace fs = std::filesystem;

std::string recorded(const std::string& name) {
  return test::source_dir() + "/tests/calibration/data/" + name;
}

/// A folder of the user's own data, gone with the test.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(fs::temp_directory_path() / ("takt-calibrate-" + name)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = "") const { return (path_ / name).string(); }
  bool empty() const { return fs::is_empty(path_); }

 private:
  fs::path path_;
};

/// The first row of a command's CSV, by column.
double figure(const std::string& csv, const std::string& column) {
  const CsvTable table = read_csv({"out.csv", csv}).value();
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    if (table.header[i] == column) return number_in(table.rows.front().cells[i]).value();
  }
  throw std::runtime_error("no column " + column);
}

test::Outcome with_data(const std::string& folder, const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const ExitStatus status = run_command_line(words, {out, err, folder.c_str()});
  return {status, out.str(), err.str()};
}

}  // namespace

TEST_CASE("published kernels of a card become its file, and takt kernel comes near them", "[tools]") {
  const Folder data("card");
  const test::Outcome outcome = takt_command({"calibrate", recorded("h200-nvl.csv"), "--like", "h200-sxm", "--out",
                                              data.path("topologies/cards")});
  REQUIRE(outcome.err == "");
  REQUIRE(outcome.status == ExitStatus::done);
  CHECK(has(outcome.out, "GEMM model fitted"));
  CHECK(has(outcome.out, "h200-nvl  memory"));
  // 8192 x 4096 x 7168 was measured at 811.6 TFLOP/s, and 8192 cubed by others at 720: the file lies between.
  const test::Outcome gemm =
      with_data(data.path(), {"kernel", "gemm", "8192", "4096", "7168", "--card", "h200-nvl", "--format", "csv"});
  CHECK(figure(gemm.out, "flops_per_s") == Approx(811.6e12).epsilon(0.08));
  const test::Outcome triad =
      with_data(data.path(), {"kernel", "elementwise", "3221225472", "--card", "h200-nvl", "--format", "csv"});
  CHECK(figure(triad.out, "bytes_per_s") == Approx(3991e9).epsilon(1e-3));
}

TEST_CASE("tables of products that were not measured go along with the card's file", "[tools]") {
  const Folder data("unmeasured");
  REQUIRE(takt_command({"calibrate", recorded("streams.csv"), "--out", data.path("topologies/cards")}).status ==
          ExitStatus::done);
  // A100's products are a table beside its file; RTX 4090 takes them over.
  for (const char* card : {"a100-sxm-80", "h100-sxm", "rtx-4090"}) {
    const test::Outcome gemm = with_data(data.path(), {"kernel", "gemm", "4096", "8192", "8192", "--card", card});
    INFO(gemm.err);
    CHECK(gemm.status == ExitStatus::done);
  }
}

TEST_CASE("published attention of B200 is priced as it was measured", "[tools]") {
  const Folder data("attention");
  REQUIRE(takt_command({"calibrate", recorded("b200-sxm.csv"), "--like", "h200-sxm", "--out", data.path("topologies/cards")})
              .status == ExitStatus::done);
  std::vector<std::string> words = {"kernel", "attention", "4", "8192", "16", "16", "128", "--card", "b200-sxm", "--format", "csv"};
  CHECK(figure(with_data(data.path(), words).out, "flops_per_s") == Approx(1418.1e12).epsilon(1e-3));
  words.emplace_back("--backward");
  CHECK(figure(with_data(data.path(), words).out, "flops_per_s") == Approx(1208.6e12).epsilon(1e-3));
}

TEST_CASE("published collectives become a server's file, and takt collective comes near them", "[tools]") {
  const Folder data("server");
  const std::string mine = data.path("topologies/servers/mine.toml");
  const test::Outcome outcome =
      takt_command({"calibrate", recorded("8x-rtx-pro-6000-collectives.csv"), "--server",
                    "8x-rtx-pro-6000-server-4-switches-spr", "--server-out", mine});
  REQUIRE(outcome.err == "");
  CHECK(has(outcome.out, "60 collectives: median error "));
  const CsvTable rows = read_csv(read_text_file(recorded("8x-rtx-pro-6000-collectives.csv")).value()).value();
  std::vector<double> errors;
  for (const CsvRow& row : rows.rows) {
    if (!row.cells[4].starts_with("8x")) continue;
    const std::string bytes = row.cells[4].substr(2);
    const test::Outcome one =
        takt_command({"collective", row.cells[2], "--topology", mine, "--sizes", bytes, "--format", "csv"});
    REQUIRE(one.err == "");
    errors.push_back(figure(one.out, "time_us") / number_in(row.cells[5]).value() - 1.0);
  }
  REQUIRE(errors.size() >= 27);
  std::sort(errors.begin(), errors.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  CHECK(std::abs(errors[errors.size() / 2]) < 0.10);
}

TEST_CASE("products alone in the old columns still fit a card", "[tools]") {
  const Folder data("old");
  // Products of an H200 NVL that reaches 60 % of its peak at every shape, 5 us to start.
  std::string rows = "card,precision,m,n,k,ms\n";
  for (const double n : {1024.0, 2048.0, 4096.0, 5120.0, 8192.0}) {
    for (const double k : {1024.0, 4096.0, 8192.0}) {
      for (const double m : {512.0, 2048.0, 8192.0}) {
        const double ms = 2 * m * n * k / (0.6 * 835.5e12) * 1e3 + 0.005;
        rows += "h200-nvl,bf16," + std::to_string(static_cast<int>(m)) + ',' + std::to_string(static_cast<int>(n)) + ',' +
                std::to_string(static_cast<int>(k)) + ',' + std::to_string(ms) + '\n';
      }
    }
  }
  std::ofstream(data.path("old.csv")) << rows;
  const test::Outcome outcome =
      takt_command({"calibrate", data.path("old.csv"), "--out", data.path("topologies/cards"), "--source", "a pretended card"});
  REQUIRE(outcome.err == "");
  const std::string card = read_text_file(data.path("topologies/cards/h200-nvl.toml")).value().text;
  CHECK(has(card, "[gemm.bf16]                 # 45 products"));
  CHECK(has(card, "source = \"a pretended card\"\n"));
  CHECK(fs::exists(data.path("topologies/cards/gemm/h200-nvl-bf16.csv")));
}

TEST_CASE("nothing is written unless everything could be fitted", "[tools]") {
  const Folder data("refused");
  const auto refused = [&data](const std::string& rows, const std::vector<std::string>& more = {}) {
    const fs::path file = fs::temp_directory_path() / "takt-calibrate-rows.csv";
    std::ofstream(file) << "kind,card,what,precision,shape,value,unit,spread\n" << rows;
    std::vector<std::string> words = {"calibrate", file.string(), "--out", data.path("cards")};
    words.insert(words.end(), more.begin(), more.end());
    const test::Outcome outcome = takt_command(words);
    fs::remove(file);
    CHECK(outcome.status == ExitStatus::invalid);
    CHECK(outcome.out == "");
    CHECK(data.empty());
    const std::size_t name = outcome.err.find(file.string());
    return name == 0 ? outcome.err.substr(file.string().size()) : outcome.err;
  };
  const std::string good = "memory,h200-sxm,copy,fp32,2000000000,4080,GB/s,\n";
  CHECK(refused(good + "memory,h200-sxm,copy,fp32,2000000000,none,GB/s,\n") ==
        ":3:38: error: the value is a positive number\n"
        "    3 | memory,h200-sxm,copy,fp32,2000000000,none,GB/s,\n"
        "      |                                      ^\n");
  CHECK(refused(good + "attention,a100-sxm-80,flash forward,fp8,1x8x8x8x8,1,ms,\n") ==
        ":3:1: error: attention rows of a100-sxm-80 in fp8, which the card does not have\n"
        "    3 | attention,a100-sxm-80,flash forward,fp8,1x8x8x8x8,1,ms,\n"
        "      | ^\n"
        "hint: see [peak] of " + test::source_dir() + "/topologies/cards/a100-sxm-80.toml\n");
  CHECK(refused(good + "gemm,h200-sxm,product,bf16,8192x8192x8192,1.5,ms,\n") ==
        "error: 1 products of h200-sxm in bf16 are too few\n"
        "hint: measure at least 40 of ten weight shapes, or scale another card's fit: --like h200-sxm\n");
  // A size in bytes, or a time in the wrong unit: neither was told of the products.
  const std::string huge = "gemm,h200-nvl,product,bf16,1000000000x8192x8192,1.5,ms,\n";
  CHECK(has(refused(good + huge, {"--like", "h200-sxm"}),
            ", a card's file has 0.05 to 1.2: products are faster than the card can be, 1000000000x8192x8192 most of "
            "all\n    3 | " + huge + "      | ^\nhint: see the sizes and units of the rows, and [peak] of "));
  CHECK(refused(good + huge, {"--like", "h200-sxm"}).starts_with(":3:1: error: gemm.bf16.efficiency of h200-nvl would be "));
  CHECK(has(refused(good + "gemm,h200-nvl,product,bf16,8192x8192x8192,1500,ms,\n", {"--like", "h200-sxm"}),
            "products are slower than the card can be, 8192x8192x8192 most of all\n"));
  std::string one_shape;
  for (int m = 1; m <= 44; ++m) one_shape += "gemm,h200-sxm,product,bf16," + std::to_string(128 * m) + "x8192x8192,1,ms,\n";
  CHECK(has(refused(one_shape), "error: 44 products of h200-sxm in bf16 are of too few weight shapes (N, K): "));
  CHECK(has(refused(good + "memory,h200,copy,fp32,2000000000,4080,GB/s,\n"), "error: there is no card \"h200\"\n"));
  CHECK(has(refused(good + "copy,h200-sxm,0>9,,1000,1,ms,\n", {"--server", "8x-h200-sxm-hgx", "--server-out", data.path("s.toml")}),
            ":3:1: error: there is no card 9 in 8x-h200-sxm-hgx\n"));
  CHECK(refused(good, {"--server", "8x-h200-sxm-hgx"}) ==
        ": error: the file has memory rows, and none of copies, staged copies or collectives, which tell a server's links\n"
        "hint: measure.py measures them on a server: --only copy,collective\n");
}

TEST_CASE("rows of a server without --server are pointed to it; --server-out alone is wrong usage", "[tools]") {
  CHECK(has(takt_command({"calibrate", recorded("8x-a100.csv")}).out,
            "56 copies and collectives were measured: --server BASE sets the links of a server to them\n"));
  const test::Outcome alone = takt_command({"calibrate", recorded("8x-a100.csv"), "--server-out", "x.toml"});
  CHECK(alone.status == ExitStatus::wrong_usage);
  CHECK(alone.err == "error: --server-out without --server\nhint: --server names the machine that was measured, e.g. 8x-rtx-4090\n");
}

TEST_CASE("a file that holds nothing for what was asked is told, with the kinds that it has and that are needed", "[tools]") {
  // Each was done without a word: nothing was written, or the card's file as it was.
  const Folder data("nothing");
  const auto refused = [&data](const std::string& rows, const std::vector<std::string>& more) {
    std::ofstream(data.path("m.csv")) << "kind,card,what,precision,shape,value,unit,spread\n" << rows;
    std::vector<std::string> words = {"calibrate", data.path("m.csv")};
    words.insert(words.end(), more.begin(), more.end());
    const test::Outcome outcome = takt_command(words);
    CHECK(outcome.status == ExitStatus::invalid);
    CHECK(outcome.out == "");
    CHECK_FALSE(fs::exists(data.path("cards")));
    REQUIRE(outcome.err.starts_with(data.path("m.csv")));
    return outcome.err.substr(data.path("m.csv").size());
  };
  const std::string needed =
      "hint: its file takes gemm, memory (copy or triad, beyond the L2), attention (flash), dequantise, and sustained with "
      "gemm of the same shape: measure.py --only gemm,memory,attention\n";
  const std::vector<std::string> cards = {"--out", data.path("cards")};
  CHECK(refused("", {}) ==
        ": error: the file has no rows: nothing was measured\n"
        "hint: measure.py says on standard error what it could not measure\n");
  CHECK(refused("collective,h200-sxm,all_gather,bf16,8x1048576,30,us,\nlaunch,h200-sxm,kernel,,1,4,us,\n", cards) ==
        ": error: the file has launch and collective rows, and none that tell a card's file (--out)\n" + needed);
  CHECK(refused("optimizer,h200-sxm,adamw fused,fp32,268435456,1.8,ms,\nmemory,h200-sxm,read,fp32,2000000000,0.5,ms,\n",
                cards) ==
        ": error: of h200-sxm the file has memory and optimizer rows, and none that tell the card's file (--out)\n" + needed);
  CHECK(refused("memory,h200-sxm,copy,fp32,2000000000,4080,GB/s,\n", {"--like", "h100-sxm"}) ==
        ": error: the file has memory rows, and no gemm rows, which --like scales\n"
        "hint: measure.py measures them: --only gemm\n");
}

TEST_CASE("a card of --like that is none is told once, however many cards were measured", "[tools]") {
  const test::Outcome outcome = takt_command({"calibrate", recorded("streams.csv"), "--like", "nosuch"});  // three cards
  CHECK(outcome.status == ExitStatus::invalid);
  const std::size_t first = outcome.err.find("there is no card \"nosuch\"");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.err.find("there is no card \"nosuch\"", first + 1) == std::string::npos);
}
