// N22 as a property: on servers the expectations do not know, channels never take more of a link than it has, and a
// ring passes each card once.
#include "catch.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cases.hpp"

using namespace takt;
using namespace takt::test;

namespace {

struct Mutation {
  std::string name, fixture;
  std::function<void(NcclSystem&)> change;
};

void halve_slot(PciSlot& slot) { slot.speed = slot.speed / 2; }

void remove_bridge(NcclSystem& system, std::size_t a, std::size_t b) {
  const auto drop = [](NcclGpu& gpu, std::size_t target) {
    std::erase_if(gpu.nvlinks, [&](const NcclNvlink& link) { return link.end == decltype(link.end)(GpuEnd{target}); });
  };
  drop(system.gpus[a], b);
  drop(system.gpus[b], a);
}

void drop_card(NcclSystem& system, std::size_t card) {
  std::vector<std::size_t> kept(system.gpus.size());
  std::iota(kept.begin(), kept.end(), 0);
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(card));
  system = restrict_to(system, kept);
}

std::vector<Mutation> mutations() {
  return {
      {"a bridge of a quad removed", "h200nvl_8_quads_sw4_spr", [](NcclSystem& s) { remove_bridge(s, 0, 1); }},
      {"both bridges of a card removed", "h200nvl_4_quad_direct_spr1s",
       [](NcclSystem& s) { remove_bridge(s, 0, 1), remove_bridge(s, 0, 2); }},
      {"a pair without its bridge", "h100nvl_8_pairs_sw4_spr", [](NcclSystem& s) { remove_bridge(s, 2, 3); }},
      {"a switch a generation slower", "h100pcie_8_sw4_emr", [](NcclSystem& s) { halve_slot(s.switches[1].slot); }},
      {"a card a generation slower", "rtx6000bw_8_sw4_spr", [](NcclSystem& s) { halve_slot(s.gpus[5].slot); }},
      {"all cards a generation slower", "l40s_8_direct_amd",
       [](NcclSystem& s) { for (NcclGpu& gpu : s.gpus) halve_slot(gpu.slot); }},
      {"half the NVLinks of a card", "hgx_h100_8", [](NcclSystem& s) { s.gpus[3].nvlinks[0].count = 9; }},
      {"seven of eight cards on NVSwitches", "hgx_h100_8", [](NcclSystem& s) { drop_card(s, 4); }},
      {"three of four bridged cards", "h200nvl_4_quad_direct_spr1s", [](NcclSystem& s) { drop_card(s, 2); }},
      {"five of eight cards on PCIe", "h100pcie_8_direct_emr",
       [](NcclSystem& s) { drop_card(s, 7), drop_card(s, 3), drop_card(s, 0); }},
      {"cards before sm80", "a6000_4_pairs_direct_amd1s",
       [](NcclSystem& s) { for (NcclGpu& gpu : s.gpus) gpu.compute_capability = 75; }},
      {"a slow NIC", "dgx_a100_8", [](NcclSystem& s) { s.nics[0].nets[0].speed = NcclSpeed(12500); }},
  };
}

/// What is left of every link when all channels have taken their share.
class LinkBudget {
 public:
  explicit LinkBudget(const nccl::RoutedMachine& machine) : machine_(machine) {
    for (const nccl::Link& link : machine.graph.links) left_.push_back(link.speed.count());
  }

  void take(nccl::VertexIndex from, nccl::VertexIndex to, NcclSpeed speed) {
    const nccl::Path& path = machine_.paths(from, to);
    REQUIRE(path.type < NcclPathType::net);
    for (const nccl::LinkIndex link : path.links) {
      const bool taxed = path.tax == nccl::HostBridgeTax::intel && machine_.graph.at(link).kind == nccl::LinkKind::pci;
      left_[index(link)] -= taxed ? speed.count() * 6 / 5 : speed.count();
    }
  }

  std::int64_t least_left() const { return *std::min_element(left_.begin(), left_.end()); }

 private:
  const nccl::RoutedMachine& machine_;
  std::vector<std::int64_t> left_;
};

void check_graph(const nccl::RoutedMachine& machine, const nccl::ChannelGraph& graph, bool ring) {
  LinkBudget budget(machine);
  for (std::int64_t c = 0; c < graph.channels; ++c) {
    std::vector<std::uint16_t> order(graph.channel(c).begin(), graph.channel(c).end());
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      budget.take(machine.graph.gpus[order[i]], machine.graph.gpus[order[i + 1]], graph.speed_intra);
    }
    if (graph.nets.empty() && ring) {
      budget.take(machine.graph.gpus[order.back()], machine.graph.gpus[order.front()], graph.speed_intra);
    }
    if (!graph.nets.empty() && ring) {
      const auto port = [&](std::size_t i) {
        return machine.graph.nets[graph.nets[static_cast<std::size_t>(c) * 2 + i]];
      };
      budget.take(port(0), machine.graph.gpus[order.front()], graph.speed_inter);
      budget.take(machine.graph.gpus[order.back()], port(1), graph.speed_inter);
    }
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);  // each card once
  }
  CHECK(budget.least_left() >= 0);
}

}  // namespace

TEST_CASE("Channels of changed servers fit their links and pass each card once", "[nccl]") {
  for (const Mutation& mutation : mutations()) {
    NcclSystem system = fixture_system(mutation.fixture);
    mutation.change(system);
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}}) {
      if (count == 2 && system.nics.empty()) continue;
      CAPTURE(mutation.name, mutation.fixture, count);
      const Result<NcclPlan> plan = plan_nccl(servers_of(system, count), {});
      REQUIRE(plan.has_value());
      for (const nccl::NodeKind& kind : plan->communicator.kinds) {
        REQUIRE(kind.ring.channels >= 1);
        REQUIRE(kind.tree.channels >= 1);
        check_graph(kind.machine, kind.ring, true);
        check_graph(kind.machine, kind.tree, false);
      }
      // A ring over all ranks passes each of them once, too.
      for (std::vector<std::int64_t> ring : plan->communicator.rings) {
        std::sort(ring.begin(), ring.end());
        REQUIRE(static_cast<std::int64_t>(ring.size()) == plan->communicator.ranks);
        for (std::size_t i = 0; i < ring.size(); ++i) CHECK(ring[i] == static_cast<std::int64_t>(i));
      }
    }
  }
}
