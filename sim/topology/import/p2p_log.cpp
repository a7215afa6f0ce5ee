#include "topology/import/p2p_log.hpp"

#include "topology/import/text_line.hpp"

#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace takt {
namespace {

std::vector<TextCell> words_of(const TextLine& line) {
  std::vector<TextCell> words;
  for (const TextCell& cell : line.cells) {  // tabs may separate the row's number from its cells
    for (std::size_t begin = cell.text.find_first_not_of(' '); begin < cell.text.size();) {
      const std::size_t end = std::min(cell.text.find(' ', begin), cell.text.size());
      words.push_back({cell.text.substr(begin, end - begin), cell.column + static_cast<std::uint32_t>(begin)});
      begin = cell.text.find_first_not_of(' ', end);
    }
  }
  return words;
}

std::optional<double> number(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<P2pMatrix> title_of(const TextLine& line) {
  const auto has = [&](const char* part) { return line.text.find(part) != std::string::npos; };
  if (!has("Matrix") || (!has("Bandwidth") && !has("Latency"))) return std::nullopt;
  P2pMatrix matrix;
  matrix.access = has("P2P=Enabled") ? P2pAccess::on : P2pAccess::off;
  matrix.measure = has("Latency")         ? P2pMeasure::latency
                   : has("Bidirectional") ? P2pMeasure::bandwidth_both_directions
                                          : P2pMeasure::bandwidth_one_direction;
  return matrix;
}

class LogReader {
 public:
  explicit LogReader(const SourceText& source) : source_(source) {}

  Result<P2pLog> read() {
    for (const TextLine& line : split_lines(source_)) read_line(line);
    close();
    if (log_.matrices.empty() && errors_.empty()) {
      errors_.push_back({Severity::error,
                         {source_.file, 0, 0, ""},
                         "no bandwidth or latency matrix in the log",
                         "is this the output of p2pBandwidthLatencyTest?"});
    }
    if (!errors_.empty()) return std::move(errors_);
    return std::move(log_);
  }

 private:
  void read_line(const TextLine& line) {
    if (std::optional<P2pMatrix> title = title_of(line)) {
      close();
      open_ = std::move(title);
      open_->place = line.place(source_.file, 1);
      columns_ = 0;
      return;
    }
    const std::vector<TextCell> words = words_of(line);
    if (words.empty()) return;
    if (words[0].text == "Device:" && words.size() > 2) log_.devices.push_back(name_of_device(line.text));
    if (!open_) return;
    if (words[0].text == "D\\D" || words[0].text == "GPU") {
      columns_ = words.size() - 1;
    } else if (words[0].text == "CPU") {
      close();  // latencies as the CPUs measure them follow
    } else if (columns_ > 0) {
      read_row(line, words);
    }
  }

  /// "Device: 0, NVIDIA H200 NVL, pciBusID: 17, ..." -> "NVIDIA H200 NVL"
  static std::string name_of_device(const std::string& text) {
    const std::size_t first = text.find(", ");
    const std::size_t second = text.find(", ", first + 2);
    return first == std::string::npos ? "" : text.substr(first + 2, second - first - 2);
  }

  void read_row(const TextLine& line, const std::vector<TextCell>& words) {
    const std::optional<double> row = number(words[0].text);
    if (!row || *row != static_cast<double>(open_->values.size())) return close();  // the matrix is over
    if (words.size() != columns_ + 1) {
      error(line.place(source_.file, 1),
            fmt::format("row {} has {} cells, the matrix {} columns", words[0].text, words.size() - 1, columns_));
    }
    std::vector<double>& values = open_->values.emplace_back();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::optional<double> value = number(words[i].text);
      if (!value) error(line.place(source_.file, words[i].column), fmt::format("\"{}\" is no number", words[i].text));
      values.push_back(value.value_or(0.0));
    }
  }

  void close() {
    if (!open_) return;
    if (open_->values.size() != columns_ && errors_.empty()) {
      error(open_->place, fmt::format("the matrix has {} columns but {} rows", columns_, open_->values.size()));
    }
    if (columns_ > 0) log_.matrices.push_back(*std::move(open_));
    open_.reset();
  }

  void error(SourcePlace place, std::string message) {
    errors_.push_back({Severity::error, std::move(place), std::move(message), "is the log cut off?"});
  }

  const SourceText& source_;
  P2pLog log_;
  Diagnostics errors_;
  std::optional<P2pMatrix> open_;
  std::size_t columns_ = 0;
};

}  // namespace

Result<P2pLog> read_p2p_log(const SourceText& source) {
  return LogReader(source).read();
}

}  // namespace takt
