#include "report/step_cases.hpp"

#include "base/contract.hpp"
#include "base/csv.hpp"
#include "base/text.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>

namespace takt {
namespace {

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

/// "a=1;b=2".
Overrides settings_in(std::string_view text) {
  Overrides settings;
  for (const std::string& part : parts_of(text, ';')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    settings.push_back({part.substr(0, equals), part.substr(equals + 1)});
  }
  return settings;
}

/// "0-3" as "[0, 1, 2, 3]".
std::string card_list(std::string_view range) {
  const std::vector<std::string> ends = parts_of(range, '-');
  const double first = number_in(ends.front()).value_or(0), last = number_in(ends.back()).value_or(-1);
  std::string list;
  for (auto card = static_cast<std::int64_t>(first); card <= static_cast<std::int64_t>(last); ++card)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", card);
  return "[" + list + "]";
}

Result<CsvTable> table_of(const std::string& path, std::string_view header) {
  const Result<SourceText> text = read_text_file(path);
  if (!text) return text.diagnostics();
  return read_csv(*text, header);
}

/// A value as TOML: numbers, booleans, lists and quoted text as they are, everything else in quotes.
std::string toml_value(const std::string& value) {
  const bool plain = value == "true" || value == "false" || value.starts_with('[') || value.starts_with('"') ||
                     number_in(value).has_value();
  return plain ? value : '"' + value + '"';
}

Result<StepCase> case_of(const CsvTable& table, const CsvRow& row) {
  constexpr std::size_t first_count = 7, last_count = 9, measured_at = 10;
  const std::vector<std::string>& cells = row.cells;
  std::array<std::int64_t, last_count - first_count + 1> counts{};
  for (std::size_t i = first_count; i <= last_count; ++i) {
    const auto count = count_in(cells[i], 1);
    if (!count) return table.error_in(row, i, table.header[i] + " is a whole number, at least 1");
    counts[i - first_count] = *count;
  }
  const auto measured = number_in(cells[measured_at]);
  if (!measured || !(*measured > 0.0) || !std::isfinite(*measured))
    return table.error_in(row, measured_at, "measured_s is a number of seconds above 0");
  return StepCase{cells[0],  cells[1],  cells[2],  cells[3],  cells[4],  cells[5],  cells[6],  counts[0],
                  counts[1], counts[2], *measured, cells[11], cells[12], cells[13], cells[14], cells[15],
                  table.error_at(row, "").place};
}

std::string comment(const std::string& text) {
  constexpr std::size_t width = 110;
  std::string lines;
  for (const std::string& line : parts_of(wrap(text, width), '\n')) lines += "# " + line + '\n';
  return lines;
}

std::string step_heading(const StepCase& one, const StepLegend& legend) {
  const auto assumed = [](const std::map<std::string, std::string>& notes, const std::string& name) {
    const auto found = notes.find(name);
    return found == notes.end() ? std::string() : found->second;
  };
  std::string model = std::filesystem::path(one.model).filename().string();
  if (model.ends_with(".toml")) model.resize(model.size() - std::string_view(".toml").size());
  std::string text = comment(fmt::format("How long does a step of {} take on {}, as {} ran it ({})?", model,
                                         one.machine, one.publisher, one.family));
  text += comment(fmt::format("Published: {} s ({}).", one.measured_s, one.source));
  if (const std::string stack = assumed(legend.assumed_of_stack, one.stack); !stack.empty())
    text += comment("Of the software, assumed where nobody says it: " + stack + ".");
  if (const std::string machine = assumed(legend.assumed_of_machine, one.machine); !machine.empty())
    text += comment("Of the machine: " + machine + ".");
  return text;
}

/// The first word of a key, and the rest: "finetune", "lora.rank".
std::pair<std::string, std::string> in_section(const std::string& key) {
  const std::size_t dot = key.find('.');
  return dot == std::string::npos ? std::pair(std::string(), key) : std::pair(key.substr(0, dot), key.substr(dot + 1));
}

/// Keys under the header of their section, sections in the order of their first keys.
std::string by_section(const Overrides& keys) {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const Override& setting : keys) {
    const auto [section, key] = in_section(setting.key);
    auto place = std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.first == section; });
    if (place == sections.end()) place = sections.insert(sections.end(), {section, ""});
    place->second += fmt::format("{} = {}\n", key, toml_value(setting.value));
  }
  std::string text;
  for (const auto& [section, lines] : sections) text += (section.empty() ? "" : "\n[" + section + "]\n") + lines;
  return text;
}

}  // namespace

Result<std::vector<StepCase>> read_step_cases(const SourceText& source) {
  return read_rows<StepCase>(source, step_columns, case_of);
}

SourcePlace place_in(const StepCase& row, std::string_view column) {
  const std::vector<std::string> columns = csv_cells(step_columns);
  const auto found = std::find(columns.begin(), columns.end(), column);
  expects(found != columns.end(), "a column of steps");
  return place_of_cell(row.place, static_cast<std::size_t>(found - columns.begin()));
}

Result<StepLegend> read_step_legend(const std::string& folder) {
  const Result<CsvTable> machines = table_of(folder + "/machines.csv", "machine,topology,cards,settings,assumed");
  if (!machines) return machines.diagnostics();
  const Result<CsvTable> stacks = table_of(folder + "/stacks.csv", "stack,settings,assumed");
  if (!stacks) return stacks.diagnostics();
  const Result<CsvTable> rules = table_of(folder + "/rules.csv", "rule,reason");
  if (!rules) return rules.diagnostics();
  StepLegend legend;
  for (const CsvRow& row : machines->rows) {
    Overrides keys{{"hardware.topology", row.cells[1]}, {"hardware.cards", card_list(row.cells[2])}};
    for (Override& setting : settings_in(row.cells[3])) keys.push_back(std::move(setting));
    legend.machines.emplace(row.cells[0], std::move(keys));
    legend.assumed_of_machine.emplace(row.cells[0], row.cells[4]);
  }
  for (const CsvRow& row : stacks->rows) {
    legend.stacks.emplace(row.cells[0], settings_in(row.cells[1]));
    legend.assumed_of_stack.emplace(row.cells[0], row.cells[2]);
  }
  for (const CsvRow& row : rules->rows) legend.rules.emplace(row.cells[0], row.cells[1]);
  return legend;
}

Result<Overrides> step_keys(const StepCase& one, const StepLegend& legend) {
  Overrides all{{"title", one.family + ", row " + one.row}, {"model.name", one.model}};
  const auto machine = legend.machines.find(one.machine);
  if (machine == legend.machines.end())
    all.push_back({"hardware.topology", one.machine});
  else
    all.insert(all.end(), machine->second.begin(), machine->second.end());
  const auto stack = legend.stacks.find(one.stack);
  const bool inline_stack = one.stack.empty() || one.stack.find('=') != std::string::npos;
  if (stack == legend.stacks.end() && !inline_stack)
    return Diagnostic{Severity::error,
                      place_in(one, "stack"),
                      fmt::format("row {} has an unknown stack \"{}\"", one.row, one.stack),
                      "name one of stacks.csv, or write keys: parallel.strategy=fsdp2;finetune.method=lora"};
  const Overrides settings = inline_stack ? settings_in(one.stack) : stack->second;
  all.insert(all.end(), settings.begin(), settings.end());
  if (!one.method.empty()) all.push_back({"finetune.method", one.method});
  all.push_back({"batch.sequence_length", std::to_string(one.sequence)});
  all.push_back({"batch.micro_batch", std::to_string(one.micro_batch)});
  all.push_back({"batch.gradient_accumulation", std::to_string(one.accumulation)});
  Overrides keys;
  for (Override& setting : all) {
    const auto same = std::find_if(keys.begin(), keys.end(), [&](const Override& k) { return k.key == setting.key; });
    if (same == keys.end())
      keys.push_back(std::move(setting));
    else
      same->value = std::move(setting.value);
  }
  return keys;
}

Result<SourceText> step_scenario(const StepCase& one, const StepLegend& legend, std::string file) {
  const Result<Overrides> keys = step_keys(one, legend);
  if (!keys) return keys.diagnostics();
  return SourceText{std::move(file), step_heading(one, legend) + by_section(*keys)};
}

}  // namespace takt
