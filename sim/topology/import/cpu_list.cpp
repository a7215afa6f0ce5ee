#include "topology/import/cpu_list.hpp"

#include <charconv>
#include <vector>

namespace takt {
namespace {

std::optional<std::uint32_t> number(std::string_view text, int base) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

std::int64_t cores_of_list(std::string_view list) {
  std::vector<std::int64_t> lengths;
  for (const std::string_view range : split(list, ',')) {
    const std::size_t dash = range.find('-');
    constexpr int decimal = 10;
    const auto first = number(range.substr(0, dash), decimal);
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1), decimal);
    if (!first || !last || *last < *first) return 0;
    lengths.push_back(static_cast<std::int64_t>(*last) - *first + 1);
  }
  if (lengths.size() == 2 && lengths[0] == lengths[1] && lengths[0] > 1) return lengths[0];
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) total += length;
  return total;
}

std::optional<std::string> list_of_mask(std::string_view mask) {
  constexpr std::uint32_t word_bits = 32;
  std::vector<std::uint32_t> words;
  for (std::string_view word : split(mask, ',')) {
    if (word.substr(0, 2) == "0x") word.remove_prefix(2);
    constexpr int hexadecimal = 16;
    // hwloc leaves words of zeros empty ("0xff,,0x1").
    const std::optional<std::uint32_t> value = word.empty() && mask.size() > 1 ? 0 : number(word, hexadecimal);
    if (!value) return std::nullopt;
    words.insert(words.begin(), *value);
  }
  const auto bit = [&](std::size_t i) { return ((words[i / word_bits] >> (i % word_bits)) & 1U) != 0; };
  const std::size_t bits = words.size() * word_bits;
  std::string list;
  for (std::size_t i = 0; i < bits; ++i) {
    if (!bit(i)) continue;
    const std::size_t first = i;
    while (i + 1 < bits && bit(i + 1)) ++i;
    if (!list.empty()) list += ',';
    list += std::to_string(first);
    if (i > first) list += '-' + std::to_string(i);
  }
  return list;
}

}  // namespace takt
