// Cards and link types as the import tests use them. Figures: the data sheets that topologies/cards cite.
#pragma once

#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"
#include "topology/import/import.hpp"

#include <map>
#include <string>

namespace takt::test {

inline CardSpec import_card(const std::string& id, std::int64_t compute_capability, std::int64_t nvlinks,
                            double nvlink_gigabytes, std::int64_t nvlink_cards, std::int64_t pcie_generation) {
  CardSpec card;
  card.id = id;
  card.name = id;
  card.compute_capability = compute_capability;
  card.nvlink_links = nvlinks;
  card.nvlink_per_direction = Bandwidth(nvlink_gigabytes * 1e9);
  card.nvlink_max_cards = nvlink_cards;
  card.pcie_generation = pcie_generation;
  card.pcie_lanes = 16;
  return card;
}

inline std::map<std::string, CardSpec> import_cards() {
  std::map<std::string, CardSpec> cards;
  for (const CardSpec& card :
       {import_card("h200-nvl", 90, 18, 450, 4, 5), import_card("h200-sxm", 90, 18, 450, 8, 5),
        import_card("h100-sxm", 90, 18, 450, 8, 5), import_card("h100-nvl", 90, 12, 300, 2, 5),
        import_card("h100-pcie", 90, 12, 300, 2, 5), import_card("b200-sxm", 100, 18, 900, 8, 5),
        import_card("a100-sxm-80", 80, 12, 300, 8, 4), import_card("a100-pcie-80", 80, 12, 300, 2, 4),
        import_card("rtx-pro-6000-server", 120, 0, 0, 0, 5), import_card("l40s", 89, 0, 0, 0, 4),
        import_card("rtx-4090", 89, 0, 0, 0, 4), import_card("rtx-3090", 86, 4, 56.25, 2, 4),
        import_card("rtx-a6000", 86, 4, 56.25, 2, 4)}) {
    cards.emplace(card.id, card);
  }
  return cards;
}

inline LinkType import_link(const std::string& id, LinkKind kind, std::int64_t generation, std::int64_t lanes,
                            double gigabytes) {
  LinkType type;
  type.id = id;
  type.kind = kind;
  type.generation = generation;
  type.lanes = lanes;
  type.nominal = Bandwidth(gigabytes * 1e9);
  type.effective = type.nominal * 0.9;
  type.source = "test";
  return type;
}

inline std::map<std::string, LinkType> import_link_types() {
  std::map<std::string, LinkType> types;
  for (const LinkType& type :
       {import_link("pcie1-x16", LinkKind::pcie, 1, 16, 4), import_link("pcie3-x16", LinkKind::pcie, 3, 16, 16),
        import_link("pcie4-x16", LinkKind::pcie, 4, 16, 32), import_link("pcie5-x16", LinkKind::pcie, 5, 16, 64),
        import_link("pcie6-x16", LinkKind::pcie, 6, 16, 128), import_link("nvlink2", LinkKind::nvlink, 2, 1, 25),
        import_link("nvlink3", LinkKind::nvlink, 3, 1, 25), import_link("nvlink4", LinkKind::nvlink, 4, 1, 25),
        import_link("nvlink5", LinkKind::nvlink, 5, 1, 50), import_link("upi-skl", LinkKind::socket, 0, 0, 20),
        import_link("upi-icx", LinkKind::socket, 0, 0, 25), import_link("upi-spr", LinkKind::socket, 0, 0, 40),
        import_link("upi-emr", LinkKind::socket, 0, 0, 50), import_link("xgmi-rome", LinkKind::socket, 0, 0, 30),
        import_link("xgmi-milan", LinkKind::socket, 0, 0, 30), import_link("xgmi-genoa", LinkKind::socket, 0, 0, 39),
        import_link("xgmi-turin", LinkKind::socket, 0, 0, 51), import_link("c2c-grace", LinkKind::socket, 0, 0, 100)}) {
    types.emplace(type.id, type);
  }
  return types;
}

inline ImportOptions import_options(const std::string& card = "", const std::string& cpu = "") {
  return {card, cpu, import_cards(), import_link_types()};
}

}  // namespace takt::test
