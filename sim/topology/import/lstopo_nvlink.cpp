// hwloc writes a table of distances as
//
//     <distances2 type="OSDev" nbobjs="2" kind="9" name="NVLinkBandwidth" indexing="gp">
//       <indexes length="6">17 20 </indexes>
//       <u64values length="30">1000000 150000 150000 1000000 </u64values>
//     </distances2>
//
// and as <distances2hetero ...> with "OSDev:17 PCIDev:33" where objects are of several types (cards and NVSwitches).
// Long lists go on in further elements of the same name. Values are MB/s from row to column over all links of the pair,
// 0 without one; the diagonal has no meaning.
#include "topology/import/lstopo_nvlink.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

namespace takt {
namespace {

constexpr double link_megabytes = 25'000.0;  // hwloc's figure for one link of NVLink 2, 3 and 4
constexpr std::int64_t most_links = 99;

bool is_nvlink_table(const XmlElement& element) {
  const bool is_table = element.name == "distances2" || element.name == "distances2hetero";
  return is_table && element.attribute("name") == "NVLinkBandwidth";
}

/// The words of all children of this name.
std::vector<std::string> words_of(const XmlElement& table, std::string_view name) {
  std::vector<std::string> words;
  for (const XmlElement& child : table.children) {
    if (child.name != name) continue;
    std::istringstream text(child.text);
    for (std::string word; text >> word;) words.push_back(word.substr(word.rfind(':') + 1));
  }
  return words;
}

std::optional<double> megabytes(const std::string& word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace

Result<std::optional<std::vector<NvlinkDraft>>> nvlinks_of_distances(const XmlElement& topology,
                                                                     const SourceText& source,
                                                                     const NvlinkObjects& objects) {
  std::optional<std::vector<NvlinkDraft>> nvlinks;
  for (const XmlElement& table : topology.children) {
    if (!is_nvlink_table(table)) continue;
    const std::vector<std::string> indexes = words_of(table, "indexes");
    const std::vector<std::string> values = words_of(table, "u64values");
    if (values.size() != indexes.size() * indexes.size()) {
      return Diagnostic{Severity::error, place_of(table, source),
                        fmt::format("{} bandwidths between {} objects", values.size(), indexes.size()),
                        "is the file complete?"};
    }
    if (!nvlinks) nvlinks.emplace();
    for (std::size_t row = 0; row < indexes.size(); ++row) {
      for (std::size_t column = 0; column < indexes.size(); ++column) {
        const auto from = objects.find(indexes[row]);
        const auto to = objects.find(indexes[column]);
        if (row == column || from == objects.end() || to == objects.end() || from->second == nvswitch_peer) continue;
        const bool once = to->second == nvswitch_peer || from->second < to->second;
        const std::optional<double> rate = megabytes(values[row * indexes.size() + column]);
        const std::int64_t count = rate ? std::llround(*rate / link_megabytes) : most_links + 1;
        if (count > most_links) {
          return Diagnostic{
              Severity::error, place_of(table, source),
              fmt::format("\"{}\" MB/s is no bandwidth of NVLinks", values[row * indexes.size() + column]), ""};
        }
        if (once && count > 0) nvlinks->push_back({from->second, to->second, count});
      }
    }
  }
  return nvlinks;
}

}  // namespace takt
