// topologies/links.toml: one table a kind of link, named by its id.
#include "config/link_keys.hpp"

#include "config/toml_text.hpp"

#include <fmt/format.h>

namespace takt {

const Choice<LinkKind>& link_kinds() {
  static const Choice<LinkKind> kinds{{{"nvlink", LinkKind::nvlink},
                                       {"nvswitch", LinkKind::nvswitch},
                                       {"pcie", LinkKind::pcie},
                                       {"socket", LinkKind::socket},
                                       {"memory", LinkKind::memory},
                                       {"network", LinkKind::network},
                                       {"fabric", LinkKind::fabric}}};
  return kinds;
}

Amount<Bandwidth> link_bandwidth() {
  return {Bandwidth(1), Bandwidth(1e15)};
}
Amount<Duration> link_latency() {
  return {Duration(0), std::chrono::seconds(1)};
}

const Choice<std::string>& path_levels() {
  static const Choice<std::string> levels{
      {{"LOC", "LOC"}, {"NVL", "NVL"}, {"PIX", "PIX"}, {"PXB", "PXB"}, {"PHB", "PHB"}, {"SYS", "SYS"}}};
  return levels;
}

namespace {

const KeyTable<LinkType>& link_keys() {
  constexpr KeyMaker<LinkType> key;
  static const KeyTable<LinkType> table({
      key.required("kind", at(&LinkType::kind), link_kinds(), "what the link joins and how routes count it"),
      key.optional("generation", at(&LinkType::generation), Integer{0, 10}, "PCIe or NVLink generation"),
      key.optional("lanes", at(&LinkType::lanes), Integer{0, 1024}, "PCIe lanes or NVLinks"),
      key.required("nominal", at(&LinkType::nominal), link_bandwidth(), "per direction, what sizing guides count with"),
      key.required("effective", at(&LinkType::effective), link_bandwidth(),
                   "per direction, what copies and posted writes reach"),
      key.optional("both_directions", at(&LinkType::both_directions), Optional<Amount<Bandwidth>>{link_bandwidth(), ""},
                   "measured cap of the sum of both directions"),
      key.optional("latency", at(&LinkType::latency), link_latency(), "one way"),
      key.required("source", at(&LinkType::source), Text{}, "where the figures come from"),
      key.optional("confidence", at(&LinkType::confidence), Text{}, "how sure they are: high, medium, low"),
  });
  return table;
}

}  // namespace

Result<std::map<std::string, LinkType>> read_link_types(const SourceText& source, const NodeChanges& changes) {
  const Result<Document> document = parse_changed(source, changes);
  if (!document) return document.diagnostics();
  std::map<std::string, LinkType> types;
  Reading reading;
  for (const Member& member : std::get<Node::Table>(document->root.value)) {
    if (!member.value.as<Node::Table>()) {
      reading.error(member.key_place, fmt::format("{} must be a table that describes a kind of link", member.key),
                    fmt::format("write [{}]", member.key));
      continue;
    }
    LinkType& type = types[member.key];
    type.id = member.key;
    type.place = member.value.place;
    link_keys().read(member.value, member.key, type, reading);
    const std::string effective = member.key + ".effective";
    if (reading.is_set(effective) && reading.is_set(member.key + ".nominal") && type.effective > type.nominal) {
      reading.warning(reading.places[effective],
                      fmt::format("{} reaches {}, more than its nominal {}", member.key, quantity_text(type.effective),
                                  quantity_text(type.nominal)),
                      "is one of the two the sum of both directions?");
    }
  }
  return finish(std::move(types), std::move(reading));
}

std::vector<KeyDescription> link_key_reference() {
  return link_keys().describe("LINK");
}

}  // namespace takt
