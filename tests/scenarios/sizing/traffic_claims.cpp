// Bytes and floors, on runs at nominal link rates.
//
// Where a guide's count and the execution differ, the row's value is the guide's and the difference is derived here:
// - all-reduce: guides count 2 Psi, a ring of n moves 2 (n - 1) / n of Psi: 2 / n of Psi less;
// - sharded LoRA: guides gather all 16-bit weights twice; FSDP2 keeps the root unit gathered from forward to backward
//   (semantics S9), so it is gathered once, and adapters travel too: gathered twice and reduced once, in FP32.
#include "catch.hpp"
#include "scenarios/sizing/claims.hpp"
#include "support/scenarios.hpp"

namespace takt::test {
namespace {

const Override nominal{"assumptions.links", "nominal"};
const Override unclipped{"finetune.gradient_clipping", "false"};  // it reduces one more number, which no guide counts

const RunResult& run_of(const std::string& scenario, const Overrides& more = {}) {
  static std::map<std::string, FinishedRun> runs;
  Overrides overrides = {nominal, unclipped, one_micro_step};
  overrides.insert(overrides.end(), more.begin(), more.end());
  std::string key = scenario;
  for (const Override& item : more) key += ' ' + item.key + '=' + item.value;
  const auto found = runs.find(key);
  if (found != runs.end()) return found->second.result;
  return runs.emplace(key, finished(scenario, overrides)).first->second.result;
}

/// The links that leave a card, all together.
struct WaysOut {
  Bandwidth capacity{};
  std::int64_t bytes = 0;
};

WaysOut ways_out(const RunResult& run, const std::string& card = "gpu0") {
  WaysOut out;
  for (const LinkMetrics& link : run.metrics.links) {
    if (link.from != card || link.kind != ResourceKind::link) continue;
    out.capacity += link.capacity;
    out.bytes += link.bytes.count();
  }
  return out;
}

/// Bytes that FSDP2 receives beyond the guides' count, per card.
std::int64_t beyond_the_guides(std::int64_t cards) {
  constexpr std::int64_t vocabulary = 128256, hidden = 8192;
  constexpr std::int64_t root = 2 * vocabulary * hidden + hidden;  // embedding, head, final norm
  const std::int64_t adapters = fitted({b70, Method::lora}).trained;
  return (adapters * (2 * 4 + 4) - root * 2) / cards * (cards - 1);
}

/// The guides' bytes of a sharded 70B LoRA, after a check of what the run received.
Bytes gathered(const RunResult& run) {
  const std::int64_t cards = run.metrics.ranks;
  const Bytes guide = fitted({.model = b70, .method = Method::lora, .cards = cards}).traffic.gathered;
  CHECK(run.metrics.communication.received_per_card - guide == Bytes(beyond_the_guides(cards)));
  return guide;
}

/// Seconds that the guides' bytes take on the links out of a card, after a check of what went over these.
double floor_of(const RunResult& run) {
  const WaysOut out = ways_out(run);
  CHECK(static_cast<double>(out.bytes) ==
        Approx(static_cast<double>(run.metrics.communication.sent_per_card.count())).epsilon(1e-9));
  return static_cast<double>(gathered(run).count()) / out.capacity.count();
}

const std::string nvl = "llama-3.3-70b-lora-4x-h200-nvl", pcie = "llama-3.3-70b-lora-4x-rtx-pro-6000";
const Override two_nvl{"hardware.topology", "2x-h200-nvl-2-way-bridge"};
const Override two_pcie{"hardware.topology", "2x-rtx-pro-6000-server"};

void add_sharded(Claims& claims) {
  claims["F02"] = [] { return in_gb(gathered(run_of(nvl, {two_nvl}))); };
  claims["F03"] = [] { return in_gb(gathered(run_of(nvl))); };
  claims["F04"] = [] { return in_gb(gathered(run_of("llama-3.3-70b-lora-8x-h200-nvl"))); };
  claims["F05"] = [] { return floor_of(run_of(pcie, {two_pcie})); };
  claims["F06"] = [] { return floor_of(run_of(pcie)); };
  claims["F07"] = [] { return floor_of(run_of(nvl, {two_nvl})); };
  claims["F08"] = [] { return floor_of(run_of("llama-3.3-70b-lora-8x-rtx-pro-6000")); };
  claims["F09"] = [] { return floor_of(run_of(nvl)); };
}

/// The guides' bytes of an all-reduce of 16-bit adapter gradients, after a check of what the run received.
Bytes all_reduced(const RunResult& run) {
  const std::int64_t cards = run.metrics.ranks;
  const GuideTraffic guide = fitted({.model = b70, .method = Method::qlora, .cards = cards}).traffic;
  const double ring = static_cast<double>(run.metrics.communication.received_per_card.count());
  const double less = 2.0 / static_cast<double>(cards) * static_cast<double>(guide.gradients.count());
  CHECK(ring + less == Approx(static_cast<double>(guide.all_reduce.count())).epsilon(1e-6));
  return guide.all_reduce;
}

const Override half_adapters{"finetune.lora.adapter_precision", "bf16"};

/// Traffic of full sharding over that of data parallelism, 2 bytes an element. What is executed differs: FSDP2 reduces
/// in FP32 (4 bytes) where DDP reduces in 16 bits, and gathers the root once; the ring of n cards scales both alike.
double sharded_to_replicated() {
  const std::string scenario = "llama-3.1-8b-full-fsdp2-2x-h200-nvl";
  const RunResult& sharded = run_of(scenario);
  const RunResult& replicated = run_of(scenario, {{"parallel.strategy", "ddp"}});
  const FitResult model = fitted({b8});
  constexpr double vocabulary = 128256, hidden = 4096, cards = 2;
  const double root = 2 * vocabulary * hidden + hidden, parameters = static_cast<double>(model.parameters);
  const double of_others = (cards - 1) / cards;
  const double gathers = 2 * 2 * parameters - 2 * root, reduction = 4 * parameters;
  CHECK(static_cast<double>(sharded.metrics.communication.received_per_card.count()) ==
        Approx(of_others * (gathers + reduction)).epsilon(1e-6));
  const double reduced = 2 * 2 * parameters;
  CHECK(static_cast<double>(replicated.metrics.communication.received_per_card.count()) ==
        Approx(of_others * reduced).epsilon(1e-6));
  return model.traffic.sharded_to_replicated;
}

void add_replicated(Claims& claims) {
  claims["D03"] = [] { return in_gb(fitted({b70, Method::lora}).traffic.gradients); };
  claims["D04"] = [] { return in_gb(all_reduced(run_of("llama-3.3-70b-qlora-ddp-4x-h200-nvl", {half_adapters}))); };
  claims["D05"] = [] {
    const RunResult& run = run_of("llama-3.3-70b-qlora-ddp-8x-rtx-pro-6000", {half_adapters});
    return 1e3 * static_cast<double>(all_reduced(run).count()) / ways_out(run).capacity.count();
  };
  claims["D07"] = [] { return in_gb(fitted({b8}).traffic.gradients); };
  claims["D08"] = sharded_to_replicated;
  claims["L01"] = [] {
    const RunResult& run = run_of(nvl, {two_nvl});
    return (ways_out(run, "gpu0").capacity + ways_out(run, "gpu1").capacity).count() / giga;
  };
  claims["L02"] = [] {
    const RunResult& run = run_of(pcie, {two_pcie});
    Bandwidth both{};
    for (const LinkMetrics& link : run.metrics.links) {
      const bool at_card = link.from == "gpu0" || link.to == "gpu0";
      if (at_card && link.kind == ResourceKind::link) both += link.capacity;
    }
    return both.count() / giga;
  };
}

}  // namespace

Claims traffic_claims() {
  Claims claims;
  add_sharded(claims);
  add_replicated(claims);
  return claims;
}

}  // namespace takt::test
