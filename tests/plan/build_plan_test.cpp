// Plans of real models on real machines: cards, communicators, bytes moved.
#include "catch.hpp"
#include "config/reader.hpp"
#include "plan/strategy.hpp"
#include "support/source_dir.hpp"

using namespace takt;

namespace {

Scenario scenario_of(const std::string& topology, const std::string& model, Strategy strategy) {
  Scenario scenario;
  scenario.file = "test.toml";
  scenario.topology = topology;
  scenario.model = model;
  scenario.finetune.method = Method::lora;
  scenario.finetune.activation_checkpointing = Checkpointing::full;
  scenario.parallel.strategy = strategy;
  return scenario;
}

SourceText data(const std::string& path) {
  const Result<SourceText> text = read_text_file(takt::test::source_dir() + "/" + path);
  INFO(path);
  REQUIRE(text);
  return *text;
}

ServerSpec server_of(const std::string& name) {
  const auto links = read_link_types(data("topologies/links.toml"));
  REQUIRE(links);
  const Result<ServerSpec> server = read_server(data("topologies/servers/" + name + ".toml"), *links);
  REQUIRE(server);
  return *server;
}

std::map<std::string, CardSpec> cards_of(const ServerSpec& server) {
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server.devices) {
    if (device.kind != DeviceKind::card || cards.contains(device.card)) continue;
    const Result<CardSpec> card = read_card(data("topologies/cards/" + device.card + ".toml"));
    REQUIRE(card);
    cards[device.card] = *card;
  }
  return cards;
}

/// A server, or a cluster if the name starts with a count of servers.
Topology topology_of(const Scenario& scenario) {
  if (scenario.topology.find("400g") == std::string::npos) {
    const ServerSpec server = server_of(scenario.topology);
    return build_topology(server, cards_of(server), scenario.assumptions.links).value();
  }
  const Result<ClusterSpec> cluster = read_cluster(data("topologies/clusters/" + scenario.topology + ".toml"));
  REQUIRE(cluster);
  const ServerSpec server = server_of(cluster->server);
  return build_topology(*cluster, server, cards_of(server), scenario.assumptions.links).value();
}

Result<BuiltPlan> build(const Scenario& scenario) {
  const Topology topology = topology_of(scenario);
  const Result<std::vector<CardInstance>> cards = choose_cards(scenario, topology);
  REQUIRE(cards);
  const Result<ModelSpec> model = read_model(data("models/" + scenario.model + ".toml"));
  REQUIRE(model);
  const KernelPricer pricer(topology.card_spec(cards->front()), scenario.assumptions.compute);
  const Result<Workload> workload = build_workload(*model, scenario, pricer);
  REQUIRE(workload);
  return build_plan(scenario, *workload, topology, *cards, pricer);
}

}  // namespace

TEST_CASE("bytes a card receives in a step of the sharded 70B LoRA", "[plan]") {
  // Llama 3.3 70B: h 8192, I 28672, 80 layers, 64 and 8 heads of 128, V 128256. Every dimension 0 divides by 2, 4 and
  // 8, so nothing is padded.
  const std::int64_t h = 8192, intermediate = 28672, kv = 1024, vocabulary = 128256;
  const std::int64_t layer = 2 * h * h + 2 * h * kv + 3 * h * intermediate + 2 * h;
  const std::int64_t root = 2 * vocabulary * h + h;
  REQUIRE(80 * layer + root == 70553706496);
  // Adapters of rank 16, FP32: (in + out) of q, k, v, o, gate, up, down. Gathered twice with their layer, reduced once.
  const std::int64_t adapter = 16 * (2 * (h + h) + 2 * (h + kv) + 3 * (h + intermediate));
  for (const auto& [topology, n] : {std::pair<std::string, std::int64_t>{"2x-h200-nvl-2-way-bridge", 2},
                                    {"4x-h200-nvl-4-way-bridge", 4},
                                    {"8x-rtx-pro-6000-server-4-switches", 8}}) {
    const Result<BuiltPlan> built = build(scenario_of(topology, "llama-3.3-70b", Strategy::fsdp2));
    REQUIRE(built);
    // The sizing count gathers all 2 P bytes twice: 2 x 2 P (n - 1) / n. PyTorch keeps the root from forward to
    // backward (S8) and so saves its second gather.
    const std::int64_t sizing = 2 * 2 * (80 * layer + root) / n * (n - 1);
    const std::int64_t saved = 2 * root / n * (n - 1);
    const std::int64_t adapters = (2 + 1) * 4 * 80 * adapter / n * (n - 1);
    // Clipping reduces one FP32 number over a ring (H6).
    const std::int64_t norm = 2 * 4 * (n - 1) / n;
    REQUIRE(built->facts.received_per_rank == Bytes(sizing - saved + adapters + norm));
    REQUIRE(built->facts.shard_ranks == n);
  }
}

TEST_CASE("the reference step has one program for all ranks and few ops", "[plan]") {
  const Scenario scenario = scenario_of("8x-rtx-pro-6000-server-4-switches", "llama-3.3-70b", Strategy::fsdp2);
  const Result<BuiltPlan> built = build(scenario);
  REQUIRE(built);
  const Plan& plan = built->plan;
  REQUIRE(plan.programs.size() == 1);
  REQUIRE(plan.ranks.size() == 8);
  REQUIRE(plan.communicators.size() == 1);
  REQUIRE(plan.communicators[0].members.size() == 8);
  // A layer: copy-in, gather, copy-out, forward; the same for backward with recomputation, copy-in, reduce-scatter.
  REQUIRE(plan.programs[0].ops.size() < 80 * 11 + 20);
  // Equal layers share their kernels.
  REQUIRE(plan.programs[0].kernels.size() < 2000);
  REQUIRE(plan.ranks[3].name == "rank 3 (gpu3)");
  REQUIRE(plan.ranks[3].sm_count == 188);
}

TEST_CASE("hybrid sharding over two servers: groups within, replicas across", "[plan]") {
  Scenario scenario = scenario_of("2x-8x-rtx-pro-6000-400g", "llama-3.1-8b", Strategy::fsdp2);
  scenario.parallel.sharding = Sharding::hybrid;
  const Result<BuiltPlan> built = build(scenario);
  REQUIRE(built);
  const Plan& plan = built->plan;
  REQUIRE(built->facts.shard_ranks == 8);
  REQUIRE(built->facts.replicas == 2);
  REQUIRE(plan.communicators.size() == 2 + 8);
  REQUIRE(plan.communicators[1].name == "shard group 1");
  REQUIRE(plan.communicators[1].members.front() == RankId{8});
  REQUIRE(plan.communicators[5].name == "replicate group 3");
  REQUIRE(plan.communicators[5].members == std::vector<RankId>{RankId{3}, RankId{11}});
  for (std::size_t rank = 0; rank < 16; ++rank) {
    const std::vector<CommunicatorId>& of = plan.ranks[rank].communicators;
    REQUIRE(of.size() == 2);
    REQUIRE(index(of[0]) == rank / 8);
    REQUIRE(index(of[1]) == 2 + rank % 8);
  }
}

TEST_CASE("data parallel: one communicator, each size of bucket lowered once", "[plan]") {
  const Result<BuiltPlan> built = build(scenario_of("4x-h200-nvl-4-way-bridge", "llama-3.1-8b", Strategy::ddp));
  REQUIRE(built);
  const Plan& plan = built->plan;
  REQUIRE(plan.collectives.size() == plan.programs[0].comms[0].calls.size());
  REQUIRE(plan.communicators[0].lowered.size() == plan.collectives.size());
}

TEST_CASE("offload to a drive that the server does not have is refused at its key", "[plan]") {
  Scenario scenario = scenario_of("2x-h200-nvl-2-way-bridge", "llama-3.1-8b", Strategy::zero3);
  REQUIRE(build(scenario));
  scenario.parallel.offload_optimizer = Offload::nvme;
  scenario.places["parallel.offload_optimizer"] = {"test.toml", 12, 21, "offload_optimizer = \"nvme\""};
  const Result<BuiltPlan> built = build(scenario);
  REQUIRE_FALSE(built);
  REQUIRE(render(built.diagnostics()) ==
          "test.toml:12:21: error: the server has no NVMe drive\n"
          "   12 | offload_optimizer = \"nvme\"\n"
          "      |                     ^\n"
          "hint: add [[nvme]] and its link to the server's file\n");
}

TEST_CASE("cards: by number, each once", "[plan]") {
  Scenario scenario = scenario_of("4x-h200-nvl-4-way-bridge", "llama-3.1-8b", Strategy::ddp);
  const Topology topology = topology_of(scenario);
  REQUIRE(choose_cards(scenario, topology)->size() == 4);
  scenario.cards = {2, 0};
  REQUIRE(choose_cards(scenario, topology)->at(0).number == 2);
  scenario.cards = {2, 7, 2};
  const auto chosen = choose_cards(scenario, topology);
  REQUIRE_FALSE(chosen);
  REQUIRE(render(chosen.diagnostics()) ==
          "test.toml: error: card 7 does not exist: 4x-h200-nvl-4-way-bridge has 4 of them\n"
          "hint: use numbers from 0 to 3\n"
          "test.toml: error: card 2 is named twice\n"
          "hint: name each card once, in rank order\n");
}
