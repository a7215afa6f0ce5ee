#include "report/memory_validation.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

StepCase row(const std::string& name, const std::string& publisher, const std::string& memory,
             const std::string& unit) {
  StepCase one;
  one.row = name;
  one.publisher = publisher;
  one.stack = "a stack";
  one.memory = memory;
  one.memory_unit = unit;
  return one;
}

/// Predicted so many percent off 10 GB.
MemoryOutcome off_by(const std::string& publisher, double percent) {
  MemoryOutcome outcome;
  outcome.row = row("T1", publisher, "10", "GB");
  outcome.measured = Bytes(10'000'000'000);
  outcome.predicted = Bytes(static_cast<std::int64_t>(1e10 * (1.0 + percent / 100.0)));
  return outcome;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("peaks are read in the unit that a publisher gives", "[report]") {
  CHECK(measured_bytes(row("a", "p", "11267745280.0", "bytes")) == Bytes(11'267'745'280));
  CHECK(measured_bytes(row("a", "p", "2", "GiB")) == Bytes(2'147'483'648));
  CHECK(measured_bytes(row("a", "p", "2", "GB")) == Bytes(2'000'000'000));
  CHECK(measured_bytes(row("a", "p", "3", "MiB")) == Bytes(3'145'728));
  CHECK(measured_bytes(row("a", "p", "3", "MB")) == Bytes(3'000'000));
  CHECK_FALSE(measured_bytes(row("a", "p", "3", "pages")));
  CHECK_FALSE(measured_bytes(row("a", "p", "much", "GB")));
  CHECK_FALSE(measured_bytes(row("a", "p", "0", "GB")));
}

TEST_CASE("a kind of memory is told by the words of whoever measured it", "[report]") {
  for (const char* kind : {"allocated", "active", "torch peak alloc delta+init (HF Trainer)", "max_memory_allocated rank0"}) {
    CAPTURE(kind);
    CHECK(measure_named(kind) == MemoryMeasure::allocated);
  }
  CHECK(measure_named("max reserved (torch)") == MemoryMeasure::reserved);
  for (const char* kind : {"", "peak", "not stated", "unallocated", "allocated or reserved"}) {
    CAPTURE(kind);
    CHECK_FALSE(measure_named(kind));
  }
}

TEST_CASE("medians: over rows, and over publishers' medians", "[report]") {
  // Others: one publisher with 1, 2, 3 %, another with 20 %: over rows 2.5 %, over publishers 11 %.
  std::vector<MemoryOutcome> outcomes = {off_by("a", 1), off_by("a", -2), off_by("a", 3), off_by("b", 20),
                                         off_by(fully_stated_publisher, -4)};
  CHECK(score_of_others(outcomes).rows == 4);
  CHECK(score_of_others(outcomes).median == Approx(0.025));
  CHECK(score_of_others(outcomes).publishers == Approx(0.11));
  CHECK(score_of_stated(outcomes).rows == 1);
  CHECK(score_of_stated(outcomes).median == Approx(0.04));
  // Reserved memory and rows that could not run are in no median.
  outcomes[3].measure = MemoryMeasure::reserved;
  outcomes[2].not_predicted = "no such card";
  CHECK(score_of_others(outcomes).rows == 2);
}

TEST_CASE("a median beyond its bound and a row that cannot run are told", "[report]") {
  CHECK(left_memory_bounds({off_by(fully_stated_publisher, 3.9), off_by("a", -9.9)}).empty());
  CHECK(left_memory_bounds({off_by(fully_stated_publisher, 4.1)}).size() == 1);
  CHECK(has(left_memory_bounds({off_by("a", -10.1)}).front(), "all others: median 10.1 %"));
  MemoryOutcome broken = off_by("a", 0);
  broken.not_predicted = "no such card";
  REQUIRE(left_memory_bounds({broken}).size() == 1);
  CHECK(left_memory_bounds({broken}).front() == "T1 cannot run: no such card");
}

TEST_CASE("the report has every row, says where reserved memory lies, and why rows were left out", "[report]") {
  MemoryReport report;
  report.outcomes = {off_by("a", -2.5), off_by("a", 0), off_by("a", 0)};
  for (std::size_t i : {1U, 2U}) {
    report.outcomes[i].measure = MemoryMeasure::reserved;
    report.outcomes[i].reserved = {Bytes(9'000'000'000), Bytes(i == 1 ? 12'000'000'000 : 9'500'000'000)};
  }
  report.excluded = {row("T2", "b", "1", "GB")};
  report.excluded.front().excluded = "measure-unstated";
  report.rules = {{"measure-unstated", "nobody says what it is"}};
  const std::string text = memory_validation_text(report);
  INFO(text);
  CHECK(has(text, "10.0 GB    9.75 GB  -2.5 %\n"));
  CHECK(has(text, "9.00 GB to 12.0 GB  within\n"));
  CHECK(has(text, "9.00 GB to 9.50 GB  above\n"));
  CHECK(has(text, "1 of 2 within their range\n"));
  CHECK(has(text, "left out, 1 rows (measure-unstated): nobody says what it is\n"));
}
