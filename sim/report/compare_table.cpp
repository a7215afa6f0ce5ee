// Runs side by side, with a verdict.
//
// Machines of different size do steps of different size, so "faster" compares tokens per second, and says what one card
// does beside it. Runs that do not fit in memory cannot win.
#include "base/contract.hpp"
#include "report/format.hpp"
#include "report/report.hpp"
#include "report/step_interval.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace takt {
namespace {

constexpr std::size_t most_runs = 4;
constexpr std::size_t causes_shown = 3;
constexpr double equal_within = 1.01;  ///< ratios below this read "as fast as"

std::string letter(std::size_t run) {
  return std::string(1, static_cast<char>('A' + run));
}

class Comparison {
 public:
  explicit Comparison(std::span<const RunResult> runs) : runs_(runs), table_(columns(runs.size())) {
    cell_width_ = (screen_width - first_column) / runs.size() - 2;
  }

  std::string text() {
    std::string text;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      text += letter(i) + "  " + shorten(title_of(runs_[i].scenario), screen_width - 3) + '\n';
    }
    add_rows();
    return text + '\n' + table_.text() + '\n' + verdict() + '\n' + reasons();
  }

 private:
  static constexpr std::size_t first_column = 24;

  static std::vector<Column> columns(std::size_t runs) {
    std::vector<Column> columns = {{""}};
    for (std::size_t i = 0; i < runs; ++i) columns.push_back({letter(i), Align::right});
    return columns;
  }

  void row(const std::string& name, const std::function<std::string(const RunResult&)>& cell) {
    std::vector<std::string> cells = {name};
    for (const RunResult& run : runs_) cells.push_back(shorten(cell(run), cell_width_));
    table_.row(std::move(cells));
  }

  void time_row(const std::string& name, Duration Breakdown::*part) {
    row(name, [part](const RunResult& run) {
      const Duration time = run.metrics.breakdown.*part;
      const Duration step = run.metrics.step_time;
      const double share = step > Duration{} ? to_seconds(time) / to_seconds(step) : 0.0;
      return fmt::format("{}  {:>7}", format_time(time), format_share(share));
    });
  }

  void add_rows() {
    row("cards", describe_cards);
    row("strategy", describe_strategy);
    row("step time", [](const RunResult& run) { return format_time(run.metrics.step_time); });
    row("tokens a step", [](const RunResult& run) { return format_count(run.metrics.tokens_per_step); });
    row("tokens/s", [](const RunResult& run) { return format_number(run.metrics.tokens_per_second); });
    row("tokens/s a card", [](const RunResult& run) { return format_number(run.metrics.tokens_per_second_per_card); });
    row("MFU", [](const RunResult& run) { return format_share(run.metrics.mfu); });
    table_.rule();
    time_row("compute", &Breakdown::compute);
    time_row("exposed communication", &Breakdown::exposed_communication);
    time_row("optimizer", &Breakdown::optimizer);
    time_row("host, waiting", &Breakdown::host);
    table_.rule();
    row("overlap ratio", [](const RunResult& run) {
      const CommunicationMetrics& communication = run.metrics.communication;
      return communication.busy > Duration{} ? format_share(communication.overlap_ratio) : "-";
    });
    row("received a card",
        [](const RunResult& run) { return format_size(run.metrics.communication.received_per_card); });
    row("busiest link",
        [](const RunResult& run) { return run.metrics.links.empty() ? "-" : run.metrics.links.front().name; });
    row("  mean use", [](const RunResult& run) {
      if (run.metrics.links.empty()) return std::string("-");
      const LinkMetrics& link = run.metrics.links.front();
      return format_share(link.utilisation_mean) + " of " + format_bandwidth(link.capacity);
    });
    row("memory peak", [](const RunResult& run) {
      const MemoryMetrics& memory = run.metrics.memory;
      return format_size(memory.peak) + " of " + format_size(memory.capacity) + (memory.fits ? "" : " (too much)");
    });
    row("kWh a million tokens", [](const RunResult& run) {
      if (!run.power) return std::string("-");
      const Range energy = run.power->kwh_per_million_tokens();
      return format_number(energy.low) + " to " + format_number(energy.high);
    });
    table_.rule();
    for (std::size_t cause = 0; cause < causes_shown; ++cause) {
      row(cause == 0 ? "critical path" : "", [this, cause](const RunResult& run) {
        if (cause >= run.metrics.blame.size()) return std::string();
        const BlameEntry& entry = run.metrics.blame[cause];
        const std::string share = fmt::format("  {:>7}", format_share(entry.share));
        return shorten(entry.resource, cell_width_ - share.size()) + share;
      });
    }
  }

  double tokens_per_second(std::size_t run) const { return runs_[run].metrics.tokens_per_second; }
  double per_card(std::size_t run) const { return runs_[run].metrics.tokens_per_second_per_card; }

  /// Runs that fit, then those that do not; each by tokens/s, then in the order given.
  std::vector<std::size_t> ranking() const {
    std::vector<std::size_t> order(runs_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const bool a_fits = runs_[a].metrics.memory.fits, b_fits = runs_[b].metrics.memory.fits;
      return a_fits != b_fits ? a_fits : tokens_per_second(a) > tokens_per_second(b);
    });
    return order;
  }

  std::string against(std::size_t best, std::size_t other) const {
    if (!runs_[other].metrics.memory.fits) {
      const MemoryMetrics& memory = runs_[other].metrics.memory;
      return fmt::format("{} does not fit: it needs {} a card and has {}.", letter(other), format_size(memory.peak),
                         format_size(memory.capacity));
    }
    const double ratio = tokens_per_second(best) / tokens_per_second(other);
    std::string text = ratio < equal_within ? fmt::format("{} and {} are equally fast", letter(best), letter(other))
                                            : fmt::format("{} is {} times as fast as {}", letter(best),
                                                          format_number(ratio), letter(other));
    text += fmt::format(": {} against {} tokens/s", format_number(tokens_per_second(best)),
                        format_number(tokens_per_second(other)));
    if (runs_[best].metrics.ranks == runs_[other].metrics.ranks) return text + '.';
    const bool best_leads = per_card(best) >= per_card(other);
    const std::size_t lead = best_leads ? best : other, trail = best_leads ? other : best;
    const double card_ratio = per_card(lead) / per_card(trail);
    if (card_ratio < equal_within) return text + "; a card of both does the same.";
    return text + fmt::format("; a card of {} does {} times as much as one of {}.", letter(lead),
                              format_number(card_ratio), letter(trail));
  }

  /// "0.90 to 1.28 of theirs", or the same for each of the two where they rest on different steps.
  std::string basis_of(std::size_t best, std::size_t other) const {
    const auto parts = [this](std::size_t run) {
      const PredictionInterval interval = step_interval(runs_[run]);
      return fmt::format("{:.2f} to {:.2f}", interval.low, interval.high);
    };
    const std::string unpublished = "where no step of the architecture was known";
    if (parts(best) == parts(other)) {
      return parts(best) + " of theirs" +
             (has_published_steps(runs_[best].card_architecture) ? "" : " " + unpublished);
    }
    const std::size_t wide = has_published_steps(runs_[best].card_architecture) ? other : best;
    const std::size_t narrow = wide == best ? other : best;
    return fmt::format("{} of theirs, and {} {} ({}: {})", parts(narrow), parts(wide), unpublished, letter(wide),
                       runs_[wide].card_architecture);
  }

  /// Where the difference is less than what predictions are off by.
  std::string doubt(std::size_t best, std::size_t other) const {
    const RunResult &first = runs_[best], &second = runs_[other];
    if (!carries_interval(first) || !carries_interval(second) || !second.metrics.memory.fits) return "";
    const double ratio = first.metrics.tokens_per_second / second.metrics.tokens_per_second;
    const PredictionInterval faster = step_interval(first), slower = step_interval(second);
    const double within = ratio_within_error(faster, slower);
    if (ratio < equal_within || ratio >= within) return "";
    return fmt::format("That is within the error of two predictions: nine in ten published steps took {}, so a ratio "
                       "below {:.2f} can turn round if the errors of both have nothing in common.",
                       basis_of(best, other), within);
  }

  std::string verdict() const {
    const std::vector<std::size_t> order = ranking();
    if (!runs_[order.front()].metrics.memory.fits)
      return wrap("Verdict: none of these runs fits in memory.", screen_width);
    std::string text;
    for (std::size_t i = 1; i < order.size(); ++i) {
      text += wrap((i == 1 ? "Verdict: " : "         ") + against(order.front(), order[i]), screen_width);
      text += wrap(doubt(order.front(), order[i]), screen_width);
    }
    return text;
  }

  std::string reasons() const {
    std::string text;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const StepMetrics& metrics = runs_[i].metrics;
      const double exposed = metrics.step_time > Duration{}
                                 ? to_seconds(metrics.breakdown.exposed_communication) / to_seconds(metrics.step_time)
                                 : 0.0;
      std::string why = letter(i) + " is limited by " + describe_limits(metrics) + ".";
      if (metrics.communication.busy > Duration{}) {
        why += fmt::format(
            " Communication takes {}, of which {} hides behind compute; it is exposed for {} of the step.",
            format_time(metrics.communication.busy), format_time(metrics.communication.hidden), format_share(exposed));
        why += " Most of it: " + metrics.communication.longest + ".";
      }
      text += wrap(why, screen_width);
    }
    return text;
  }

  std::span<const RunResult> runs_;
  Table table_;
  std::size_t cell_width_ = 0;
};

}  // namespace

std::string compare_table(std::span<const RunResult> results) {
  expects(results.size() >= 2 && results.size() <= most_runs, "a comparison is of two to four runs");
  return Comparison(results).text();
}

}  // namespace takt
