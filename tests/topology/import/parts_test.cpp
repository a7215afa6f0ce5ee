// The small parts of the importers.
#include "catch.hpp"
#include "topology/import/cpu_family.hpp"
#include "topology/import/cpu_list.hpp"
#include "topology/import/link_catalog.hpp"
#include "topology/import/nvlink_plan.hpp"
#include "topology/import/pci_ids.hpp"

using namespace takt;

TEST_CASE("cores of a list of CPUs", "[import]") {
  CHECK(cores_of_list("0-63,128-191") == 64);  // two threads a core
  CHECK(cores_of_list("0-119") == 120);
  CHECK(cores_of_list("0,2,4,6") == 4);
  CHECK(cores_of_list("1-1,3-3") == 2);
  CHECK(cores_of_list("64-127,192-238") == 111);  // uneven: no threads of cores
  CHECK(cores_of_list("") == 0);
  CHECK(cores_of_list("N/A") == 0);
  CHECK(cores_of_list("5-2") == 0);
}

TEST_CASE("masks of CPUs become lists", "[import]") {
  CHECK(list_of_mask("ffffffff") == "0-31");
  CHECK(list_of_mask("000000ff,ffff0000,00ffffff") == "0-23,48-71");
  CHECK(list_of_mask("0x00000001,,0x00000002") == "1,64");
  CHECK_FALSE(list_of_mask("zebra").has_value());
}

TEST_CASE("CPU families by CPUID, also as NCCL prints AMD's", "[import]") {
  CHECK(cpu_family_id("GenuineIntel", 6, 143) == "intel-spr");
  CHECK(cpu_family_id("GenuineIntel", 6, 207) == "intel-emr");
  CHECK(cpu_family_id("AuthenticAMD", 25, 17) == "amd-genoa");
  CHECK(cpu_family_id("AuthenticAMD", 175, 17) == "amd-genoa");  // 0xf + 0xa0
  CHECK(cpu_family_id("AuthenticAMD", 175, 1) == "amd-milan");
  CHECK(cpu_family_id("AuthenticAMD", 143, 49) == "amd-rome");
  CHECK(cpu_family_id("AuthenticAMD", 191, 2) == "amd-turin");
  CHECK(cpu_family_id("GenuineIntel", 6, 1).empty());
  for (const std::string& id : cpu_family_ids()) CHECK(cpu_family(id).has_value());
}

TEST_CASE("PCI numbers", "[import]") {
  CHECK(card_of_pci_device(0x10de, 0x233b) == "h200-nvl");
  CHECK(card_of_pci_device(0x1002, 0x233b).empty());
  CHECK(pci_kind(0x030200, 0x10de) == PciKind::card);
  CHECK(pci_kind(0x030000, 0x1a03) == PciKind::other);  // the VGA of a management controller
  CHECK(pci_kind(0x020700, 0x15b3) == PciKind::nic);
  CHECK(pci_kind(0x068000, 0x10de) == PciKind::nvswitch);
  CHECK(pcie_generation_of(32.0) == 5);
  CHECK_FALSE(pcie_generation_of(12.0).has_value());
}

TEST_CASE("NVLinks become bridges, switches or single links", "[import]") {
  const auto mesh = [](std::int64_t cards, std::int64_t count) {
    std::vector<NvlinkDraft> links;
    for (std::int64_t a = 0; a < cards; ++a) {
      for (std::int64_t b = a + 1; b < cards; ++b) links.push_back({a, b, count});
    }
    return links;
  };
  const std::vector<std::string> four = {"gpu0", "gpu1", "gpu2", "gpu3"};
  // 3 peers x 6 = 18 links of the card: a bridge.
  const NvlinkPlan bridge = plan_nvlinks(mesh(4, 6), four, 18);
  CHECK(bridge.bridges == std::vector<std::vector<std::size_t>>{{0, 1, 2, 3}});
  CHECK(bridge.links.empty());
  // 3 x 18 = 54 > 18: a switch.
  CHECK(plan_nvlinks(mesh(4, 18), four, 18).switched.size() == 1);
  CHECK(plan_nvlinks(mesh(4, 18), four, std::nullopt).switched.size() == 1);
  // 3 x 4 = 12 < 18: links, with a remark.
  const NvlinkPlan odd = plan_nvlinks(mesh(4, 4), four, 18);
  CHECK(odd.links.size() == 6);
  CHECK(odd.warnings.size() == 1);
  // A pair with all links is a bridge of two, beside a card that has none.
  CHECK(plan_nvlinks({{0, 2, 12}}, {"gpu0", "gpu1", "gpu2"}, 12).bridges ==
        std::vector<std::vector<std::size_t>>{{0, 2}});
  // No full mesh: pair by pair.
  CHECK(plan_nvlinks({{0, 1, 2}, {1, 2, 2}}, {"gpu0", "gpu1", "gpu2"}, 6).links.size() == 2);
}
