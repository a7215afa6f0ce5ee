// One rank's streams as a picture: a row for the CPU's waits and one for each stream, a box for each op.
//
// A box of a collective is drawn from the moment at which its last member is there; before that it waits. Boxes too
// narrow to see are left out, and a number stands in a box that has room for it: the unit, bucket or layer.
#include "report/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace takt {
namespace {

constexpr double width = 960.0, label_width = 130.0, right_margin = 12.0;
constexpr double top = 34.0, row_height = 26.0, box_height = 20.0, axis_height = 22.0, legend_height = 22.0;
constexpr double least_box = 0.3;  // pixels
constexpr double box_with_text = 16.0;

enum Colour : std::size_t {
  forward,
  recompute,
  backward,
  all_gather,
  reduce_scatter,
  all_reduce,
  copy,
  optimizer,
  host_wait,
  other,
  colours
};
struct ColourName {
  const char* colour;
  const char* name;
};
constexpr std::array<ColourName, colours> colour_names = {{{"#4c8bd8", "forward"},
                                                           {"#7fb3d5", "recomputation"},
                                                           {"#4aa564", "backward"},
                                                           {"#e69f3c", "all-gather"},
                                                           {"#cc5a4a", "reduce-scatter"},
                                                           {"#9c6bbf", "all-reduce, broadcast"},
                                                           {"#8c8c8c", "copy"},
                                                           {"#5c6b73", "optimizer"},
                                                           {"#d9d9d9", "the CPU waits"},
                                                           {"#b8b09a", "other kernels"}}};

Colour of_collective(CollectiveKind kind) {
  if (kind == CollectiveKind::all_gather) return all_gather;
  return kind == CollectiveKind::reduce_scatter ? reduce_scatter : all_reduce;
}

bool says(const std::string& label, const char* word) {
  return label.find(word) != std::string::npos;
}

Colour of_kernels(const Op& op, const std::string& label) {
  if (op.phase == Phase::optimizer) return optimizer;
  if (op.phase == Phase::recompute) return recompute;
  if (op.phase == Phase::forward && says(label, "forward")) return forward;
  return op.phase == Phase::backward && says(label, "backward") ? backward : other;
}

class Picture {
 public:
  Picture(const Plan& plan, const Timeline& timeline)
      : program_(plan.programs[index(plan.ranks.front().role)]), records_(timeline.ops.front()), end_(timeline.end) {
    find_rows();
  }

  std::string draw(const std::string& title) {
    const double height = top + row_height * static_cast<double>(rows_) + axis_height + legend_height;
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    write(label_width / 10.0, 20.0, title, "font-size=\"14\"");
    add_labels();
    for (std::size_t i = 0; i < program_.ops.size(); ++i) add_op(program_.ops[i], records_[i]);
    add_axis();
    add_legend();
    return text_ + "</svg>\n";
  }

 private:
  /// Rows from top to bottom: the CPU if it ever waits, then the streams that have work.
  void find_rows() {
    row_of_stream_.assign(program_.streams.size(), 0);
    std::vector<bool> used(program_.streams.size(), false);
    for (const Op& op : program_.ops) {
      if (std::holds_alternative<HostWait>(op.work) || std::holds_alternative<HostWork>(op.work))
        has_cpu_ = true;
      else
        used[index(op.stream)] = true;
    }
    if (has_cpu_) rows_ = 1;
    for (std::size_t stream = 0; stream < used.size(); ++stream) {
      if (used[stream]) row_of_stream_[stream] = rows_++;
    }
    used_ = std::move(used);
  }

  double x(Duration time) const {
    const double whole = std::max(1.0, static_cast<double>(end_.count()));
    return label_width + (width - label_width - right_margin) * static_cast<double>(time.count()) / whole;
  }
  static double y(std::size_t row) { return top + row_height * static_cast<double>(row); }

  void write(double at_x, double at_y, const std::string& words, const std::string& how) {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", at_x, at_y, how, escaped(words));
  }

  static std::string escaped(const std::string& words) {
    std::string safe;
    for (const char c : words) {
      if (c == '<')
        safe += "&lt;";
      else if (c == '&')
        safe += "&amp;";
      else
        safe += c;
    }
    return safe;
  }

  void add_labels() {
    const double middle = row_height / 2.0 + 1.0;
    if (has_cpu_) write(label_width - 8.0, y(0) + middle, "CPU", "text-anchor=\"end\"");
    for (std::size_t stream = 0; stream < used_.size(); ++stream) {
      if (used_[stream]) {
        write(label_width - 8.0, y(row_of_stream_[stream]) + middle, program_.streams[stream].name,
              "text-anchor=\"end\"");
      }
    }
  }

  void add_op(const Op& op, const OpRecord& record) {
    const std::string& label = program_.labels[op.label];
    if (std::holds_alternative<HostWait>(op.work) || std::holds_alternative<HostWork>(op.work)) {
      return box(0, record, host_wait, op, label);
    }
    const std::size_t row = row_of_stream_[index(op.stream)];
    if (const auto* call = std::get_if<Collective>(&op.work)) {
      const CollectiveKind kind = program_.comms[index(call->comm)].calls[call->call].kind;
      return box(row, record, of_collective(kind), op, label);
    }
    box(row, record, std::holds_alternative<Copy>(op.work) ? copy : of_kernels(op, label), op, label);
  }

  void box(std::size_t row, const OpRecord& record, Colour colour, const Op& op, const std::string& label) {
    const double left = x(record.start), long_by = x(record.end) - left;
    if (long_by < least_box) return;
    drawn_[colour] = true;
    const std::string number = op.unit == no_unit ? "" : std::to_string(op.unit);
    text_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\" "
        "stroke=\"white\" stroke-width=\"0.5\"><title>{} {}</title></rect>\n",
        left, y(row), long_by, box_height, colour_names[colour].colour, escaped(label), number);
    if (long_by >= box_with_text && !number.empty()) {
      write(left + long_by / 2.0, y(row) + 14.0, number, "text-anchor=\"middle\" font-size=\"11\"");
    }
  }

  /// Ticks at 1, 2 or 5 times a power of ten milliseconds, at most ten of them.
  void add_axis() {
    constexpr double picoseconds_per_millisecond = 1e9;
    constexpr std::array<double, 3> steps = {1.0, 2.0, 5.0};
    const double whole = static_cast<double>(end_.count()) / picoseconds_per_millisecond;
    double step = 0.001;
    for (std::size_t i = 0; whole / step > 10.0; ++i)
      step = std::pow(10.0, static_cast<double>(i / 3) - 3.0) * steps[i % 3];
    const double line = y(rows_);
    for (int tick = 0; tick * step <= whole; ++tick) {
      const Duration at(std::llround(tick * step * picoseconds_per_millisecond));
      text_ += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#cccccc\" "
          "stroke-width=\"0.5\"/>\n",
          x(at), top - 4.0, line);
      write(x(at), line + 12.0, fmt::format("{:g}{}", tick * step, tick == 0 ? " ms" : ""),
            "text-anchor=\"middle\" fill=\"#555555\"");
    }
  }

  void add_legend() {
    double at = label_width;
    const double line = y(rows_) + axis_height;
    for (std::size_t colour = 0; colour < colours; ++colour) {
      if (!drawn_[colour]) continue;
      const std::string name = colour_names[colour].name;
      text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", at, line,
                           colour_names[colour].colour);
      write(at + 16.0, line + 10.5, name, "fill=\"#333333\"");
      at += 34.0 + 6.2 * static_cast<double>(name.size());
    }
  }

  const Program& program_;
  const std::vector<OpRecord>& records_;
  Duration end_;
  std::vector<std::size_t> row_of_stream_;
  std::vector<bool> used_;
  std::array<bool, colours> drawn_{};
  std::size_t rows_ = 0;
  bool has_cpu_ = false;
  std::string text_;
};

}  // namespace

std::string timeline_svg(const RunResult& result, const Plan& plan, const Timeline& timeline) {
  const std::string& title = result.scenario.title.empty() ? result.scenario.name : result.scenario.title;
  return Picture(plan, timeline).draw(title + ", rank 0");
}

}  // namespace takt
