#include "plan/binding.hpp"

#include "collective/lowering.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plan/contention.hpp"
#include "plan/rank_speed.hpp"

namespace takt {
namespace {

/// Lowers calls, each once for its members.
class Lowering {
 public:
  Lowering(Plan& plan, const Topology& topology, CollectiveOptions options)
      : plan_(plan), collectives_(topology, std::move(options)) {}

  CollectiveId lowered(const CollectiveCall& call, const std::vector<VertexId>& members) {
    const auto [entry, is_new] = known_.try_emplace({members, call}, id_at<CollectiveId>(plan_.collectives.size()));
    if (!is_new) return entry->second;
    Result<PricedCollective> priced = collectives_.price(call, members);
    plan_.collectives.push_back(priced ? std::move(priced->lowered) : LoweredCollective{});
    if (!priced && problems_.empty()) problems_ = priced.diagnostics();
    return entry->second;
  }

  /// What was wrong with the first call that could not be lowered.
  const Diagnostics& problems() const { return problems_; }

 private:
  Plan& plan_;
  CollectiveLowering collectives_;
  std::map<std::pair<std::vector<VertexId>, CollectiveCall>, CollectiveId> known_;
  Diagnostics problems_;
};

/// The key that a refusal of NCCL's is about.
Diagnostics placed(Diagnostics problems, const Scenario& scenario) {
  const auto is_set = [&](const char* key) { return scenario.places.contains(key); };
  const char* key = "hardware.topology";
  for (const char* candidate : {"nccl.p2p_disable", "nccl.net_disable_intra", "nccl.shm_disable", "nccl.proto", "nccl.algo",
                                "nccl.graph_file"}) {
    if (is_set(candidate)) key = candidate;
  }
  if (scenario.collectives.algorithm != CollectiveAlgorithm::automatic) key = "collectives.algorithm";
  for (Diagnostic& problem : problems) {
    if (problem.place.file.empty()) problem.place = place_of(scenario.places, key, scenario.file);
  }
  return problems;
}

std::vector<std::vector<RankId>> groups_of(RankGroup group, RankLayout layout) {
  switch (group) {
    case RankGroup::shard: return shard_groups(layout);
    case RankGroup::replicate: return replicate_groups(layout);
    case RankGroup::world: return shard_groups({layout.shard_ranks * layout.replicas, 1});
    case RankGroup::reshard:
      return shard_groups({layout.reshard_ranks, layout.shard_ranks * layout.replicas / layout.reshard_ranks});
  }
  unreachable("a group of ranks");
}

void add_communicators(Plan& plan, const std::vector<RankGroup>& slots, RankLayout layout, Lowering& lowering,
                       const std::vector<CardInstance>& cards) {
  const Program& program = plan.programs.front();
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const CommUse& use = program.comms[slot];
    const std::vector<std::vector<RankId>> groups = groups_of(slots[slot], layout);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Communicator& communicator = plan.communicators.emplace_back();
      communicator.name = groups.size() == 1 ? use.name : fmt::format("{} group {}", use.name, g);
      communicator.slot = id_at<CommSlot>(slot);
      communicator.members = groups[g];
      std::vector<VertexId> vertices;
      for (const RankId rank : groups[g]) vertices.push_back(cards[index(rank)].vertex);
      for (const CollectiveCall& call : use.calls) communicator.lowered.push_back(lowering.lowered(call, vertices));
      for (const RankId rank : groups[g]) {
        plan.ranks[index(rank)].communicators.push_back(id_at<CommunicatorId>(plan.communicators.size() - 1));
      }
    }
  }
}

void add_demand(std::vector<Demand>& demands, ResourceId resource, double per_unit) {
  const auto same =
      std::find_if(demands.begin(), demands.end(), [&](const Demand& demand) { return demand.resource == resource; });
  if (same == demands.end())
    demands.push_back({resource, per_unit});
  else
    same->per_unit += per_unit;
}

/// Bytes over the links of `route` and in the card's memory, read or written once.
CopyPath copy_path(std::string name, const std::optional<Route>& route, const Topology& topology,
                   const CardInstance& card, const Assumptions& assumptions) {
  CopyPath path;
  path.name = std::move(name);
  if (!route) return path;
  path.latency = route->latency;
  for (const LinkId id : route->links) {
    const Link& link = topology.link(id);
    add_demand(path.demands, link.resource, 1.0);
    if (link.both_directions) add_demand(path.demands, *link.both_directions, 1.0);
  }
  if (assumptions.memory_contention) add_demand(path.demands, card.memory, assumptions.hbm_traffic_factor);
  return path;
}

/// Reads and writes of a CPU in its own memory: the link between socket and memory in both directions.
CopyPath memory_path(const std::optional<Route>& to_memory, const Topology& topology) {
  CopyPath path;
  path.name = "CPU and host memory";
  if (!to_memory || to_memory->links.empty()) return path;
  // CPU Adam reads four numbers for three that it writes (semantics Z14).
  constexpr double read_share = 4.0 / 7.0;
  const Link& written = topology.link(to_memory->links.back());
  add_demand(path.demands, written.resource, 1.0 - read_share);
  add_demand(path.demands, topology.link(written.reverse).resource, read_share);
  if (written.both_directions) add_demand(path.demands, *written.both_directions, 1.0);
  return path;
}

/// Copies between host memory and the NVMe drives of a card's server, spread evenly over all of them.
CopyPath nvme_path(std::string name, const Topology& topology, const CardInstance& card, bool reads) {
  CopyPath path;
  path.name = std::move(name);
  const std::optional<Route> to_memory = topology.to_host_memory(card.vertex);
  if (!to_memory) return path;
  const VertexId memory = topology.link_target(to_memory->links.back());
  std::vector<Route> routes;
  for (std::size_t v = 0; v < topology.device_count(); ++v) {
    const auto drive = id_at<VertexId>(v);
    const Device& device = topology.device(drive);
    if (device.kind != DeviceKind::nvme || device.server != card.server) continue;
    const std::optional<Route> route = reads ? topology.route(drive, memory) : topology.route(memory, drive);
    if (route) routes.push_back(*route);
  }
  for (const Route& route : routes) {
    path.latency = std::max(path.latency, route.latency);
    for (const LinkId id : route.links) {
      const Link& link = topology.link(id);
      const double share = 1.0 / static_cast<double>(routes.size());
      add_demand(path.demands, link.resource, share);
      if (link.both_directions) add_demand(path.demands, *link.both_directions, share);
    }
  }
  return path;
}

bool has_copies(const Program& program) {
  return std::any_of(program.ops.begin(), program.ops.end(),
                     [](const Op& op) { return std::holds_alternative<Copy>(op.work); });
}

RankBinding rank_binding(std::size_t rank, const CardInstance& card, const Topology& topology) {
  const CardSpec& spec = topology.card_spec(card);
  RankBinding binding;
  binding.role = RoleId{0};
  binding.name = fmt::format("rank {} ({})", rank, topology.device(card.vertex).name);
  binding.memory = card.memory;
  binding.sm_count = spec.sm_count;
  binding.copy_engines = spec.copy_engines;
  return binding;
}

}  // namespace

Result<Plan> bind(WrittenStep step, RankLayout layout, const Scenario& scenario, const Topology& topology,
                  const std::vector<CardInstance>& cards) {
  const Assumptions& assumptions = scenario.assumptions;
  Plan plan;
  plan.programs.push_back(std::move(step.program));
  plan.sm_contention = sm_contention(assumptions);
  const bool with_paths = has_copies(plan.programs.front());
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    RankBinding& binding = plan.ranks.emplace_back(rank_binding(rank, cards[rank], topology));
    binding.speed = rank_speed(assumptions, static_cast<std::int64_t>(rank));
    if (!with_paths) continue;
    const VertexId card = cards[rank].vertex;
    binding.paths = {copy_path("host to device", topology.from_host_memory(card), topology, cards[rank], assumptions),
                     copy_path("device to host", topology.to_host_memory(card), topology, cards[rank], assumptions),
                     memory_path(topology.to_host_memory(card), topology),
                     nvme_path("NVMe to host", topology, cards[rank], true),
                     nvme_path("host to NVMe", topology, cards[rank], false)};
  }
  Result<CollectiveOptions> options = collective_options(scenario);
  if (!options) return placed(options.diagnostics(), scenario);
  Lowering lowering(plan, topology, *std::move(options));
  add_communicators(plan, step.comm_groups, layout, lowering, cards);
  if (!lowering.problems().empty()) return placed(lowering.problems(), scenario);
  return plan;
}

Bytes received_per_rank(const Plan& plan) {
  Bytes received{};
  if (plan.ranks.empty()) return received;
  const RankBinding& rank = plan.ranks.front();
  const Program& program = plan.programs[index(rank.role)];
  for (std::size_t i = program.first_measured; i < program.ops.size(); ++i) {
    const auto* collective = std::get_if<Collective>(&program.ops[i].work);
    if (collective == nullptr) continue;
    const Communicator& communicator = plan.communicators[index(rank.communicators[index(collective->comm)])];
    received += plan.collectives[index(communicator.lowered[collective->call])].moved_per_rank;
  }
  return received;
}

}  // namespace takt
