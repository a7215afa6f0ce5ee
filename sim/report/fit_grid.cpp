// Many sizing questions as a table.
#include "report/fit_report.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <vector>

namespace takt {
namespace {

constexpr double billion = 1e9;

std::string gb(Bytes size) {
  return fmt::format("{:.1f}", static_cast<double>(size.count()) / billion);
}

std::string basis_line(const FitResult& result) {
  if (result.question.basis == FitBasis::states) return "model states alone; with --sequence, the peak of a step too";
  const Scenario& scenario = result.question.scenario;
  return fmt::format("model states, and the peak of a step of {} x {} tokens with {}", scenario.batch.micro_batch,
                     format_count(scenario.batch.sequence_length), describe_checkpointing(scenario));
}

/// What a line of a grid is about; lines follow the order of the questions.
std::string line_of(const FitResult& result) {
  return result.question.card.name + '\n' + result.question.model.name + '\n' +
         describe_states(result.question.scenario);
}

std::vector<std::int64_t> counts_of(std::span<const FitResult> results) {
  std::set<std::int64_t> counts;
  for (const FitResult& result : results) counts.insert(result.question.cards);
  return {counts.begin(), counts.end()};
}

/// Whether every result has the same `part`, which then belongs above the table.
template <class Part>
bool all_equal(std::span<const FitResult> results, Part part) {
  return std::all_of(results.begin(), results.end(),
                     [&](const FitResult& result) { return part(result) == part(results.front()); });
}

constexpr auto card_of = [](const FitResult& result) { return result.question.card.name; };
constexpr auto case_of = [](const FitResult& result) {
  return result.question.model.name + ", " + describe_states(result.question.scenario);
};

using Line = std::map<std::int64_t, const FitResult*>;  // by number of cards

std::vector<Line> lines_of(std::span<const FitResult> results) {
  std::vector<std::string> keys;
  std::vector<Line> lines;
  for (const FitResult& result : results) {
    const std::string key = line_of(result);
    auto known = std::find(keys.begin(), keys.end(), key);
    if (known == keys.end()) {
      known = keys.insert(keys.end(), key);
      lines.emplace_back();
    }
    lines[static_cast<std::size_t>(known - keys.begin())][result.question.cards] = &result;
  }
  return lines;
}

std::string cell_of(const FitResult& result) {
  const std::string size = gb(result.of_card.total());
  return result.verdict == Verdict::no ? '(' + size + ')' : size;
}

/// The letter of a method in the overview's cells.
std::string letter_of(const Scenario& scenario) {
  switch (scenario.finetune.method) {
    case Method::qlora:
      return "Q";
    case Method::lora:
      return "L";
    case Method::full:
      return scenario.finetune.optimizer == Optimizer::adamw ? "F" : "8";
  }
  return "";
}

/// The results of one card and model, and in one cell the least number of cards for each method.
class OverviewCell {
 public:
  void add(const FitResult& result) {
    const std::string letter = letter_of(result.question.scenario);
    if (letters_.find(letter) == std::string::npos) letters_ += letter;
    if (result.verdict == Verdict::no) return;
    const auto [place, added] = least_.try_emplace(letter.front(), result.question.cards);
    place->second = std::min(place->second, result.question.cards);
  }
  std::string letters() const {
    std::string text;
    for (const char letter : letters_) text += (text.empty() ? "" : " ") + std::string(1, letter);
    return text;
  }
  std::string text() const {
    std::string text;
    for (const char letter : letters_) {
      const auto found = least_.find(letter);
      text += (text.empty() ? "" : " ") + (found == least_.end() ? "-" : std::to_string(found->second));
    }
    return text;
  }

 private:
  std::string letters_;  ///< in the order of the questions
  std::map<char, std::int64_t> least_;
};

}  // namespace

std::string fit_grid(std::span<const FitResult> results) {
  if (results.empty()) return "";
  const bool one_card = all_equal(results, card_of), one_case = all_equal(results, case_of);
  std::string title = "GB of model states a card (1 GB = 1e9 B)";
  if (one_case) title += ": " + case_of(results.front());
  if (one_card) {
    const CardSpec& card = results.front().question.card;
    title += fmt::format("; {}, {} GB nominal, {} GB driver-visible", card.name, gb(card.memory_nominal),
                         gb(card.memory_visible));
  }
  std::vector<Column> columns;
  if (!one_case) columns.push_back({"model and method"});
  if (!one_card || one_case) {
    columns.push_back({"card"});
    columns.push_back({"nominal GB", Align::right});
    columns.push_back({"driver-visible GB", Align::right});
  }
  const std::vector<std::int64_t> counts = counts_of(results);
  for (const std::int64_t count : counts) {
    columns.push_back({std::to_string(count) + (count == 1 ? " card" : " cards"), Align::right});
  }
  Table table(std::move(columns));
  for (const Line& line : lines_of(results)) {
    const FitResult& first = *line.begin()->second;
    std::vector<std::string> cells;
    if (!one_case) cells.push_back(case_of(first));
    if (!one_card || one_case) {
      const CardSpec& card = first.question.card;
      cells.insert(cells.end(), {card.id, gb(card.memory_nominal), gb(card.memory_visible)});
    }
    for (const std::int64_t count : counts) {
      const auto found = line.find(count);
      cells.push_back(found == line.end() ? "" : cell_of(*found->second));
    }
    table.row(std::move(cells));
  }
  return wrap(title, screen_width) +
         wrap("in brackets: does not fit; counted are " + basis_line(results.front()), screen_width) + '\n' +
         table.text(2);
}

std::string fit_overview(std::span<const FitResult> results) {
  if (results.empty()) return "";
  std::vector<const CardSpec*> cards;
  std::vector<std::string> models;
  std::map<std::pair<std::string, std::string>, OverviewCell> cells;  // by card and model
  for (const FitResult& result : results) {
    const CardSpec& card = result.question.card;
    const std::string& model = result.question.model.name;
    const auto is_card = [&](const CardSpec* known) { return known->id == card.id; };
    if (std::none_of(cards.begin(), cards.end(), is_card)) cards.push_back(&card);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
    cells[{card.id, model}].add(result);
  }
  std::vector<Column> columns = {{"card"}, {"nominal GB", Align::right}, {"driver-visible GB", Align::right}};
  for (const std::string& model : models) columns.push_back({model, Align::right});
  Table table(std::move(columns));
  std::vector<std::string> letters = {"", "", ""};
  for (const std::string& model : models) letters.push_back(cells[{cards.front()->id, model}].letters());
  table.row(std::move(letters));
  for (const CardSpec* card : cards) {
    std::vector<std::string> row = {card->id, gb(card->memory_nominal), gb(card->memory_visible)};
    for (const std::string& model : models) row.push_back(cells[{card->id, model}].text());
    table.row(std::move(row));
  }
  return "The least number of cards, of 1, 2, 4 and 8, that fits (- = none of them), for\n"
         "  Q  QLoRA (rank 16 on an NF4 base)           L  LoRA (rank 16 on a BF16 base)\n"
         "  8  full fine-tune, 8-bit AdamW              F  full fine-tune, 32-bit AdamW\n" +
         wrap("Several cards shard everything (FSDP2). Counted are " + basis_line(results.front()) +
                  ". 1 GB = 1e9 B; both conventions of a card's capacity must hold.",
              screen_width) +
         '\n' + table.text(2);
}

}  // namespace takt
