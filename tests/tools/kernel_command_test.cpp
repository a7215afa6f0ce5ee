#include "catch.hpp"
#include "config/csv.hpp"
#include "support/command.hpp"

#include <filesystem>
#include <fstream>

using namespace takt;
using takt::test::has;
using takt::test::Outcome;
using takt::test::takt_command;

namespace {

Outcome kernel(std::vector<std::string> words, const std::string& card = "h200-nvl") {
  words.insert(words.begin(), "kernel");
  words.insert(words.end(), {"--card", card});
  return takt_command(words);
}

/// Seconds and relative interval of one kernel.
struct Priced {
  double seconds = 0.0, interval = 0.0;
  std::string rests_on;
};

Priced priced(std::vector<std::string> words, const std::string& card = "h200-nvl") {
  words.insert(words.end(), {"--format", "csv"});
  const Outcome outcome = kernel(words, card);
  INFO(outcome.err);
  REQUIRE(outcome.status == ExitStatus::done);
  const CsvTable table = read_csv({"kernels.csv", outcome.out}).value();
  REQUIRE(table.header[3] == "time_s");
  REQUIRE(table.rows.size() == 1);
  const std::vector<std::string>& cells = table.rows[0].cells;
  return {std::stod(cells[3]), std::stod(cells[9]), cells[10]};
}

}  // namespace

TEST_CASE("takt kernel says how far each kind may be off, and what that rests on", "[tools][kernel]") {
  const std::vector<std::vector<std::string>> kinds = {
      {"gemm", "8192", "8192", "8192"},
      {"gemm", "8192", "8192", "8192", "--dtype", "fp8"},
      {"gemm", "8192", "8192", "8192", "--dtype", "tf32"},
      {"attention", "2", "8192", "16", "16", "128"},
      {"attention", "2", "8192", "16", "16", "128", "--backward", "--attention", "flash-triton"},
      {"attention", "2", "8192", "16", "4", "128", "--attention", "sdpa-mask"},
      {"attention", "2", "8192", "16", "4", "128", "--attention", "eager"},
      {"norm", "8192", "4096"},
      {"rope", "8192", "5120", "--form", "compiled"},
      {"activation", "8192", "14336", "--form", "fused", "--backward"},
      {"residual", "8192", "4096"},
      {"loss", "8192", "128256", "--loss", "fused-linear"},
      {"elementwise", "4000000000"},
      {"optimizer", "8000000000", "--optimizer", "adamw-8bit"},
      {"dequant", "8000000000"},
      {"cast", "33554432", "--dtype", "fp8"}};
  for (const auto& words : kinds) {
    CAPTURE(words[0], words.size());
    const Priced result = priced(words);
    CHECK(result.seconds > 0.0);
    CHECK(result.interval > 0.0);
    CHECK_FALSE(result.rests_on.empty());
  }
  const Outcome table = kernel({"attention", "2", "8192", "16", "16", "128"});
  CHECK(has(table.out, "90 % within"));
  CHECK(has(table.out, "+-21 %: FlashAttention-2 points of measured chips"));
}

TEST_CASE("takt kernel knows forms: what is fused moves less", "[tools][kernel]") {
  const auto seconds = [](const std::string& form) { return priced({"norm", "8192", "4096", "--form", form}).seconds; };
  CHECK(seconds("fused") == Approx(seconds("eager") * 4.0 / 36.0).epsilon(1e-3));
  CHECK(seconds("compiled") == Approx(seconds("fused")).epsilon(1e-3));
  const double eager = priced({"loss", "4096", "128256"}).seconds;
  CHECK(priced({"loss", "4096", "128256", "--loss", "fused"}).seconds == Approx(eager * 10.0 / 14.0).epsilon(1e-3));
}

TEST_CASE("takt kernel: small products have wide intervals, measured cards narrow ones", "[tools][kernel]") {
  const double large = priced({"gemm", "8192", "8192", "8192"}).interval;
  CHECK(large == Approx(0.18).margin(0.002));
  CHECK(priced({"gemm", "256", "256", "256"}).interval > 0.3);
  CHECK(priced({"gemm", "8192", "8192", "8192"}, "h200-sxm").interval < 0.1);
  CHECK(priced({"attention", "2", "8192", "16", "16", "128"}, "rtx-pro-6000-server").interval == 0.62);
}

TEST_CASE("takt kernel: power limits and sustained clocks", "[tools][kernel]") {
  const std::string server = "rtx-pro-6000-server";
  const std::vector<std::string> gemm = {"gemm", "8192", "8192", "8192"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), gemm.begin(), gemm.end());
    return priced(more, server).seconds;
  };
  CHECK(with({"--power-limit", "600 W"}) == with({}));
  CHECK(with({"--power-limit", "300 W"}) > 1.3 * with({}));
  CHECK(priced({"gemm", "8192", "8192", "8192", "--power-limit", "450 W"}, server).interval ==
        Approx(priced(gemm, server).interval + 0.06).margin(0.001));
  CHECK(with({"--clocks", "sustained"}) == Approx(with({}) / 0.919).epsilon(1e-6));
}

TEST_CASE("takt kernel: mistakes are told in the words of the command", "[tools][kernel]") {
  struct Case {
    std::vector<std::string> words;
    std::string message;
    ExitStatus status = ExitStatus::wrong_usage;
  };
  const std::vector<Case> cases = {
      {{"gem", "1", "2", "3"}, "error: there is no kernel \"gem\"\nhint: did you mean \"gemm\"?\n"},
      {{"foo"},
       "error: there is no kernel \"foo\"\nhint: one of gemm, attention, norm, rope, activation, residual, loss, "
       "elementwise, optimizer, dequant, cast\n"},
      {{},
       "error: takt kernel needs a kernel\nhint: one of gemm, attention, norm, rope, activation, residual, loss, "
       "elementwise, optimizer, dequant, cast\n"},
      {{"gemm", "1", "2"}, "error: kernel gemm takes other numbers\nhint: takt kernel gemm M N K\n"},
      {{"gemm", "1", "2", "x"}, "error: K is a whole number from 1 to 1e15, not \"x\"\nhint: takt kernel gemm M N K\n"},
      {{"gemm", "1", "2", "0"}, "error: K is a whole number from 1 to 1e15, not \"0\"\nhint: takt kernel gemm M N K\n"},
      {{"gemm", "999999999999", "999999999999", "99999999999"},
       "error: M, N, K are too large together: kernels of more than 1e6 s are not priced\nhint: make several of them "
       "smaller\n"},
      {{"attention", "1", "1", "1000000000000000", "8", "1000000000000000"},
       "error: HEADS cannot be 1000000000000000: kernels of more than 1e6 s are not priced\nhint: a smaller HEADS\n"},
      {{"gemm", "1", "2", "3", "--dtype", "bf17"},
       "error: there is no precision \"bf17\"\nhint: bf16, fp16, fp32, tf32, fp8, mxfp8 or nvfp4\n"},
      {{"gemm", "1", "2", "3", "--backward"},
       "error: --backward says nothing of kernel gemm\nhint: gemm takes none of its own\n"},
      {{"attention", "1", "512", "16", "16", "128", "--foreach"},
       "error: --foreach says nothing of kernel attention\nhint: attention takes --attention, --backward\n"},
      {{"attention", "1", "512", "16", "5", "128"},
       "error: 5 key heads do not divide 16 query heads\nhint: as many key heads as query heads, or fewer that divide "
       "them\n"},
      {{"loss", "512", "32000", "--loss", "fused-linear", "--backward"},
       "error: a loss fused with the head has no backward of its own\nhint: its gradient is made in the forward\n"},
      {{"cast", "1000"},
       "error: products in bf16 on NVIDIA H200 NVL cast nothing\nhint: --dtype fp8 on a card with FP8\n"},
      {{"gemm", "1", "2", "3", "--clocks", "sustained"},
       "error: nobody measured which clock NVIDIA H200 NVL keeps up\nhint: leave --clocks out, or add `sustained` to ",
       ExitStatus::invalid},
      {{"gemm", "1", "2", "3", "--power-limit", "400 W"},
       "command line: error: nobody measured NVIDIA H200 NVL under a power limit\nhint: add points to [[power]] of its "
       "file, or leave the limit out\n",
       ExitStatus::invalid},
      {{"gemm", "1", "2", "3", "--power-limit", "400"},
       "error: --power-limit needs a unit: it is a power\nhint: ",
       ExitStatus::invalid},
      {{"gemm", "1", "2", "3", "--power-limit", "900 W"},
       "command line: error: a limit of 900 W is above the 600 W of NVIDIA H200 NVL\nhint: use 600 W or less\n",
       ExitStatus::invalid},
      {{"gemm", "1", "2", "3", "--dtype", "nvfp4"},
       "error: NVIDIA H200 NVL does not have nvfp4\nhint: see [peak] of ",
       ExitStatus::invalid},
      {{"gemm", "1", "2", "3", "--batch", "x.csv"},
       "error: --batch names the kernels\nhint: leave out gemm\n",
       ExitStatus::invalid}};
  for (const Case& c : cases) {
    const Outcome outcome = kernel(c.words);
    CAPTURE(c.message, outcome.err);
    CHECK(outcome.err.starts_with(c.message));
    CHECK(outcome.status == c.status);
    CHECK(outcome.out.empty());
  }
  const Outcome unknown = kernel({"gemm", "1", "2", "3"}, "h200-nvk");
  CHECK(unknown.status == ExitStatus::invalid);
  CHECK(has(unknown.err, "h200-nvk"));
  CHECK(has(unknown.err, "did you mean \"h200-nvl\"?"));
}

TEST_CASE("takt kernel: a size too large is named with its range, whose ends hold", "[tools][kernel]") {
  const std::string before = "error: TOKENS is a whole number from 1 to ";
  const auto with = [](const std::string& tokens) { return kernel({"norm", tokens, "8192"}); };
  const Outcome refused = with("1000000000000000");
  CAPTURE(refused.err);
  REQUIRE(refused.err.starts_with(before));
  CHECK(refused.status == ExitStatus::wrong_usage);
  CHECK(has(refused.err, " beside WIDTH 8192, not 1000000000000000: kernels of more than 1e6 s are not priced\n"
                         "hint: a smaller TOKENS\n"));
  const std::int64_t most = std::stoll(refused.err.substr(before.size()));
  CHECK(with(std::to_string(most)).status == ExitStatus::done);
  CHECK(with(std::to_string(most + 1)).status == ExitStatus::wrong_usage);
  // More bytes than 64 bits count were priced as nothing.
  CHECK(has(kernel({"norm", "1000000000000000", "1000000000000000"}).err, " beside WIDTH 1000000000000000, not "));
  CHECK(has(kernel({"gemm", "8192", "1000000000000000", "8192"}).err, "error: N is a whole number from 1 to "));
}

TEST_CASE("takt kernel --batch: a table of kernels, and each wrong row with its line", "[tools][kernel]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string good = (folder / "takt-kernels.csv").string(), bad = (folder / "takt-kernels-bad.csv").string();
  std::ofstream(good) << "kernel,numbers\ngemm,4096 8192 8192\nnorm,4096 8192\n";
  std::ofstream(bad) << "kernel,numbers\ngemm,4096 8192\nnorn,4096 8192\n";
  const Outcome table = kernel({"--batch", good});
  CHECK(table.status == ExitStatus::done);
  CHECK(has(table.out, "gemm 4096 8192 8192"));
  CHECK(has(table.out, "norm 4096 8192"));
  const Outcome refused = kernel({"--batch", bad});
  CHECK(refused.status == ExitStatus::invalid);
  CHECK(has(refused.err, "takt-kernels-bad.csv:2:1: error: kernel gemm takes other numbers"));
  CHECK(has(refused.err, "takt-kernels-bad.csv:3:1: error: there is no kernel \"norn\""));
  CHECK(has(refused.err, "hint: did you mean \"norm\"?"));
  std::filesystem::remove(good);
  std::filesystem::remove(bad);
}
