#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "collective/islands.hpp"
#include "plan/binding.hpp"
#include "plan/rank_group.hpp"
#include "plan/step.hpp"
#include "plan/strategy.hpp"

namespace takt {
namespace {

Diagnostic error_at(const Scenario& scenario, const std::string& key, std::string message, std::string hint) {
  return {Severity::error, place_of(scenario.places, key, scenario.file), std::move(message), std::move(hint)};
}

WrittenStep write_step(const StepInput& input) {
  switch (input.scenario.parallel.strategy) {
    case Strategy::none: return write_single_card_step(input);
    case Strategy::ddp: return write_ddp_step(input);
    case Strategy::fsdp1: return write_fsdp1_step(input);
    case Strategy::fsdp2: return write_fsdp2_step(input);
    case Strategy::zero1:
    case Strategy::zero2: return write_zero12_step(input);
    case Strategy::zero3: return write_zero3_step(input);
  }
  unreachable("every strategy is written");
}

/// The hierarchical form needs islands.
Diagnostics check_collectives(const Scenario& scenario, const Topology& topology,
                              const std::vector<CardInstance>& cards) {
  if (scenario.collectives.algorithm != CollectiveAlgorithm::hierarchical || cards.size() < 2) return {};
  std::vector<VertexId> members;
  for (const CardInstance& card : cards) members.push_back(card.vertex);
  if (!islands_of(members, topology).empty()) return {};
  return {error_at(scenario, "collectives.algorithm",
                   fmt::format("no islands for a hierarchical collective: the {} cards are not several NVLink groups or "
                               "servers of equal size",
                               cards.size()),
                   "use auto")};
}

bool has_drive(const Topology& topology, std::int32_t server) {
  for (std::size_t v = 0; v < topology.device_count(); ++v) {
    const Device& device = topology.device(id_at<VertexId>(v));
    if (device.kind == DeviceKind::nvme && device.server == server) return true;
  }
  return false;
}

/// What is offloaded needs a place to be, on every server.
Diagnostics check_offload(const Scenario& scenario, const Topology& topology, const std::vector<CardInstance>& cards) {
  const auto check = [&](Offload place, const char* key) -> Diagnostics {
    if (place == Offload::none) return {};
    for (const CardInstance& card : cards) {
      if (!topology.to_host_memory(card.vertex)) {
        return {error_at(scenario, key, "the server has no host memory that the cards reach",
                         "state memory_bandwidth of its sockets")};
      }
      if (place == Offload::nvme && !has_drive(topology, card.server)) {
        return {error_at(scenario, key, "the server has no NVMe drive", "add [[nvme]] and its link to the server's file")};
      }
    }
    return {};
  };
  Diagnostics errors = check(scenario.parallel.offload_optimizer, "parallel.offload_optimizer");
  const Diagnostics more = check(scenario.parallel.offload_params, "parallel.offload_params");
  errors.insert(errors.end(), more.begin(), more.end());
  return errors;
}

/// Ranks that stragglers name must take part.
Diagnostics check_stragglers(const Scenario& scenario, std::size_t ranks) {
  for (const auto& [rank, factor] : scenario.assumptions.stragglers) {
    if (static_cast<std::size_t>(rank) < ranks) continue;
    return {error_at(scenario, "assumptions.stragglers",
                     fmt::format("rank {} does not exist: {} take part", rank, ranks),
                     fmt::format("use ranks from 0 to {}", ranks - 1))};
  }
  return {};
}

/// One program is priced for one kind of card.
Diagnostics check_equal_cards(const Scenario& scenario, const Topology& topology,
                              const std::vector<CardInstance>& cards) {
  for (const CardInstance& card : cards) {
    if (card.spec == cards.front().spec) continue;
    return {error_at(scenario, "hardware.cards",
                     fmt::format("cards of different kinds take part: {} is {}, {} is {}",
                                 topology.device(cards.front().vertex).name, topology.card_spec(cards.front()).name,
                                 topology.device(card.vertex).name, topology.card_spec(card).name),
                     "choose cards of one kind with hardware.cards")};
  }
  return {};
}

}  // namespace

Result<std::vector<CardInstance>> choose_cards(const Scenario& scenario, const Topology& topology) {
  const std::vector<CardInstance>& all = topology.cards();
  if (scenario.cards.empty()) return all;
  Diagnostics errors;
  std::vector<CardInstance> chosen;
  for (const std::int64_t number : scenario.cards) {
    const auto card = std::find_if(all.begin(), all.end(), [&](const CardInstance& c) { return c.number == number; });
    if (card == all.end()) {
      errors.push_back(error_at(scenario, "hardware.cards",
                                fmt::format("card {} does not exist: {} has {} of them", number, topology.id(),
                                            all.size()),
                                fmt::format("use numbers from 0 to {}", all.size() - 1)));
    } else if (std::any_of(chosen.begin(), chosen.end(), [&](const CardInstance& c) { return c.number == number; })) {
      errors.push_back(error_at(scenario, "hardware.cards", fmt::format("card {} is named twice", number),
                                "name each card once, in rank order"));
    } else {
      chosen.push_back(*card);
    }
  }
  if (has_error(errors)) return errors;
  return chosen;
}

Result<BuiltPlan> build_plan(const Scenario& scenario, const Workload& workload, const Topology& topology,
                             const std::vector<CardInstance>& cards, const KernelPricer& pricer) {
  if (cards.empty()) {
    return error_at(scenario, "hardware.topology", "no card takes part", "name a topology that has cards");
  }
  const Diagnostics unequal = check_equal_cards(scenario, topology, cards);
  if (has_error(unequal)) return unequal;
  const Diagnostics stragglers = check_stragglers(scenario, cards.size());
  if (has_error(stragglers)) return stragglers;
  const Diagnostics offload = check_offload(scenario, topology, cards);
  if (has_error(offload)) return offload;
  const Diagnostics collectives = check_collectives(scenario, topology, cards);
  if (has_error(collectives)) return collectives;
  const Result<RankLayout> layout = rank_layout(scenario, cards);
  if (!layout) return layout.diagnostics();
  WrittenStep step = write_step({scenario, workload, pricer, layout->shard_ranks, layout->replicas});

  BuiltPlan built;
  built.facts.states_per_rank = step.states_per_rank;
  built.facts.shard_ranks = layout->shard_ranks;
  built.facts.replicas = layout->replicas;
  Result<Plan> plan = bind(std::move(step), *layout, scenario, topology, cards);
  if (!plan) return plan.diagnostics();
  built.plan = *std::move(plan);
  built.facts.received_per_rank = received_per_rank(built.plan);
  return built;
}

}  // namespace takt
