// --top and --pareto on rows made by hand.
#include "report/sweep_answers.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const std::vector<SweepColumn> columns = sweep_columns({"batch.micro_batch"});

/// A row of point `number` with a step time and a rate; the other numbers are null.
std::vector<Json> row(std::int64_t number, double step_time, double rate, Json fits = true) {
  std::vector<Json> cells(columns.size());
  cells[0] = number;
  cells[find_column(columns, "status")] = status_ok;
  cells[find_column(columns, "batch.micro_batch")] = number;
  cells[find_column(columns, "step_time_s")] = step_time;
  cells[find_column(columns, "tokens_per_s")] = rate;
  cells[find_column(columns, "fits")] = std::move(fits);
  return cells;
}

const std::vector<std::vector<Json>> rows = {row(0, 1.0, 100.0), row(1, 2.0, 300.0),         row(2, 2.0, 250.0),
                                             row(3, 0.5, 50.0),  row(4, 0.1, 9000.0, false), row(5, 4.0, 300.0)};

/// The points of a table, in its order.
std::vector<std::string> points(const std::string& table) {
  std::vector<std::string> found;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < table.size(); begin = table.find('\n', begin) + 1, ++line) {
    constexpr std::size_t head = 2;
    if (line < head) continue;
    const std::size_t first = table.find_first_not_of(' ', begin);
    found.push_back(table.substr(first, table.find(' ', first) - first));
  }
  return found;
}

using Points = std::vector<std::string>;

}  // namespace

TEST_CASE("the best rows by one number, earlier points first among equals", "[report][sweep]") {
  TopRows most(columns, find_goal(columns, "tokens_per_s").value(), 3);
  TopRows least(columns, find_goal(columns, "step_time_s").value(), 2);
  for (const auto& cells : rows) {
    most.add(cells);
    least.add(cells);
  }
  CHECK(points(most.text()) == Points{"1", "5", "2"});  // point 4 does not fit
  CHECK(points(least.text()) == Points{"3", "0"});      // less is better
}

TEST_CASE("the front is what nothing beats", "[report][sweep]") {
  ParetoFront front(columns, {find_goal(columns, "step_time_s").value(), find_goal(columns, "tokens_per_s").value()});
  for (const auto& cells : rows) front.add(cells);
  // 1 beats 2 (same time, more) and 5 (less time, as much); 0 and 3 are slower in rate but faster in time.
  CHECK(points(front.text()) == Points{"3", "0", "1"});
}

TEST_CASE("goals must be numbers that can be good", "[report][sweep]") {
  CHECK(render(find_goal(columns, "tokens_per_sec").diagnostics()) ==
        "error: there is no number 'tokens_per_sec' to compare by\nhint: did you mean tokens_per_s?\n");
  CHECK(
      render(find_goal(columns, "ranks").diagnostics()).starts_with("error: neither more nor less ranks is better\n"));
}
