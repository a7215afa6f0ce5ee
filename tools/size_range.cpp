#include "size_range.hpp"

#include "options.hpp"

#include <charconv>

namespace takt {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::optional<std::int64_t> size_of(std::string text) {
  std::int64_t unit = 1;
  constexpr std::int64_t kibi = 1024, most = std::int64_t{1} << 50;
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) text.pop_back();
  const std::size_t position = text.empty() ? std::string::npos : std::string("KMG").find(text.back());
  if (position != std::string::npos) {
    for (std::size_t power = 0; power <= position; ++power) unit *= kibi;
    text.pop_back();
  }
  const std::optional<std::int64_t> number = whole_number(text);
  if (!number || *number < 1 || *number > most / unit) return std::nullopt;
  return *number * unit;
}

Diagnostic refusal(const std::string& text) {
  return usage_error("--sizes cannot be '" + text + "'", "for example 1K:1G:x2, 1M:8M:+1M or 1K,64K,1M");
}

}  // namespace

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty() && text.front() != '-';
  return whole ? std::optional(value) : std::nullopt;
}

Result<std::vector<std::int64_t>> read_size_range(const std::string& text) {
  constexpr std::size_t most_sizes = 1000;
  std::vector<std::int64_t> sizes;
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 1) {
    for (const std::string& part : split(text, ',')) {
      const std::optional<std::int64_t> size = size_of(part);
      if (!size) return refusal(text);
      sizes.push_back(*size);
    }
    return sizes;
  }
  const std::string step = parts.size() == 3 ? parts[2] : "x2";
  const std::optional<std::int64_t> first = size_of(parts[0]), last = size_of(parts[1]);
  const std::int64_t by = step.empty() ? 0 : size_of(step.substr(1)).value_or(0);
  const bool multiplies = step.starts_with('x') && by > 1;
  if (parts.size() > 3 || !first || !last || *last < *first || !(multiplies || (step.starts_with('+') && by > 0))) {
    return refusal(text);
  }
  for (std::int64_t size = *first; size <= *last; size = multiplies ? size * by : size + by) {
    sizes.push_back(size);
    if (sizes.size() > most_sizes) return refusal(text);
  }
  return sizes;
}

}  // namespace takt
