// CSV and JSON lines: a row is a line, so a file that ends in the middle of a line lacks only that row.
#include "sweep/sweep_output.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace takt {
namespace {

Diagnostic about(const std::string& path, std::string message, std::string hint = "") {
  return {Severity::error, {path, 0, 0, {}}, std::move(message), std::move(hint)};
}

/// Cuts `text` behind `mark`, which must come next after a number.
template <class Number>
std::optional<Number> number_before(std::string_view& text, std::string_view mark, int base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(mark.size());
  return number;
}

/// What stands around point, points and hash at the beginning of a line.
struct Frame {
  std::string_view before, between, before_hash, after_hash, no_hash;
};

constexpr Frame csv_frame = {"", ",", "", ",", ","};
constexpr Frame json_frame = {"{\"point\":", ",\"points\":", "\"", "\",", "null,"};

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class LineOutput final : public SweepOutput {
 public:
  LineOutput(std::string path, std::vector<SweepColumn> columns, LineFormat format)
      : path_(std::move(path)), columns_(std::move(columns)), format_(format) {}
  ~LineOutput() override { flush(); }

  /// Reads what is there, cuts off what is not whole, and opens the file for more.
  std::optional<Diagnostic> open() {
    std::uintmax_t whole = 0;
    if (std::filesystem::exists(path_)) {
      if (std::optional<Diagnostic> error = read(whole)) return error;
      std::error_code error;
      std::filesystem::resize_file(path_, whole, error);
      if (error) return about(path_, "cannot be continued: " + error.message());
    }
    file_.reset(std::fopen(path_.c_str(), "ab"));
    if (!file_) return about(path_, "cannot write the file: " + std::system_category().message(errno));
    if (whole > 0 || format_ != LineFormat::csv) return std::nullopt;
    pending_ = csv_header(columns_);
    return flush();
  }

  const std::vector<RowKey>& present() const override { return present_; }

  void format(SweepRow& row) const override {
    row.line = format_ == LineFormat::csv ? csv_line(row.cells) : json_line(columns_, row.cells);
  }

  std::optional<Diagnostic> append(const SweepRow& row) override {
    pending_ += row.line;
    constexpr std::size_t large = 1U << 20U;
    return pending_.size() >= large || clock_.due() ? flush() : std::nullopt;
  }

  std::optional<Diagnostic> flush() override {
    clock_.restart();
    if (pending_.empty() || !file_) return std::nullopt;
    const std::size_t written = std::fwrite(pending_.data(), 1, pending_.size(), file_.get());
    const bool whole = written == pending_.size() && std::fflush(file_.get()) == 0;
    if (!whole) return about(path_, "cannot write the file: " + std::system_category().message(errno));
    ::fdatasync(::fileno(file_.get()));
    pending_.clear();
    return std::nullopt;
  }

 private:
  /// Collects the keys of all whole rows; `whole` becomes the number of bytes up to the end of the last one.
  std::optional<Diagnostic> read(std::uintmax_t& whole) {
    std::ifstream stream(path_, std::ios::binary);
    if (!stream) return about(path_, "cannot be read: " + std::system_category().message(errno));
    bool heading = format_ == LineFormat::csv;
    for (std::string line; std::getline(stream, line) && !stream.eof();) {
      line += '\n';
      if (heading && line != csv_header(columns_)) {
        return about(path_, "holds rows of another sweep: its columns are others", "name another file");
      }
      if (!heading) {
        const std::optional<RowKey> key = row_key(line, format_);
        if (!key || !has_columns(line)) {
          return about(path_, "holds something else than rows of this sweep: " + line.substr(0, line.size() - 1),
                       "name another file");
        }
        present_.push_back(*key);
      }
      heading = false;
      whole += line.size();
    }
    return std::nullopt;
  }

  /// Whether a line of JSON has our columns; looked at only where another sweep's would show, in the first.
  bool has_columns(const std::string& line) const {
    if (format_ != LineFormat::json || !present_.empty()) return true;
    const Result<Json> row = parse_json({path_, line});
    const auto* members = row ? std::get_if<Json::Object>(&row->value) : nullptr;
    if (members == nullptr || members->size() != columns_.size()) return false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if ((*members)[i].key != columns_[i].name) return false;
    }
    return true;
  }

  std::string path_;
  std::vector<SweepColumn> columns_;
  LineFormat format_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::vector<RowKey> present_;
  std::string pending_;
  BatchClock clock_;
};

}  // namespace

std::optional<RowKey> row_key(const std::string& line, LineFormat format) {
  const Frame& frame = format == LineFormat::csv ? csv_frame : json_frame;
  std::string_view text = line;
  if (!text.starts_with(frame.before)) return std::nullopt;
  text.remove_prefix(frame.before.size());
  const auto point = number_before<std::uint64_t>(text, frame.between, 10);
  if (!point) return std::nullopt;
  const std::string_view hash_key = format == LineFormat::csv ? "," : ",\"hash\":";
  if (!number_before<std::uint64_t>(text, hash_key, 10)) return std::nullopt;
  if (text.starts_with(frame.no_hash)) return RowKey{*point, std::nullopt};
  if (!text.starts_with(frame.before_hash)) return std::nullopt;
  text.remove_prefix(frame.before_hash.size());
  const auto hash = number_before<std::uint64_t>(text, frame.after_hash, 16);
  if (!hash) return std::nullopt;
  return RowKey{*point, *hash};
}

Result<std::unique_ptr<SweepOutput>> open_line_output(const std::string& path, std::vector<SweepColumn> columns,
                                                      LineFormat format, Opening) {
  auto output = std::make_unique<LineOutput>(path, std::move(columns), format);
  if (const std::optional<Diagnostic> error = output->open()) return *error;
  return std::unique_ptr<SweepOutput>(std::move(output));
}

}  // namespace takt
