// What NCCL chooses, played: alone a lowered collective takes what the runtime model says, and links carry the right
// bytes.
#include "../engine/plans.hpp"
#include "../support/hardware.hpp"
#include "catch.hpp"
#include "collective/lowering.hpp"
#include "engine/simulate.hpp"
#include "named_machine.hpp"

using namespace takt;
using namespace takt::test;

namespace {

constexpr auto kinds = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce};

const std::vector<const char*> machines{"2x-h200-nvl-2-way-bridge",
                                        "4x-h200-nvl-4-way-bridge",
                                        "8x-h200-nvl-two-4-way-bridges",
                                        "8x-h200-nvl-four-2-way-bridges",
                                        "8x-h200-nvl-dell-xe7745",
                                        "8x-h200-sxm-hgx",
                                        "8x-b200-sxm-hgx",
                                        "8x-a100-sxm-80-dgx",
                                        "2x-rtx-pro-6000-server",
                                        "8x-rtx-pro-6000-server-4-switches",
                                        "8x-rtx-pro-6000-server-dual-turin",
                                        "8x-rtx-pro-6000-server-mgx-cx8",
                                        "8x-l40s-dual-spr",
                                        "4x-rtx-4090",
                                        "2x-8x-h200-sxm-hgx-400g",
                                        "4x-8x-b200-sxm-hgx-400g",
                                        "2x-8x-rtx-pro-6000-400g",
                                        "4x-8x-h200-nvl-200g"};

std::vector<VertexId> all_cards(const Topology& topology) {
  return vertices(topology, topology.cards().size());
}

double simulated_us(const LoweredCollective& call, const Topology& topology) {
  Plan plan;
  ResourceTable resources = topology.resources();
  std::vector<std::size_t> members;
  for (int r = 0; r < 2; ++r) {
    Script script;
    script.call(script.stream("comm"), script.comm({CollectiveCall{}}), 0);
    members.push_back(add_rank(plan, resources, script, 1e12));
  }
  add_communicator(plan, members, {call});
  return to_seconds(simulate(plan, resources)->end) * 1e6;
}

PricedCollective priced(const CollectiveCall& call, const Topology& topology, CollectiveOptions options = {}) {
  return CollectiveLowering(topology, options).price(call, all_cards(topology)).value();
}

/// Bytes that leave the devices of `kind` over links of `link_kind`, all activities together.
double bytes_over(const LoweredCollective& call, const Topology& topology, LinkKind link_kind, DeviceKind from) {
  double bytes = 0.0;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(id_at<LinkId>(i));
    if (link.kind != link_kind || topology.device(topology.link_source(link.id)).kind != from) continue;
    for (const Activity& activity : call.activities) {
      for (const Demand& demand : activity.demands) {
        if (demand.resource == link.resource) bytes += activity.work * activity.payload * demand.per_unit;
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("alone a collective takes the runtime model's time", "[collective]") {
  // fixed + work / min(cap, capacity / load), over machines, collectives and sizes; the simulation shares by max-min.
  for (const char* machine : machines) {
    const Topology topology = test::named_machine(machine);
    CollectiveLowering lowering(topology, {});
    for (const CollectiveKind kind : kinds) {
      for (const std::int64_t bytes : {1LL << 12, 1LL << 18, 1LL << 22, 1LL << 26, 1LL << 30}) {
        CAPTURE(machine, static_cast<int>(kind), bytes);
        const auto one = lowering.price({kind, Bytes(bytes)}, all_cards(topology)).value();
        CHECK(simulated_us(one.lowered, topology) == Approx(one.account.time_us).epsilon(0.01));
      }
    }
  }
}

TEST_CASE("a ring carries (n - 1) / n of the message over each card's link, a tree 2 (n - 1) / n in all",
          "[collective]") {
  const double message = 1 << 30;
  SECTION("N60: eight cards on PCIe, each sends 7/8 up its slot; staged hops cross twice, so reads come down twice") {
    const Topology topology = test::named_machine("8x-rtx-pro-6000-server-4-switches");
    const auto call = priced({CollectiveKind::all_gather, Bytes(1 << 30)}, topology).lowered;
    CHECK(bytes_over(call, topology, LinkKind::pcie, DeviceKind::card) == Approx(8 * message * 7 / 8));
  }
  SECTION("N61: a tree over eight cards sends the buffer over seven edges up and seven down") {
    const Topology topology = test::named_machine("8x-h200-nvl-two-4-way-bridges");
    CollectiveOptions options;
    options.settings.algorithm = CollectiveAlgorithm::tree;
    const auto call = priced({CollectiveKind::all_reduce, Bytes(1 << 30)}, topology, options);
    CHECK(call.account.algorithm == "Tree");
    const double nvlink = bytes_over(call.lowered, topology, LinkKind::nvlink, DeviceKind::card);
    const double pcie = bytes_over(call.lowered, topology, LinkKind::pcie, DeviceKind::card);
    CHECK(nvlink + pcie == Approx(14 * message));
    CHECK(pcie == Approx(2 * message));  // one edge joins the quads: once up, once down
  }
  SECTION("NVLS all-reduce: each card sends the buffer and its eighth") {
    const Topology topology = test::named_machine("8x-h200-sxm-hgx");
    const auto call = priced({CollectiveKind::all_reduce, Bytes(1 << 30)}, topology);
    CHECK(call.account.algorithm == "NVLS");
    CHECK(bytes_over(call.lowered, topology, LinkKind::nvswitch, DeviceKind::card) == Approx(8 * message * 1.125));
  }
}

TEST_CASE("N12: a staged hop writes and reads host memory, and crosses PCIe twice", "[collective]") {
  const Topology topology = test::named_machine("8x-l40s-dual-spr");
  const auto call = priced({CollectiveKind::all_gather, Bytes(1 << 30)}, topology).lowered;
  const double sent = bytes_over(call, topology, LinkKind::pcie, DeviceKind::card);
  CHECK(bytes_over(call, topology, LinkKind::memory, DeviceKind::host_memory) == Approx(sent));
  CHECK(bytes_over(call, topology, LinkKind::memory, DeviceKind::socket) == Approx(sent));
  CHECK(bytes_over(call, topology, LinkKind::pcie, DeviceKind::socket) == Approx(sent));
}

TEST_CASE("N24: on two AMD sockets Blackwell cards get NCCL's 0.1 GB/s plan, of which only the 2 CTAs count",
          "[collective]") {
  const Topology topology = test::named_machine("8x-rtx-pro-6000-server-dual-turin");
  const auto call = priced({CollectiveKind::all_reduce, Bytes(32 << 20)}, topology);
  CHECK(call.account.ctas == 2);
  CHECK(*call.account.planned_us > 100'000);  // NCCL believes in 587 ms; measured 2.65 ms
  CHECK(call.account.time_us == Approx(2650).epsilon(0.15));
}

TEST_CASE("N48: FSDP2's average leaves NVLS out, DDP's sum does not", "[collective]") {
  const Topology topology = test::named_machine("8x-h200-sxm-hgx");
  const auto sum = priced({CollectiveKind::all_reduce, Bytes(256 << 20)}, topology);
  const auto average = priced({CollectiveKind::all_reduce, Bytes(256 << 20), Reduction::average}, topology);
  CHECK(sum.account.algorithm == "NVLS");
  CHECK(average.account.algorithm == "Ring");
  CHECK(sum.account.time_us < 0.8 * average.account.time_us);
}

TEST_CASE("the hierarchical form leaves the bridges to do most of the work", "[collective]") {
  // Two quads: NCCL's ring crosses the sockets with every byte of the message twice (7/8 S each way); by islands only
  // what the other quad lacks crosses: S / 2 from each quad.
  const Topology topology = test::named_machine("8x-h200-nvl-two-4-way-bridges");
  CollectiveOptions options;
  const CollectiveCall call{CollectiveKind::all_gather, Bytes(1 << 30)};
  const auto ring = priced(call, topology, options);
  options.settings.algorithm = CollectiveAlgorithm::hierarchical;
  const auto islands = priced(call, topology, options);
  CHECK(islands.account.time_us < ring.account.time_us);
  const double message = 1 << 30;
  CHECK(bytes_over(islands.lowered, topology, LinkKind::pcie, DeviceKind::card) == Approx(message));
  CHECK(simulated_us(islands.lowered, topology) == Approx(islands.account.time_us).epsilon(0.05));
  const double nvlink = bytes_over(islands.lowered, topology, LinkKind::nvlink, DeviceKind::card);
  CHECK(nvlink == Approx(8 * message * 3 / 4));
}

TEST_CASE("under contention a collective stretches as its links are shared", "[collective]") {
  // Two equal all-gathers of different communicators over the same links, alone limited by them: twice the time.
  const Topology topology = test::named_machine("4x-h200-nvl-4-way-bridge");
  LoweredCollective call = priced({CollectiveKind::all_gather, Bytes(1 << 30)}, topology).lowered;
  const double alone = simulated_us(call, topology);
  const std::vector<Activity> once = call.activities;
  for (Activity& activity : call.activities) activity.cap *= 2;
  call.activities.insert(call.activities.end(), once.begin(), once.end());
  const double both = simulated_us(call, topology);
  CHECK(both > 1.5 * alone);
}

TEST_CASE("message by message trees and switches take about as long as the fluid form", "[collective]") {
  // The fluid form pays for filling a tree's pipeline at its start; chunks fill and drain it.
  struct Case {
    const char* machine;
    CollectiveAlgorithm algorithm;
    std::int64_t mebibytes;
    double tolerance;
  };
  for (const Case& one : {Case{"8x-h200-sxm-hgx", CollectiveAlgorithm::nvls, 256, 0.01},
                          Case{"2x-8x-h200-sxm-hgx-400g", CollectiveAlgorithm::nvls, 16, 0.01},
                          Case{"8x-h200-nvl-two-4-way-bridges", CollectiveAlgorithm::tree, 256, 0.03},
                          Case{"4x-8x-h200-nvl-200g", CollectiveAlgorithm::tree, 16, 0.03},
                          Case{"8x-h200-nvl-two-4-way-bridges", CollectiveAlgorithm::tree, 16, 0.04},
                          Case{"8x-rtx-pro-6000-server-4-switches", CollectiveAlgorithm::ring, 256, 0.02}}) {
    INFO(one.machine << " " << one.mebibytes);
    const CollectiveCall call{CollectiveKind::all_reduce, Bytes(one.mebibytes << 20)};
    const Topology topology = test::named_machine(one.machine);
    CollectiveOptions options;
    options.settings.algorithm = one.algorithm;
    const auto fluid = priced(call, topology, options).lowered;
    options.settings.fidelity = Fidelity::chunked;
    options.settings.chunk = Chunk::nccl;
    const auto chunked = priced(call, topology, options).lowered;
    CHECK(chunked.parts.size() > fluid.activities.size());
    CHECK(simulated_us(chunked, topology) == Approx(simulated_us(fluid, topology)).epsilon(one.tolerance));
  }
}
