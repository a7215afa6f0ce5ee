#include "config/sweep_range.hpp"

#include "base/text.hpp"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

namespace takt {
namespace {

constexpr std::int64_t most_values = 1'000'000;

/// A number with the unit behind it, if any.
struct Measure {
  double number = 0.0;
  std::string unit;
};

std::optional<Measure> measure_of(const Node& node) {
  if (const auto* integer = node.as<std::int64_t>()) return Measure{static_cast<double>(*integer), ""};
  if (const auto* number = node.as<double>()) return Measure{*number, ""};
  const auto* text = node.as<std::string>();
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text->c_str(), &end);
  const std::string unit(trim(end));
  if (end == text->c_str() || unit.empty()) return std::nullopt;
  return Measure{number, unit};
}

/// 12 significant digits: what additions and powers leave behind them is gone.
double rounded(double value) {
  return std::strtod(fmt::format("{:.12g}", value).c_str(), nullptr);
}

/// Reads a range and lists its values.
class Range {
 public:
  Range(const Node& node, const std::string& key, RangeNumbers numbers, Reading& reading)
      : node_(node), key_(key), numbers_(numbers), reading_(reading) {}

  std::vector<Node> values() {
    check_members();
    const std::optional<Measure> from = end("from"), to = end("to");
    if (failed_ || !from || !to) return {};
    from_ = *from;
    to_ = *to;
    if (from_.unit != to_.unit) {
      error(node_.place, fmt::format("from is in {}, to in {}", unit_name(from_), unit_name(to_)), "use one unit");
      return {};
    }
    const std::vector<double> numbers = this->numbers();
    if (failed_) return {};
    return nodes(numbers);
  }

 private:
  static std::string unit_name(const Measure& measure) { return measure.unit.empty() ? "no unit" : measure.unit; }

  void error(const SourcePlace& place, const std::string& message, std::string hint = "") {
    reading_.error(place, fmt::format("range of {}: {}", key_, message), std::move(hint));
    failed_ = true;
  }

  const Node* member(const char* name) const { return find_path(node_, name); }

  void check_members() {
    int ways = 0;
    for (const Member& member : *node_.as<Node::Table>()) {
      if (member.key == "step" || member.key == "factor" || member.key == "count")
        ++ways;
      else if (member.key != "from" && member.key != "to" && member.key != "scale") {
        error(member.key_place, fmt::format("unknown key \"{}\"", member.key),
              "a range has from, to, and step, factor or count");
      }
    }
    if (ways != 1) {
      error(node_.place, ways == 0 ? "it lacks a step" : "step, factor and count exclude each other",
            "write { from = 1, to = 8, step = 1 }, factor = 2 or count = 4");
    }
    if (member("scale") && !member("count")) error(member("scale")->place, "scale belongs to count");
  }

  std::optional<Measure> end(const char* name) {
    const Node* node = member(name);
    if (node == nullptr) {
      error(node_.place, fmt::format("it lacks \"{}\"", name), "a range has from, to, and step, factor or count");
      return std::nullopt;
    }
    const std::optional<Measure> measure = measure_of(*node);
    if (measure && std::isfinite(measure->number)) return measure;
    error(node->place, fmt::format("{} needs a number, or a quantity in quotes, not {}", name, describe(*node)));
    return std::nullopt;
  }

  std::vector<double> numbers() {
    if (const Node* step = member("step")) return stepped(*step);
    if (const Node* factor = member("factor")) return scaled(*factor);
    return counted(*member("count"));
  }

  std::vector<double> stepped(const Node& node) {
    const std::optional<Measure> step = measure_of(node);
    if (!step || step->unit != from_.unit) {
      error(node.place, fmt::format("step needs {} as from has", unit_name(from_)));
      return {};
    }
    const double steps = (to_.number - from_.number) / step->number;
    if (!(steps >= 0.0)) {
      error(node.place, fmt::format("steps of {} from {} never reach {}", step->number, from_.number, to_.number));
      return {};
    }
    return listed(steps, [&](double i) { return from_.number + i * step->number; });
  }

  std::vector<double> scaled(const Node& node) {
    const std::optional<Measure> factor = measure_of(node);
    const bool is_number = factor && factor->unit.empty() && factor->number > 0.0;
    if (!is_number || from_.number <= 0.0 || to_.number <= 0.0) {
      error(node.place, "factor, from and to must be positive, and factor has no unit");
      return {};
    }
    const double steps = std::log(to_.number / from_.number) / std::log(factor->number);
    if (!(steps >= 0.0)) {
      error(node.place, fmt::format("factors of {} from {} never reach {}", factor->number, from_.number, to_.number));
      return {};
    }
    return listed(steps, [&](double i) { return from_.number * std::pow(factor->number, i); });
  }

  std::vector<double> counted(const Node& node) {
    const auto* count = node.as<std::int64_t>();
    if (count == nullptr || *count < 2) {
      error(node.place, "count needs a whole number from 2");
      return {};
    }
    const auto last = static_cast<double>(*count - 1);
    const double from = from_.number, to = to_.number;
    if (!is_logarithmic()) return listed(last, [=](double i) { return from + (to - from) * (i / last); });
    if (from <= 0.0 || to <= 0.0) {
      error(node_.place, "scale = \"log\" needs positive ends");
      return {};
    }
    return listed(last, [=](double i) { return from * std::pow(to / from, i / last); });
  }

  bool is_logarithmic() {
    const Node* scale = member("scale");
    if (scale == nullptr) return false;
    const auto* word = scale->as<std::string>();
    if (word == nullptr || (*word != "log" && *word != "linear")) error(scale->place, "scale is \"linear\" or \"log\"");
    return word != nullptr && *word == "log";
  }

  /// value(0), value(1), ... value(floor(steps)), with room for rounding at the end.
  template <class Value>
  std::vector<double> listed(double steps, Value value) {
    constexpr double slack = 1e-9;
    if (!(steps < static_cast<double>(most_values))) {
      error(node_.place, fmt::format("it has more than {} values", most_values));
      return {};
    }
    const auto last = static_cast<std::int64_t>(std::floor(steps * (1.0 + slack) + slack));
    std::vector<double> numbers;
    for (std::int64_t i = 0; i <= last; ++i) numbers.push_back(rounded(value(static_cast<double>(i))));
    return numbers;
  }

  std::vector<Node> nodes(const std::vector<double>& numbers) const {
    std::vector<Node> nodes;
    std::optional<std::int64_t> before;
    for (const double number : numbers) {
      const std::int64_t integer = from_.unit.empty() ? std::llround(number) : 0;
      if (from_.unit.empty() && (numbers_ == RangeNumbers::whole || number == static_cast<double>(integer))) {
        if (before != integer) nodes.push_back({integer, node_.place});
        before = integer;
      } else if (from_.unit.empty()) {
        nodes.push_back({number, node_.place});
      } else {
        nodes.push_back({fmt::format("{} {}", number, from_.unit), node_.place});
      }
    }
    return nodes;
  }

  const Node& node_;
  const std::string& key_;
  RangeNumbers numbers_;
  Reading& reading_;
  Measure from_, to_;
  bool failed_ = false;
};

}  // namespace

bool is_range(const Node& node) {
  const auto* table = node.as<Node::Table>();
  return table != nullptr && find(*table, "from") != nullptr;
}

std::vector<Node> range_values(const Node& node, const std::string& key, RangeNumbers numbers, Reading& reading) {
  return Range(node, key, numbers, reading).values();
}

}  // namespace takt
