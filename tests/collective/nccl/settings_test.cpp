// Environment settings and releases.
#include "cases.hpp"
#include "catch.hpp"
#include "collective/nccl/topology_xml.hpp"

using namespace takt;
using namespace takt::test;

namespace {

NcclPlan plan_with(const std::string& fixture, const NcclSettings& settings, std::size_t servers = 1) {
  Result<NcclPlan> plan = plan_nccl(servers_of(fixture_system(fixture), servers), settings);
  REQUIRE(plan.has_value());
  return *std::move(plan);
}

constexpr CollectiveCall all_reduce(std::int64_t bytes) {
  return {CollectiveKind::all_reduce, Bytes(bytes)};
}
constexpr CollectiveCall all_gather(std::int64_t bytes) {
  return {CollectiveKind::all_gather, Bytes(bytes)};
}

}  // namespace

TEST_CASE("Numbers of channels", "[nccl]") {
  NcclSettings settings;
  CHECK(plan_with("rtx6000bw_8_direct_amd_eth", settings).communicator.channels == 2);
  SECTION("a minimum repeats the channels that were found") {
    settings.min_channels = 8;
    const NcclPlan plan = plan_with("rtx6000bw_8_direct_amd_eth", settings);
    CHECK(plan.communicator.channels == 8);
    CHECK(plan.communicator.ring_of_channel == std::vector<std::size_t>(8, 0));
    CHECK(choose(plan, all_gather(64 << 20)).channels == 8);
  }
  SECTION("a maximum keeps the first") {
    settings.max_channels = 4;
    CHECK(plan_with("hgx_h100_8", settings).communicator.channels == 4);
  }
  SECTION("limits of CTAs hold for NVLS too") {
    settings.max_ctas = 8;
    const NcclPlan plan = plan_with("hgx_h100_8", settings);
    CHECK(plan.communicator.channels == 8);
    CHECK(plan.communicator.nvls_channels == 8);
  }
}

TEST_CASE("Algorithms and protocols", "[nccl]") {
  NcclSettings settings;
  CHECK(choose(plan_with("hgx_h100_8", settings), all_reduce(256 << 20)).algorithm == NcclAlgorithm::nvls);
  SECTION("an average cannot be reduced by the switch (N48): 1361 against 1012 us") {
    const NcclChoice average =
        choose(plan_with("hgx_h100_8", settings), {CollectiveKind::all_reduce, Bytes(256 << 20), Reduction::average});
    CHECK(average.algorithm == NcclAlgorithm::ring);
    CHECK(average.planned_time_us == Approx(1361).epsilon(0.001));
  }
  SECTION("ring only") {
    settings.algorithms = {NcclAlgorithm::ring};
    CHECK(choose(plan_with("hgx_h100_8", settings), all_reduce(256 << 20)).algorithm == NcclAlgorithm::ring);
  }
  SECTION("a protocol that is asked for is used where it would not be safe") {
    settings.protocols = {NcclProtocol::ll128};
    const NcclChoice choice = choose(plan_with("l40s_8_direct_spr", settings), all_gather(1 << 20));
    CHECK(choice.protocol == NcclProtocol::ll128);
  }
  SECTION("settings that leave nothing are refused") {
    settings.algorithms = {NcclAlgorithm::tree};
    const Result<NcclPlan> plan = plan_nccl(std::vector{fixture_system("hgx_h100_8")}, settings);
    REQUIRE_FALSE(plan.has_value());
    CHECK(render(plan.diagnostics()) ==
          "error: the NCCL settings leave no algorithm and protocol for every collective\n"
          "hint: all-gather and reduce-scatter need the ring algorithm\n");
  }
}

TEST_CASE("CTAs that get data", "[nccl]") {
  // N49: cells of 32 KiB of traffic. All-reduce moves two bytes a byte: a 64 KiB buffer is four cells.
  NcclSettings settings;
  settings.protocols = {NcclProtocol::ll128};
  settings.algorithms = {NcclAlgorithm::ring};
  const NcclChoice choice = choose(plan_with("hgx_h100_8", settings), all_reduce(64 << 10));
  CHECK(choice.channels == 12);  // 64 KiB / (640 threads x 8 bytes)
  CHECK(choice.ctas == 4);
}

TEST_CASE("Releases", "[nccl]") {
  CHECK(nccl_version_from_text("2.27.5") == NcclVersion::v2_27);
  CHECK(nccl_version_from_text("2.21.5-1") == NcclVersion::v2_21);
  CHECK(nccl_version_from_text("2.25") == NcclVersion::v2_21);
  CHECK(nccl_version_from_text("2.31.2") == NcclVersion::v2_30);
  CHECK_FALSE(nccl_version_from_text("2.18").has_value());
  CHECK_FALSE(nccl_version_from_text("new").has_value());

  NcclSettings old, middle;
  old.version = NcclVersion::v2_21;
  middle.version = NcclVersion::v2_27;
  SECTION("2.21 takes a Sapphire Rapids for a Skylake: 10 GB/s between the sockets (N3)") {
    const NcclPlan plan = plan_with("h100pcie_8_sw4_emr", old);
    CHECK(to_gigabytes(plan.communicator.kinds[0].machine.gpu_path(0, 7).speed) == 10.0);
  }
  SECTION("2.21: Tree with Simple has no base latency and 28 us a hop (N42)") {
    const NcclPlan plan = plan_with("hgx_h100_8", old);
    const auto& tree = plan.table.at(CollectiveKind::all_reduce, NcclAlgorithm::tree, NcclProtocol::simple);
    CHECK(tree.latency_us == Approx(2 * 7 * 28.0));
  }
  SECTION("up to 2.27 a network hop of NVLSTree counts 14 us instead of 20.9 (N42)") {
    const NcclPlan before = plan_with("hgx_h100_8", middle, 2), now = plan_with("hgx_h100_8", {}, 2);
    const auto latency = [](const NcclPlan& plan) {
      return plan.table.at(CollectiveKind::all_reduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple).latency_us;
    };
    CHECK(latency(now) - latency(before) == Approx(2 * (20.9 - 14.0)));
  }
  SECTION("2.26 counts 40.0 GB/s for an NVLink of a B200, 2.27 40.1 (N2)") {
    old.version = NcclVersion::v2_26;
    const auto card = [](const NcclPlan& plan) {
      return nccl::speed_limits(plan.communicator.kinds[0].machine, nccl::Reach::one_node).card;
    };
    CHECK(card(plan_with("hgx_b200_8", old)) == NcclSpeed(720000));
    CHECK(card(plan_with("hgx_b200_8", middle)) == NcclSpeed(721800));
  }
}

TEST_CASE("A graph file replaces the search", "[nccl]") {
  const std::string text = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="20" speedinter="20" latencyinter="0"
         typeintra="SYS" typeinter="SYS" samechannels="0">
    <channel><gpu dev="0"/><gpu dev="2"/><gpu dev="1"/><gpu dev="3"/></channel>
    <channel><gpu dev="3"/><gpu dev="1"/><gpu dev="2"/><gpu dev="0"/></channel>
  </graph>
</graphs>
)";
  const Result<NcclGraphFile> file = read_nccl_graph_file({"graph.xml", text});
  REQUIRE(file.has_value());
  const Result<NcclPlan> plan = plan_nccl(std::vector{fixture_system("l40s_4_direct_amd1s")}, {}, &*file);
  REQUIRE(plan.has_value());
  CHECK(plan->communicator.rings == std::vector<std::vector<std::int64_t>>{{0, 2, 1, 3}, {3, 1, 2, 0}});
  CHECK(plan->communicator.channels == 4);
  CHECK(to_gigabytes(plan->communicator.ring.speed_intra) == 20.0);
}

TEST_CASE("What cannot be planned is refused with a reason", "[nccl]") {
  NcclSystem system = fixture_system("l40s_4_direct_amd1s");
  SECTION("ranks") {
    system.gpus[2].rank = 7;
    const Result<NcclPlan> plan = plan_nccl(std::vector{system}, {});
    REQUIRE_FALSE(plan.has_value());
    CHECK(render(plan.diagnostics()) == "error: ranks of a communicator are 0 to 3, each once; 3 is out of line\n");
  }
  SECTION("servers without a network") {
    const Result<NcclPlan> plan = plan_nccl(servers_of(system, 2), {});
    REQUIRE_FALSE(plan.has_value());
    CHECK(plan.diagnostics().size() == 2);
    CHECK(plan.diagnostics()[0].message == "server 0 has no NIC port to reach the others");
  }
  SECTION("one card plans nothing") {
    const Result<NcclPlan> plan = plan_nccl(std::vector{restrict_to(system, {0})}, {});
    REQUIRE(plan.has_value());
    CHECK(choose(*plan, all_reduce(1 << 20)).ctas == 0);
  }
}

TEST_CASE("Plans explain themselves", "[nccl]") {
  const NcclPlan plan = plan_with("h200nvl_8_quads_sw4_spr", {});
  CHECK(explain(plan) == "8 ranks on 1 node; ring 2 x 11 GB/s (SYS); tree 2 x 20 GB/s (SYS); 4 CTAs");
  CHECK(explain(plan, all_reduce(64 << 20)) ==
        "Tree, Simple, 4 CTAs of 640 threads; NCCL plans 4623.4 us; next best Ring, Simple: 5426.4 us");
}
