// takt validate: rows in, rows out, for each kind of rows.
#include "catch.hpp"
#include "config/csv.hpp"
#include "report/overlap_validation.hpp"
#include "report/step_cases.hpp"
#include "support/command.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

using namespace takt;
using test::has;
using test::takt_command;

namespace {

/// A file of the test, gone with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name, const std::string& text = "")
      : path_((std::filesystem::temp_directory_path() / ("takt-validate-" + name)).string()) {
    if (!text.empty()) std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  CsvTable table() const { return read_csv(read_text_file(path_).value()).value(); }

 private:
  std::string path_;
};

std::size_t column(const CsvTable& table, const std::string& name) {
  const auto found = std::find(table.header.begin(), table.header.end(), name);
  REQUIRE(found != table.header.end());
  return static_cast<std::size_t>(found - table.header.begin());
}

double number(const CsvTable& table, const CsvRow& row, const std::string& name) {
  const std::optional<double> value = number_in(row.cells[column(table, name)]);
  REQUIRE(value);
  return *value;
}

/// A user's rows of one kind, with what its file of results calls the two figures that are compared.
struct Kind {
  std::string option;
  std::string rows;
  std::string measured, predicted;
  std::string refused;  ///< a row that cannot be read instead, and what is said of it
  std::string message;
};

const std::vector<Kind>& kinds() {
  static const std::string steps =
      "row,publisher,family,machine,model,stack,method,sequence,micro_batch,accumulation,measured_s,memory,memory_unit,"
      "memory_kind,excluded,source\n";
  static const std::vector<Kind> all = {
      {"links", "server,state,group,what,transfers,measured_GBps,not_modelled,source\n8x-h200-sxm-hgx,on,mine,pair,0>1,391,,me\n",
       "measured_GBps", "predicted_GBps", "8x-h200-sxm-hgx,on,mine,pair,0>8,391,,me",
       ":2:1: error: there is no card 8 in 8x-h200-sxm-hgx"},
      {"kernels", "card,precision,m,n,k,ms\nh200-sxm,bf16,8192,8192,8192,1.5\n", "measured", "predicted",
       "h200-sxm,bf16,8192,0,8192,1.5", ":2:20: error: m, n and k are whole numbers, at least 1"},
      {"collectives", "table,op,ranks,class,machine,bytes,measured_us\nmine,all_gather,8,NVSwitch,8x-h200-sxm-hgx,1073741824,2800\n",
       "measured_us", "predicted_us", "mine,all_gather,8,NVSwitch,no-such-box,1073741824,2800",
       ":2:28: error: there is no server or cluster \"no-such-box\""},
      {"overlap",
       "card,kernel,shape,beside,ctas,traffic_GBps,measured_percent,not_modelled,source\nh200-sxm,gemm,8192x8192x8192,x,16,0,80,,me\n",
       "measured_percent", "predicted_percent", "h200-sxm,gemm,8192x8192,x,16,0,80,,me",
       ":2:15: error: shape is that of a product"},
      {"memory", steps + "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,40,GB,allocated,,me\n",
       "measured_bytes", "predicted_bytes",
       "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,40,pages,allocated,,me",
       ":2:87: error: row mine has no peak of memory in a known unit"},
      {"steps", steps + "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,,,,,me\n",
       "measured_s", "predicted_s",
       "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,none,1,1.5,,,,,me",
       ":2:76: error: micro_batch is a whole number, at least 1"},
  };
  return all;
}

}  // namespace

TEST_CASE("a user's own rows of each kind are scored, and come back with prediction and error", "[tools]") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.option);
    const TemporaryFile rows("rows.csv", kind.rows), out("out.csv");
    const test::Outcome outcome =
        takt_command({"validate", "--" + kind.option, "--table", rows.path(), "--csv", out.path()});
    CHECK(outcome.err == "");
    CHECK(outcome.status == ExitStatus::done);
    const CsvTable table = out.table();
    REQUIRE(table.rows.size() == 1);
    const CsvRow& row = table.rows.front();
    CHECK(row.cells[column(table, "excluded")].empty());
    const double measured = number(table, row, kind.measured), predicted = number(table, row, kind.predicted);
    CHECK(predicted > 0.0);
    CHECK(number(table, row, "error") == Approx(predicted / measured - 1.0).margin(1e-4));
  }
}

TEST_CASE("a row of a user that cannot be read or predicted is refused with its place", "[tools]") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.option);
    const TemporaryFile rows("bad.csv", kind.rows.substr(0, kind.rows.find('\n') + 1) + kind.refused + '\n');
    const TemporaryFile out("none.csv");
    const test::Outcome outcome =
        takt_command({"validate", "--" + kind.option, "--table", rows.path(), "--csv", out.path()});
    CHECK(outcome.status == ExitStatus::invalid);
    CAPTURE(outcome.err);
    CHECK(outcome.err.starts_with(rows.path() + kind.message));
    CHECK_FALSE(std::filesystem::exists(out.path()));
  }
}

TEST_CASE("cells of a user's rows that say what cannot be compared are refused at their place", "[tools]") {
  const auto said = [](const std::string& option, const std::string& header, const std::string& rows) {
    const TemporaryFile file("cells.csv", header + '\n' + rows);
    const test::Outcome outcome = takt_command({"validate", option, "--table", file.path()});
    CHECK(outcome.status == ExitStatus::invalid);
    CHECK(outcome.out == "");
    std::string text = outcome.err;
    for (std::size_t at = text.find(file.path()); at != std::string::npos; at = text.find(file.path()))
      text.replace(at, file.path().size(), "FILE");
    return text;
  };
  const std::string begin = "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,parallel.strategy=fsdp2,full,2048,1,1,1.5,";
  const auto memory = [&](const std::string& cells) { return said("--memory", step_columns, begin + cells + ",me\n"); };
  // Any text was a kind of memory, and a peak that is none had no place.
  CHECK(memory("much,GB,allocated,") ==
        "FILE:2:84: error: row mine has no peak of memory\n    2 | " + begin + "much,GB,allocated,,me\n      | " +
            std::string(83, ' ') + "^\nhint: a number above 0 and below 1e15 bytes\n");
  CHECK(memory("40,GB,alocated,") ==
        "FILE:2:90: error: row mine does not say whether its memory was allocated or reserved\n    2 | " + begin +
            "40,GB,alocated,,me\n      | " + std::string(89, ' ') +
            "^\nhint: allocated (or active) or reserved, also within more words: max_memory_allocated\n");
  CHECK(has(memory("40,GB,peak reserved,"), "FILE:2:90: error: row mine has reserved memory, and a row that is scored "));
  CHECK(has(memory("40,GB,allocated,reserved"), "FILE:2:90: error: row mine has allocated memory, and is excluded "));
  CHECK(has(memory("-1,pages,,"), "FILE:2:87: error: row mine has no peak of memory in a known unit\n"));
  CHECK(has(memory("-1,pages,,"), "FILE:2:93: error: row mine does not say "));
  CHECK(has(said("--memory", step_columns, "mine,me,box,8x-h100-sxm-hgx,llama-3.1-8b,pft,full,2048,1,1,1.5,40,GB,active,,me\n"),
            "FILE:2:42: error: row mine has an unknown stack \"pft\"\n"));
  // A table of the project's has setups of its own machine, which another machine of the user's is not.
  const std::string collectives = "table,op,ranks,class,machine,bytes,measured_us";
  CHECK(has(said("--collectives", collectives, "aic_h200_sxm_nvswitch,all_gather,8,NVSwitch,no-such-box,1073741824,2800\n"),
            "FILE:2:45: error: there is no server or cluster \"no-such-box\"\n"));
  CHECK(has(said("--collectives", collectives,
                 "mine,all_gather,8,NVSwitch,8x-h200-sxm-hgx,1073741824,2800\n"
                 "mine,all_gather,8,NVSwitch,no-such-box,1073741824,2800\n"),
            "FILE:3:28: error: there is no server or cluster \"no-such-box\"\n"));
  const std::string run = "no-such.toml,communication hidden by compute,92.5 %,,me\n";
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK(said("--overlap", std::string(run_columns), run + run.substr(3)) ==
        "FILE:2:1: error: scenario " + folder + "/no-such.toml: cannot be read: No such file or directory\n    2 | " + run +
            "      | ^\nhint: name a file beside this table\nFILE:3:1: error: scenario " + folder +
            "/such.toml: cannot be read: No such file or directory\n    3 | " + run.substr(3) +
            "      | ^\nhint: name a file beside this table\n");
}

TEST_CASE("rows of the project's own tables keep their setups in a user's file", "[tools]") {
  const TemporaryFile rows("project.csv",
                           "table,op,ranks,class,machine,bytes,measured_us\n"
                           "aic_h200_sxm_nvswitch,all_gather,8,NVSwitch,aic_h200,1073741824,2800\n");
  const test::Outcome outcome = takt_command({"validate", "--collectives", "--table", rows.path()});
  CHECK(outcome.err == "");
  CHECK(outcome.status == ExitStatus::done);
}

TEST_CASE("another kind's columns are refused, a card that lacks a precision too", "[tools]") {
  const TemporaryFile rows("columns.csv", "a,b\n1,2\n"), fp8("fp8.csv", "card,precision,m,n,k,ms\na100-sxm-80,fp8,8,8,8,1\n");
  CHECK(takt_command({"validate", "--kernels", "--table", rows.path()}).err ==
        rows.path() +
            ":1:1: error: these are not the expected columns\n"
            "    1 | a,b\n"
            "      | ^\n"
            "hint: start with the line kind,card,what,precision,shape,value,unit,spread\n");
  CHECK(has(takt_command({"validate", "--kernels", "--table", fp8.path()}).err, ":2:1: error: NVIDIA A100"));
}

TEST_CASE("what measure.py wrote is scored by the cards' files, forms without a price are named", "[tools]") {
  const TemporaryFile rows("own.csv",
                           "kind,card,what,precision,shape,value,unit,spread\n"
                           "gemm,h200-sxm,product,bf16,8192x8192x8192,1.5,ms,0.01\n"
                           "memory,h200-sxm,copy,fp32,2000000000,4000,GB/s,0.01\n"
                           "attention,h200-sxm,cudnn forward,bf16,1x8192x32x32x128,600,TFLOP/s,0.01\n"
                           "launch,h200-sxm,kernel,,1,4,us,0.01\n");
  const TemporaryFile out("own-out.csv");
  const test::Outcome outcome = takt_command({"validate", "--kernels", "--table", rows.path(), "--csv", out.path()});
  CHECK(outcome.err == "");
  CHECK(has(outcome.out, "Matrix products, 1 measured, as the cards' files predict them"));
  CHECK(has(outcome.out, "memory copy"));
  CHECK(has(outcome.out, "* without a price of its own"));
  const CsvTable table = out.table();
  REQUIRE(table.rows.size() == 3);  // a launch is no kernel
  CHECK(table.rows[1].cells[column(table, "kernel")] == "memory copy");
  CHECK(number(table, table.rows[1], "error") == Approx(4000.0 / (0.85 * 4800.0) - 1.0).margin(1e-4));
  CHECK(table.rows[2].cells[column(table, "excluded")] == "no price of this form");
}

TEST_CASE("one file takes one kind of rows", "[tools]") {
  const auto refused = [](std::vector<std::string> words) {
    words.insert(words.begin(), "validate");
    const test::Outcome outcome = takt_command(words);
    CHECK(outcome.status == ExitStatus::wrong_usage);
    return outcome.err;
  };
  CHECK(refused({"--links", "--memory", "--csv", "x.csv"}) ==
        "error: --csv names one file, but several kinds of rows are asked for\n"
        "hint: one at a time: takt validate --links --csv FILE\n");
  CHECK(refused({"--collectives", "--kernels", "--table", "x.csv"}) ==
        "error: --table names one file, but several kinds of rows are asked for\n"
        "hint: one at a time: takt validate --kernels --table FILE\n");
  CHECK(has(refused({"--links", "--plot", "x.svg"}), "error: --plot is of --steps\n"));
  CHECK(has(refused({"--links", "--leave-one-out"}), "error: --leave-one-out is of --collectives and --steps\n"));
  CHECK(has(refused({}), "error: validate what?\n"));
}

TEST_CASE("every published transfer is in the file of results, compared or with its reason", "[tools]") {
  const TemporaryFile out("links.csv");
  const test::Outcome outcome = takt_command({"validate", "--links", "--csv", out.path()});
  REQUIRE(outcome.status == ExitStatus::done);
  const CsvTable table = out.table();
  double published = 0.0, compared = 0.0, excluded = 0.0;
  for (const CsvRow& row : table.rows) {
    const double rows = number(table, row, "rows");
    published += rows;
    const bool has_error = !row.cells[column(table, "error")].empty();
    (has_error ? compared : excluded) += rows;
    CHECK(has_error == row.cells[column(table, "excluded")].empty());
  }
  CHECK(has(outcome.out, std::to_string(static_cast<int>(published)) + " published rows: " +
                             std::to_string(static_cast<int>(compared)) + " compared"));
  CHECK(compared + excluded == published);
  CHECK(compared > 900);
}
