#include "collective/nccl/settings.hpp"

#include <charconv>

namespace takt {
namespace {

constexpr std::array<std::string_view, nccl_algorithms> algorithm_names{
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, nccl_protocols> protocol_names{"LL", "LL128", "Simple"};

/// Takes a whole number off the front of `text`; empty if there is none.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string_view to_text(NcclAlgorithm algorithm) { return algorithm_names[static_cast<std::size_t>(algorithm)]; }
std::string_view to_text(NcclProtocol protocol) { return protocol_names[static_cast<std::size_t>(protocol)]; }

std::optional<NcclVersion> nccl_version_from_text(std::string_view text) {
  const auto major = take_number(text);
  if (!major || *major != 2 || text.empty() || text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  const auto minor = take_number(text);
  if (!minor || (!text.empty() && text.front() != '.' && text.front() != '-') || *minor < 21) return std::nullopt;
  if (*minor < 26) return NcclVersion::v2_21;
  if (*minor < 27) return NcclVersion::v2_26;
  return *minor < 28 ? NcclVersion::v2_27 : NcclVersion::v2_30;
}

}  // namespace takt
