// Searches are shared by parts of servers that look the same, and a shared one finds what one of its own would.
#include "collective/nccl/search_view.hpp"

#include "cases.hpp"
#include "catch.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace takt;
using namespace takt::test;
using nccl::Reach;
using nccl::RoutedMachine;

namespace {

RoutedMachine part_of(const NcclSystem& system, const std::vector<std::size_t>& cards) {
  return nccl::route(restrict_to(system, cards), {});
}

/// The same server as another bus scan numbers it: switches and NICs the other way round, other names, other numbers.
NcclSystem renumbered(NcclSystem system) {
  const std::size_t switches = system.switches.size();
  const auto rename = [switches](PciSlot& slot) {
    if (slot.above == PciSlot::Above::pci_switch) slot.position = switches - 1 - slot.position;
  };
  std::reverse(system.switches.begin(), system.switches.end());
  for (NcclPciSwitch& each : system.switches) rename(each.slot);
  for (NcclGpu& gpu : system.gpus) rename(gpu.slot);
  for (NcclNic& nic : system.nics) {
    rename(nic.slot);
    for (NcclNet& net : nic.nets) {
      net.name += "_renamed";
      net.asic += 100;
    }
  }
  std::reverse(system.nics.begin(), system.nics.end());
  return system;
}

void check_shared(const RoutedMachine& machine, Reach reach) {
  const nccl::NodeGraphs own = nccl::find_graphs(machine, reach);
  for (int time = 0; time < 2; ++time) {  // found, then remembered
    const nccl::NodeGraphs shared = nccl::shared_graphs(machine, reach);
    CHECK(shared.ring == own.ring);
    CHECK(shared.tree == own.tree);
    CHECK(shared.nvls == own.nvls);
  }
}

}  // namespace

TEST_CASE("A shared search finds what a search of its own would: cards, pairs and whole servers (N22)", "[nccl]") {
  for (const char* name : {"hgx_h100_8", "dgx_a100_8", "h100pcie_8_sw4_emr", "rtx6000bw_8_sw4_spr"}) {
    for (const NcclSystem& system : {fixture_system(name), renumbered(fixture_system(name))}) {
      CAPTURE(name);
      const Reach reach = system.nics.empty() ? Reach::one_node : Reach::several_nodes;
      std::vector<std::size_t> all;
      for (std::size_t card = 0; card < system.gpus.size(); ++card) {
        CAPTURE(card);
        check_shared(part_of(system, {card}), reach);
        if (card % 4 == 0) check_shared(part_of(system, {card, card + 1}), reach);
        all.push_back(card);
      }
      check_shared(part_of(system, all), reach);
      check_shared(part_of(system, all), Reach::one_node);
    }
  }
}

TEST_CASE("One card looks like another with its own NIC, whatever they are called", "[nccl]") {
  const NcclSystem system = fixture_system("hgx_h100_8");
  std::set<nccl::SearchView> views;
  for (std::size_t card = 0; card < 8; ++card) {
    views.insert(nccl::view_of(part_of(system, {card}), Reach::several_nodes).view);
  }
  CHECK(views.size() == 1);
  const nccl::NamedView third = nccl::view_of(part_of(system, {3}), Reach::several_nodes);
  CHECK(third.port_of.front() == nccl::view_of(part_of(system, {0}), Reach::several_nodes).port_of.front() + 3);
}

TEST_CASE("What a search compares tells views apart", "[nccl]") {
  const NcclSystem system = fixture_system("hgx_h100_8");
  const auto view = [](const NcclSystem& s) { return nccl::view_of(part_of(s, {0}), Reach::several_nodes).view; };
  NcclSystem slower_port = system, slower_slot = system, older = system, far_port = system;
  slower_port.nics[0].nets[0].speed = slower_port.nics[0].nets[0].speed / 2;
  slower_slot.gpus[0].slot.speed = slower_slot.gpus[0].slot.speed / 2;
  older.gpus[0].compute_capability = 80;
  far_port.nics[0].slot = far_port.nics[1].slot;
  std::set<nccl::SearchView> views{view(system), view(slower_port), view(slower_slot), view(older), view(far_port)};
  CHECK(views.size() == 5);
  CHECK(nccl::view_of(part_of(system, {0}), Reach::one_node).view != view(system));
}
