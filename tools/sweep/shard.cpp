#include "sweep/shard.hpp"

#include "options.hpp"

#include <charconv>

namespace takt {
namespace {

bool read_number(const std::string& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Result<Shard> parse_shard(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  Shard shard;
  const bool numbers = slash < text.size() && read_number(text.substr(0, slash), shard.part) &&
                       read_number(text.substr(slash + 1), shard.parts);
  if (!numbers || shard.part < 1 || shard.part > shard.parts) {
    return usage_error("--shard cannot be '" + text + "'", "write I/N with 1 <= I <= N, e.g. 3/8");
  }
  return shard;
}

}  // namespace takt
