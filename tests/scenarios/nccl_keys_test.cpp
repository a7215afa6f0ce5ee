// Every key of [nccl] and each value of collectives.algorithm changes a prediction in the direction that it should.
#include "catch.hpp"
#include "collective_setup.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

CollectiveAccount account(const std::string& topology, const CollectiveCall& call, const Overrides& settings) {
  Library library(search_path(nullptr));
  const CollectiveSetup setup = collective_setup(topology, settings, library).value();
  return CollectiveLowering(setup.topology, setup.options).price(call, setup.members).value().account;
}

constexpr CollectiveCall large_reduce{CollectiveKind::all_reduce, Bytes(1 << 30)};
constexpr CollectiveCall large_gather{CollectiveKind::all_gather, Bytes(1 << 30)};
constexpr CollectiveCall small_reduce{CollectiveKind::all_reduce, Bytes(4096)};

enum class Expected { faster, slower };

struct KeyCase {
  const char* topology;
  CollectiveCall call;
  Overrides settings;
  Expected expected;
};

}  // namespace

TEST_CASE("settings of NCCL make a collective faster or slower", "[scenarios]") {
  const char* pcie = "8x-rtx-pro-6000-server-4-switches-spr";
  const char* hgx = "8x-h200-sxm-hgx";
  const char* cluster = "2x-8x-h200-sxm-hgx-400g";
  const std::vector<KeyCase> cases{
      {pcie, large_gather, {{"nccl.p2p_level", "SYS"}}, Expected::faster},    // peer-to-peer across sockets
      {pcie, large_gather, {{"nccl.min_nchannels", "8"}}, Expected::faster},  // more CTAs
      {pcie, large_gather, {{"nccl.min_ctas", "8"}}, Expected::faster},
      // the only ring must enter and leave by one NIC; NICs instead of host memory between cards of a server
      {"4x-8x-h200-nvl-200g", large_gather, {{"nccl.cross_nic", "0"}}, Expected::slower},
      {"2x-8x-rtx-pro-6000-400g", large_gather, {{"nccl.shm_disable", "on"}}, Expected::faster},
      {hgx, large_gather, {{"nccl.max_nchannels", "2"}}, Expected::slower},
      {hgx, large_gather, {{"nccl.max_ctas", "2"}}, Expected::slower},
      {"4x-h200-nvl-4-way-bridge", large_gather, {{"nccl.p2p_disable", "on"}}, Expected::slower},  // no NVLink either
      {hgx, large_reduce, {{"nccl.nvls_enable", "off"}}, Expected::slower},
      {hgx, large_reduce, {{"nccl.algo", "Ring"}}, Expected::slower},
      {hgx, large_reduce, {{"collectives.algorithm", "ring"}}, Expected::slower},
      {hgx, large_gather, {{"nccl.proto", "LL"}}, Expected::slower},  // twice the bytes
      {hgx, small_reduce, {{"nccl.proto", "Simple"}}, Expected::slower},
      {cluster, large_gather, {{"nccl.net_gdr_level", "LOC"}}, Expected::slower},  // NICs by way of host memory
      {cluster, small_reduce, {{"nccl.fabric", "tcpx"}}, Expected::slower},
      {"8x-h200-nvl-two-4-way-bridges", large_gather, {{"collectives.algorithm", "hierarchical"}}, Expected::faster},
      {"8x-h200-nvl-two-4-way-bridges", large_reduce, {{"collectives.algorithm", "ring"}}, Expected::slower},
  };
  for (const KeyCase& one : cases) {
    INFO(one.topology << " " << one.settings.front().key << " = " << one.settings.front().value);
    const double before = account(one.topology, one.call, {}).time_us;
    const double after = account(one.topology, one.call, one.settings).time_us;
    if (one.expected == Expected::faster)
      CHECK(after < 0.99 * before);
    else
      CHECK(after > 1.01 * before);
  }
}

TEST_CASE("the rest of NCCL's settings changes the plan as NCCL's rules say", "[scenarios]") {
  const auto plan = [](const char* topology, const Overrides& settings) {
    return account(topology, large_gather, settings);
  };
  SECTION("N12b: NICs join the sockets of a PCIe box faster than the CPUs; net_disable_intra keeps to the CPUs") {
    const char* box = "8x-rtx-pro-6000-server-msi-cg480";
    CHECK(plan(box, {}).plan.find("on 1 node") == std::string::npos);
    CHECK(plan(box, {{"nccl.net_disable_intra", "on"}}).plan.find("on 1 node") != std::string::npos);
  }
  SECTION("N3: 2.21 knows no Sapphire Rapids and reckons with 10 GB/s between its sockets") {
    const char* box = "8x-l40s-dual-spr";
    CHECK(*plan(box, {{"nccl.version", "2.21.5"}}).planned_us > 1.5 * *plan(box, {}).planned_us);
  }
  SECTION("N14: a ring that must come back to the NIC it left goes by way of the card next to it, or without PXN over "
          "the host, too slow and too far for LL128") {
    const char* cluster = "2x-8x-h200-sxm-hgx-400g";
    const Override one_nic = {"nccl.cross_nic", "0"}, no_pxn = {"nccl.pxn_disable", "on"};
    const CollectiveCall gather{CollectiveKind::all_gather, Bytes(32 << 20)};
    const CollectiveAccount by_card = account(cluster, gather, {one_nic});
    const CollectiveAccount by_host = account(cluster, gather, {one_nic, no_pxn});
    CHECK(by_card.plan.find("ring 8 x 45 GB/s (NVL; between nodes 45 GB/s, PXN)") != std::string::npos);
    CHECK(by_host.plan.find("ring 8 x 40 GB/s (NVL; between nodes 40 GB/s, PHB)") != std::string::npos);
    CHECK(*by_host.planned_us > 1.05 * *by_card.planned_us);
    CHECK(by_card.protocol == "LL128");
    CHECK(by_host.protocol == "Simple");
    // With a NIC at each end, as by default, a ring needs no other card's.
    CHECK(account(cluster, gather, {no_pxn}).time_us == account(cluster, gather, {}).time_us);
  }
  SECTION("a graph file replaces the search") {
    const std::string file = test::source_dir() + "/validation/collectives/turin-graph.xml";
    const char* box = "8x-rtx-pro-6000-server-dual-turin";
    CHECK(plan(box, {}).plan.find("ring 1 x 0.1") != std::string::npos);
    CHECK(plan(box, {{"nccl.graph_file", file}}).plan.find("ring 2 x 20") != std::string::npos);
  }
}

TEST_CASE("keys that change no collective, and algorithms that cards cannot run, are refused", "[scenarios]") {
  Library library(search_path(nullptr));
  const auto refused = collective_setup("8x-h200-sxm-hgx", {{"batch.micro_batch", "2"}}, library);
  REQUIRE_FALSE(refused);
  CHECK(refused.diagnostics().front().message == "'batch.micro_batch' changes no collective");
  const auto setup = collective_setup("4x-h200-nvl-4-way-bridge", {{"collectives.algorithm", "nvls"}}, library);
  CollectiveLowering lowering(setup->topology, setup->options);
  const auto nvls = lowering.price(large_reduce, setup->members);
  REQUIRE_FALSE(nvls);
  CHECK(nvls.diagnostics().front().message.find("no NVLS over these 4 cards") == 0);
}

TEST_CASE("a run with an algorithm that its cards cannot run is refused at the key", "[scenarios]") {
  const auto message = [](const char* value) {
    SourceText source =
        read_text_file(test::source_dir() + "/scenarios/llama-3.1-8b-full-fsdp2-2x-h200-nvl.toml").value();
    Library library(search_path(nullptr));
    const auto run = takt::run(source, {{"collectives.algorithm", value}}, library, {});
    return run ? std::string() : run.diagnostics().front().message;
  };
  CHECK(message("hierarchical").find("no islands for a hierarchical collective: the 2 cards") == 0);
  CHECK(message("tree").empty());  // all-gathers have no tree and stay rings
}

TEST_CASE("settings that leave no algorithm are refused at their key", "[scenarios]") {
  SourceText source =
      read_text_file(test::source_dir() + "/scenarios/llama-3.1-8b-full-fsdp2-2x-h200-nvl.toml").value();
  Library library(search_path(nullptr));
  const auto run = takt::run(source, {{"nccl.algo", "Tree"}}, library, {});
  REQUIRE_FALSE(run);
  CHECK(run.diagnostics().front().message == "the NCCL settings leave no algorithm and protocol for every collective");
  CHECK(run.diagnostics().front().place.file == "command line");
}
