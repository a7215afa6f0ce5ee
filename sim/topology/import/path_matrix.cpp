// How the text is read. People paste this matrix from terminals, logs, issue trackers and slides, so columns do not
// line up and affinity cells go missing. What survives everywhere is the order of things:
//
//     [prefix]         GPU0  GPU1  NIC0   CPU Affinity  NUMA Affinity  GPU NUMA ID      <- header: names in order
//     [prefix]  GPU0    X    NV12  PXB    0-63          0              N/A   [comment]  <- row: a name, one cell a name
//
// A header is a line whose cells from the first GPU on are all device names up to the affinity columns. A row is a line
// with one of these names followed by a path type; it must have a path type for every name of the header. Whatever
// stands before the name is a log prefix, whatever stands after the affinity columns is a comment. Cells are split at
// tabs if the line has any (then affinity cells may be empty), else at spaces.
#include "topology/import/path_matrix.hpp"

#include "base/text.hpp"
#include "topology/import/text_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <string_view>

namespace takt {
namespace {

enum class AffinityColumn { cpu, numa, gpu_numa };

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_card_label(std::string_view text) {
  return text.substr(0, 3) == "GPU" && all_digits(text.substr(3));
}

/// A word that may name an adapter: "NIC0", "mlx5_10", "bnxt_re0". Words of a sentence do not end in a digit.
bool is_adapter_label(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  });
  return text.size() >= 3 && plain && is_digit(text.back()) && !is_digit(text.front()) && !is_card_label(text);
}

bool begins_affinity(std::string_view text) {
  return text.substr(0, 3) == "CPU" || text.substr(0, 4) == "NUMA" || text == "GPU" || text.substr(0, 8) == "GPU NUMA";
}

/// Large enough for any card that exists (18 links), small enough for the number to be a count and not a slip.
constexpr std::int64_t max_nvlinks = 99;

std::optional<PathEntry> path_entry(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, PathCell>, 8> names = {{{"X", PathCell::self},
                                                                           {"PIX", PathCell::pix},
                                                                           {"PXB", PathCell::pxb},
                                                                           {"PHB", PathCell::phb},
                                                                           {"NODE", PathCell::node},
                                                                           {"SYS", PathCell::sys},
                                                                           {"SOC", PathCell::sys},  // older drivers
                                                                           {"N/A", PathCell::unknown}}};
  for (const auto& [name, cell] : names) {
    if (text == name) return PathEntry{cell, 0};
  }
  if (text.substr(0, 2) != "NV") return std::nullopt;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > max_nvlinks) {
    return std::nullopt;
  }
  return PathEntry{PathCell::nvlink, count};
}

/// The name at the end of a cell that a log prefix may precede: "[1,0]<stdout>:GPU0" or "host3: GPU0" hold "GPU0".
std::string_view label_at_end(std::string_view cell) {
  const std::size_t before = cell.find_last_of(" :>])");
  return before == std::string_view::npos ? cell : cell.substr(before + 1);
}

/// The first whole number of "3", "0,5-11" or "0-1"; nothing of "N/A" or "".
std::optional<std::int64_t> first_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

bool is_cpu_list(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == ',' || c == '-'; });
}

struct Header {
  std::size_t line = 0;  ///< position in the lines
  std::vector<TextCell> labels;
  std::vector<AffinityColumn> affinity;
};

std::optional<Header> header_of(const TextLine& line) {
  Header header;
  std::size_t i = 0;
  const auto& cells = line.cells;
  while (i < cells.size() && !is_card_label(label_at_end(cells[i].text))) ++i;
  for (; i < cells.size() && !begins_affinity(cells[i].text); ++i) {
    TextCell cell = cells[i];
    const std::string_view name = header.labels.empty() ? label_at_end(cell.text) : std::string_view(cell.text);
    if (name.empty()) continue;
    if (!is_card_label(name) && !is_adapter_label(name)) return std::nullopt;
    if (path_entry(name)) return std::nullopt;  // "NV4": this is a row
    cell.column += static_cast<std::uint32_t>(cell.text.size() - name.size());
    cell.text = std::string(name);
    header.labels.push_back(std::move(cell));
  }
  if (header.labels.empty()) return std::nullopt;
  const auto has = [&](std::string_view title) { return line.text.find(title) != std::string::npos; };
  if (has("CPU Affinity")) header.affinity.push_back(AffinityColumn::cpu);
  if (has("NUMA Affinity")) header.affinity.push_back(AffinityColumn::numa);
  if (has("GPU NUMA ID")) header.affinity.push_back(AffinityColumn::gpu_numa);
  return header;
}

class MatrixReader {
 public:
  explicit MatrixReader(const SourceText& source) : source_(source), lines_(split_lines(source)) {}

  Result<PathMatrix> read() {
    if (!find_header()) {
      return Diagnostic{Severity::error,
                        {source_.file, 0, 0, ""},
                        "no matrix: no line names the columns (GPU0 GPU1 ...)",
                        "paste the whole output of `nvidia-smi topo -m`, header line included"};
    }
    constexpr std::size_t most_columns = 128;  // the largest servers show about fifty
    if (header_.labels.size() > most_columns) {
      return Diagnostic{Severity::error, lines_[header_.line].place(source_.file, 1),
                        fmt::format("{} columns, more than a server has devices", header_.labels.size()), ""};
    }
    make_devices();
    for (std::size_t i = header_.line + 1; i < lines_.size(); ++i) {
      if (header_of(lines_[i])) {
        warn(lines_[i].place(source_.file, 1), "a second matrix is ignored");
        break;
      }
      if (!read_row(lines_[i])) read_legend(lines_[i]);
    }
    if (!errors_.empty()) return std::move(errors_);
    fill_by_symmetry();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(matrix_);
  }

 private:
  bool find_header() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      std::optional<Header> header = header_of(lines_[i]);
      if (!header) continue;
      header_ = std::move(*header);
      header_.line = i;
      return true;
    }
    return false;
  }

  void make_devices() {
    for (const TextCell& label : header_.labels) {
      MatrixDevice device;
      device.label = label.text;
      device.is_card = is_card_label(label.text);
      device.place = lines_[header_.line].place(source_.file, label.column);
      if (position_of(label.text)) error(device.place, fmt::format("a second column {}", label.text), "");
      matrix_.devices.push_back(std::move(device));
    }
    const std::size_t n = matrix_.devices.size();
    matrix_.entries.assign(n, std::vector<PathEntry>(n));
  }

  std::optional<std::size_t> position_of(std::string_view label) const {
    for (std::size_t i = 0; i < matrix_.devices.size(); ++i) {
      if (matrix_.devices[i].label == label) return i;
    }
    return std::nullopt;
  }

  /// True if the line is a row, readable or not.
  bool read_row(const TextLine& line) {
    for (std::size_t i = 0; i + 1 < line.cells.size(); ++i) {
      const auto row = position_of(label_at_end(line.cells[i].text));
      if (!row || !path_entry(line.cells[i + 1].text)) continue;
      MatrixDevice& device = matrix_.devices[*row];
      const SourcePlace place = line.place(source_.file, line.cells[i].column);
      if (device.has_row) {
        error(place, fmt::format("a second row {}", device.label), "");
        return true;
      }
      device.has_row = true;
      device.place = place;
      read_cells(line, i + 1, *row);
      return true;
    }
    return false;
  }

  void read_cells(const TextLine& line, std::size_t first, std::size_t row) {
    const std::string& label = matrix_.devices[row].label;
    const std::size_t n = matrix_.devices.size();
    for (std::size_t j = 0; j < n; ++j) {
      if (first + j >= line.cells.size()) {
        error(line.place(source_.file, static_cast<std::uint32_t>(line.text.size() + 1)),
              fmt::format("the row of {} ends after {} of {} columns", label, j, n), "is the text cut off?");
        return;
      }
      const TextCell& cell = line.cells[first + j];
      const std::optional<PathEntry> entry = path_entry(cell.text);
      if (!entry || (entry->cell == PathCell::self) != (j == row)) {
        error(line.place(source_.file, cell.column),
              fmt::format("\"{}\" is no path type of {} and {}", cell.text, label, matrix_.devices[j].label),
              j + 1 == n || first + j + 1 == line.cells.size() ? "is the text cut off?"
                                                               : "expected X, NV#, PIX, PXB, PHB, NODE or SYS");
        return;
      }
      matrix_.entries[row][j] = *entry;
    }
    read_affinity(line, first + n, row);
  }

  void read_affinity(const TextLine& line, std::size_t first, std::size_t row) {
    std::vector<TextCell> rest(line.cells.begin() + static_cast<std::ptrdiff_t>(std::min(first, line.cells.size())),
                               line.cells.end());
    MatrixDevice& device = matrix_.devices[row];
    if (rest.size() >= 2 && rest[0].text == "NUMA" && all_digits(rest[1].text)) {  // "NUMA 0" after the cells
      device.numa_node = first_number(rest[1].text);
    }
    if (header_.affinity.empty()) return;
    if (line.tabbed && header_.affinity.back() == AffinityColumn::gpu_numa) {
      // Drivers print one tab too many before the last column.
      while (rest.size() > header_.affinity.size() && rest[rest.size() - 2].text.empty()) {
        rest.erase(rest.end() - 2);
      }
    }
    for (std::size_t i = 0; i < header_.affinity.size() && i < rest.size(); ++i) {
      const std::string& text = rest[i].text;
      if (!text.empty() && text != "N/A" && !is_cpu_list(text)) return;  // a comment
      set_affinity(device, header_.affinity[i], text);
    }
  }

  static void set_affinity(MatrixDevice& device, AffinityColumn column, const std::string& text) {
    switch (column) {
      case AffinityColumn::cpu:
        device.cpu_affinity = is_cpu_list(text) ? text : "";
        return;
      case AffinityColumn::numa:
        device.numa_node = first_number(text);
        return;
      case AffinityColumn::gpu_numa:
        device.gpu_numa_node = first_number(text);
        return;
    }
  }

  /// "  NIC0: mlx5_0"
  void read_legend(const TextLine& line) {
    for (std::size_t i = 0; i + 1 < line.cells.size(); ++i) {
      const std::string& name = line.cells[i].text;
      if (name.size() < 2 || name.back() != ':') continue;
      if (const auto position = position_of(name.substr(0, name.size() - 1))) {
        matrix_.devices[*position].adapter = line.cells[i + 1].text;
        return;
      }
    }
    const std::string_view whole = trim(line.text);  // tab-separated legends keep "NIC0: mlx5_0" in one cell
    const std::size_t colon = whole.find(": ");
    if (colon == std::string_view::npos) return;
    if (const auto position = position_of(whole.substr(0, colon))) {
      matrix_.devices[*position].adapter = std::string(trim(whole.substr(colon + 1)));
    }
  }

  void fill_by_symmetry() {
    const std::size_t n = matrix_.devices.size();
    std::vector<std::string> without_row;
    for (std::size_t i = 0; i < n; ++i) {
      const MatrixDevice& device = matrix_.devices[i];
      if (!device.has_row) without_row.push_back(device.label);
      if (!device.cpu_affinity.empty() || device.numa_node) matrix_.has_affinity = true;
      for (std::size_t j = i + 1; j < n; ++j) match(i, j);
    }
    if (errors_.empty() && !without_row.empty()) {
      warn(lines_[header_.line].place(source_.file, 1),
           fmt::format("no row for {}: what the other rows say of them is used", join(without_row, ", ")));
    }
  }

  void match(std::size_t i, std::size_t j) {
    PathEntry& one = matrix_.entries[i][j];
    PathEntry& other = matrix_.entries[j][i];
    const MatrixDevice& a = matrix_.devices[i];
    const MatrixDevice& b = matrix_.devices[j];
    const bool both_known = one.cell != PathCell::unknown && other.cell != PathCell::unknown;
    if (both_known && !(one == other)) {
      warn(b.place, fmt::format("the rows of {} and {} differ on their path; the first is used", a.label, b.label));
    }
    if (one.cell == PathCell::unknown) one = other;
    other = one;
    if (one.cell != PathCell::unknown || !a.is_card || !b.is_card) return;
    error(a.has_row ? b.place : a.place, fmt::format("no row says how {} and {} are connected", a.label, b.label),
          "rows are missing; paste the whole output");
  }

  void warn(SourcePlace place, std::string message) {
    matrix_.warnings.push_back({Severity::warning, std::move(place), std::move(message), ""});
  }

  void error(SourcePlace place, std::string message, std::string hint) {
    errors_.push_back({Severity::error, std::move(place), std::move(message), std::move(hint)});
  }

  const SourceText& source_;
  std::vector<TextLine> lines_;
  Header header_;
  PathMatrix matrix_;
  Diagnostics errors_;
};

}  // namespace

Result<PathMatrix> read_path_matrix(const SourceText& source) {
  return MatrixReader(source).read();
}

}  // namespace takt
