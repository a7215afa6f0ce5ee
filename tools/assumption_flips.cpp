#include "assumption_flips.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace takt {
namespace {

/// FSDP1 has prefetch keys of its own.
bool gathers_ahead(const Scenario& s) {
  return s.parallel.strategy == Strategy::fsdp2 || s.parallel.strategy == Strategy::zero3;
}
bool is_fsdp1(const Scenario& s) { return s.parallel.strategy == Strategy::fsdp1; }
bool communicates(const Scenario& s) { return s.parallel.strategy != Strategy::none; }
bool adapts_in_fp32(const Scenario& s) {
  return s.finetune.method != Method::full && s.finetune.lora.adapter_precision == Precision::fp32;
}
bool always(const Scenario&) { return true; }

/// An assumption with another value than the usual one.
struct Assumption {
  const char* key;
  const char* value;
  const char* meaning;
  bool (*matters)(const Scenario&);
};

constexpr Assumption assumptions[] = {
    {"assumptions.overlap", "none", "no communication beside compute", communicates},
    {"assumptions.overlap", "perfect", "compute never waits for communication", communicates},
    {"parallel.prefetch", "0", "nothing is gathered ahead", gathers_ahead},
    {"parallel.prefetch", "2", "gathered two units ahead", gathers_ahead},
    {"parallel.fsdp1.backward_prefetch", "none", "a unit is gathered when its backward comes", is_fsdp1},
    {"parallel.fsdp1.forward_prefetch", "true", "the next unit is gathered before a forward", is_fsdp1},
    {"parallel.fsdp1.limit_all_gathers", "false", "the CPU never waits for earlier units", is_fsdp1},
    {"assumptions.sm_contention", "false", "collectives hold no SMs", communicates},
    {"assumptions.sm_slowdown", "1", "GEMMs lose only the SMs held", communicates},
    {"assumptions.memory_contention", "false", "collectives take no card memory bandwidth", communicates},
    {"assumptions.nccl_limits", "false", "links alone bound collectives", communicates},
    {"assumptions.links", "nominal", "links at data sheet rates", communicates},
    {"assumptions.compute", "peak", "kernels at peak rates", always},
    {"finetune.elementwise", "fused", "fused norms, rotation, activation", always},
    {"finetune.elementwise", "compiled", "torch.compile of each layer", always},
    {"finetune.cross_entropy", "fused-linear", "loss fused with the head", always},
    {"finetune.lora.autocast", "false", "adapters compute in FP32", adapts_in_fp32},
    {"finetune.loss_read_back", "none", "the CPU never waits for the loss", always},
    {"finetune.gradient_clipping", "false", "no gradient clipping", always},
    {"assumptions.jitter", "0.05", "ranks up to 5 % slower, at random", communicates},
    {"assumptions.stragglers", "{ 0 = 1.1 }", "rank 0 takes 1.1 times as long", communicates},
};

std::string time_text(Duration time, double factor) {
  return fmt::format("{} ps", std::llround(static_cast<double>(time.count()) * factor));
}

/// The run with the flip's settings, unless they are what the scenario says already or cannot run.
std::optional<StepMetrics> flipped(const SourceText& source, Overrides overrides, const Overrides& change,
                                   const Scenario& base, Library& library) {
  overrides.insert(overrides.end(), change.begin(), change.end());
  const Result<Scenario> scenario = read_scenario(source, overrides);
  if (!scenario || scenario->hash == base.hash) return std::nullopt;
  const Result<FinishedRun> run = takt::run(source, overrides, library, {});
  if (!run) return std::nullopt;
  return run->result.metrics;
}

}  // namespace

Overrides host_times(const Assumptions& of, double factor) {
  return {{"assumptions.kernel_launch", time_text(of.kernel_launch, factor)},
          {"assumptions.eager_op", time_text(of.eager_op, factor)},
          {"assumptions.collective_launch", time_text(of.collective_launch, factor)},
          {"assumptions.fsdp1_hook", time_text(of.fsdp1_hook, factor)},
          {"assumptions.fsdp2_hook", time_text(of.fsdp2_hook, factor)},
          {"assumptions.ddp_hook", time_text(of.ddp_hook, factor)}};
}

Result<FlippedRun> flip_assumptions(const SourceText& source, const Overrides& overrides, Library& library) {
  Result<FinishedRun> base = takt::run(source, overrides, library, {});
  if (!base) return base.diagnostics();
  const Scenario scenario = base->result.scenario;
  std::vector<Flip> flips;
  for (const Assumption& assumption : assumptions) {
    Flip flip{fmt::format("{} = {}", assumption.key, assumption.value), assumption.meaning, {}};
    const Overrides change = {{assumption.key, assumption.value}};
    if (assumption.matters(scenario)) flip.metrics = flipped(source, overrides, change, scenario, library);
    flips.push_back(std::move(flip));
  }
  for (const auto& [factor, meaning] : {std::pair(0.0, "the CPU issues at once"), std::pair(2.0, "a CPU half as fast")}) {
    flips.push_back({fmt::format("host times x {}", factor), meaning,
                     flipped(source, overrides, host_times(scenario.assumptions, factor), scenario, library)});
  }
  Diagnostics said = base.diagnostics();
  return {FlippedRun{std::move(base->result), std::move(flips)}, std::move(said)};
}

}  // namespace takt
