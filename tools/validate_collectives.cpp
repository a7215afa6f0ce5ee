#include "validate_collectives.hpp"

#include "collective/nccl/fit.hpp"
#include "collective/solo.hpp"
#include "collective_setup.hpp"
#include "config/csv.hpp"
#include "size_range.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace takt {
namespace {

/// A row ready to be timed.
struct Prepared {
  CollectiveOutcome outcome;
  CollectiveShape shape;
  std::size_t table = 0;

  double predicted_us(const RuntimeConstants& constants) const {
    return solo_time(shape, constants).time_us() + outcome.harness_us;
  }
};

/// "0-7" as a list for hardware.cards; the list of setups is the project's own.
std::string card_list(const std::string& range) {
  const std::size_t dash = range.find('-');
  const std::optional<std::int64_t> first = whole_number(range.substr(0, dash));
  const std::optional<std::int64_t> last = dash == std::string::npos ? first : whole_number(range.substr(dash + 1));
  std::string list;
  for (std::int64_t card = first.value_or(0); card <= last.value_or(-1); ++card) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", card);
  }
  return "[" + list + "]";
}

Result<CollectiveSetup> set_up(const CollectiveCaseSetup& row, const std::string& folder, Library& library) {
  Overrides settings{{"hardware.cards", card_list(row.cards)}};
  for (const std::string& setting : row.settings) {
    const std::size_t equals = setting.find('=');
    std::string value = setting.substr(equals + 1);
    if (setting.starts_with("nccl.graph_file=")) value = folder + '/' + value;
    settings.push_back({setting.substr(0, equals), value});
  }
  const bool beside = row.topology.ends_with(".toml");
  return collective_setup(beside ? folder + '/' + row.topology : row.topology, settings, library);
}

/// A user's own machine: the first cards of a topology, NCCL as it comes, nothing that the benchmark adds.
CollectiveCaseSetup setup_of_own(const CollectiveCase& one) {
  return {one.table, one.ranks, one.machine, fmt::format("0-{}", one.ranks - 1), {}, 0.0, ""};
}

using MachinesOfTables = std::set<std::pair<std::string, std::string>>;

/// Which machine each of the project's tables is of: its setups are of no other.
Result<MachinesOfTables> machines_of_tables(const std::string& folder) {
  const Result<SourceText> text = read_text_file(folder + "/rows.csv");
  if (!text) return text.diagnostics();
  const Result<std::vector<CollectiveCase>> cases = read_collective_cases(*text);
  if (!cases) return cases.diagnostics();
  MachinesOfTables machines;
  for (const CollectiveCase& one : *cases) machines.emplace(one.table, one.machine);
  return machines;
}

/// What the project's files know of setups.
struct KnownSetups {
  std::vector<CollectiveCaseSetup> setups;
  MachinesOfTables machines;
};

/// The machines of the list, each built when first asked for.
class Machines {
 public:
  Machines(KnownSetups known, const ValidationRows& rows, Library& library)
      : known_(std::move(known)), rows_(rows), library_(library) {}

  struct Machine {
    CollectiveCaseSetup row;
    std::unique_ptr<CollectiveSetup> setup;
    std::unique_ptr<CollectiveLowering> lowering;
  };

  Result<const Machine*> of(const CollectiveCase& one) {
    const auto key = std::tuple(one.table, one.machine, one.ranks);
    const auto built = machines_.find(key);
    if (built != machines_.end()) return &built->second;
    const auto& setups = known_.setups;
    auto listed = std::find_if(setups.begin(), setups.end(), [&one](const CollectiveCaseSetup& row) {
      return row.table == one.table && row.ranks == one.ranks;
    });
    // A user's table may have the name of a table of the project, and be of another machine.
    if (!known_.machines.contains({one.table, one.machine})) listed = setups.end();
    if (listed == setups.end() && !rows_.table)
      return Diagnostic{Severity::error, one.place, fmt::format("no setup for {} with {} ranks", one.table, one.ranks),
                        "add it to setups.csv"};
    CollectiveCaseSetup row = listed == setups.end() ? setup_of_own(one) : *listed;
    Result<CollectiveSetup> setup = set_up(row, rows_.folder, library_);
    if (!setup) return at_row(setup.diagnostics(), one);
    Machine machine{std::move(row), std::make_unique<CollectiveSetup>(*std::move(setup)), nullptr};
    machine.lowering = std::make_unique<CollectiveLowering>(machine.setup->topology, machine.setup->options);
    return &machines_.emplace(key, std::move(machine)).first->second;
  }

 private:
  /// Settings have no place of their own: what is wrong with them is wrong with the machine of the row that asked.
  static Diagnostics at_row(Diagnostics errors, const CollectiveCase& one) {
    for (Diagnostic& error : errors) {
      if (error.place.line == 0 || error.place.file == "command line") error.place = place_of_cell(one.place, machine_cell);
    }
    return errors;
  }

  static constexpr std::size_t machine_cell = 4;

  KnownSetups known_;
  const ValidationRows& rows_;
  Library& library_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Machine> machines_;
};

Result<std::vector<Prepared>> prepare_rows(const std::vector<CollectiveCase>& cases, Machines& machines) {
  std::vector<Prepared> rows;
  std::map<std::string, std::size_t> tables;
  for (const CollectiveCase& one : cases) {
    const Result<const Machines::Machine*> machine = machines.of(one);
    if (!machine) return machine.diagnostics();
    const auto& [row, setup, lowering] = **machine;
    Result<CollectiveShape> shape = lowering->shape(one.call, setup->members);
    if (!shape) return shape.diagnostics();
    Prepared prepared;
    prepared.outcome.measurement = one;
    prepared.outcome.harness_us = row.harness_us;
    prepared.outcome.inferred = !row.inferred.empty();
    prepared.outcome.choice = fmt::format("{}, {}, {} CTAs", to_text(shape->query.algorithm),
                                          to_text(shape->query.protocol), shape->query.ctas);
    prepared.outcome.way = way_of(*shape);
    prepared.shape = *std::move(shape);
    const std::string table = fmt::format("{} {} {}", one.table, static_cast<int>(one.call.kind), one.ranks);
    prepared.table = tables.try_emplace(table, tables.size()).first->second;
    rows.push_back(std::move(prepared));
  }
  return rows;
}

/// Fits without each machine in turn, and predicts its rows.
void leave_each_out(std::vector<Prepared>& rows) {
  std::map<std::string, RuntimeConstants> without;
  for (const Prepared& row : rows) {
    const std::string& machine = row.outcome.measurement.machine;
    if (without.contains(machine)) continue;
    std::vector<FitRow> seen;
    for (const Prepared& other : rows) {
      if (other.outcome.measurement.machine == machine) continue;
      seen.push_back({other.table, other.outcome.measurement.measured_us,
                      [&other](const RuntimeConstants& constants) { return other.predicted_us(constants); }});
    }
    without.emplace(machine, fit_constants(seen));
  }
  for (Prepared& row : rows) {
    row.outcome.left_out_us = row.predicted_us(without.at(row.outcome.measurement.machine));
  }
}

}  // namespace

Result<std::vector<CollectiveOutcome>> validate_collectives(const ValidationRows& from, Library& library,
                                                            LeaveOut left_out) {
  const Result<SourceText> rows_text = read_text_file(from.file("rows.csv"));
  if (!rows_text) return rows_text.diagnostics();
  const Result<SourceText> setups_text = read_text_file(from.folder + "/setups.csv");
  if (!setups_text) return setups_text.diagnostics();
  const Result<std::vector<CollectiveCase>> cases = read_collective_cases(*rows_text);
  if (!cases) return cases.diagnostics();
  Result<std::vector<CollectiveCaseSetup>> setups = read_collective_setups(*setups_text);
  if (!setups) return setups.diagnostics();
  Result<MachinesOfTables> known = machines_of_tables(from.folder);
  if (!known) return known.diagnostics();
  Machines machines({*std::move(setups), *std::move(known)}, from, library);
  Result<std::vector<Prepared>> rows = prepare_rows(*cases, machines);
  if (!rows) return rows.diagnostics();
  for (Prepared& row : *rows) row.outcome.predicted_us = row.predicted_us(recorded_constants());
  if (left_out == LeaveOut::each_machine) leave_each_out(*rows);
  std::vector<CollectiveOutcome> outcomes;
  for (Prepared& row : *rows) outcomes.push_back(std::move(row.outcome));
  return outcomes;
}

}  // namespace takt
