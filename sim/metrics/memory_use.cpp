// Allocated memory over time.
//
// Effects happen when an op is issued by the CPU, starts, or ends. At one instant all that is given back can be taken
// again, so only the sum of an instant's effects counts.
#include "metrics/memory_use.hpp"

#include "engine/program_index.hpp"

#include <algorithm>
#include <vector>

namespace takt {
namespace {

struct TimedEffect {
  Duration time{};
  std::uint32_t op = 0;
  MemoryCategory category = MemoryCategory::temporary;
  Bytes delta{};
};

/// When the CPU issued each op of a program; epochs of issuing begin where host waits end.
class IssueTimes {
 public:
  IssueTimes(const Program& program, const std::vector<OpRecord>& records) : index_(program), records_(records) {}

  Duration of(std::uint32_t op) const {
    const std::uint32_t epoch = index_.epoch(op);
    const Duration begin = epoch == 0 ? Duration{} : records_[index_.epochs()[epoch - 1].wait_op].end;
    return begin + index_.issue_offset(op);
  }

 private:
  ProgramIndex index_;
  const std::vector<OpRecord>& records_;
};

std::vector<TimedEffect> timed_effects(const Program& program, const std::vector<OpRecord>& records) {
  const IssueTimes issued(program, records);
  std::vector<TimedEffect> effects;
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    for (const MemoryEffect& effect : program.ops[i].effects) {
      Duration time = records[i].end;
      if (effect.when == EffectTime::start) time = records[i].start;
      if (effect.when == EffectTime::issue) time = issued.of(i);
      effects.push_back({time, i, effect.category, effect.delta});
    }
  }
  std::stable_sort(effects.begin(), effects.end(),
                   [](const TimedEffect& a, const TimedEffect& b) { return a.time < b.time; });
  return effects;
}

const Program& program_of(const Plan& plan, RankId rank) {
  return plan.programs[index(plan.ranks[index(rank)].role)];
}

}  // namespace

const char* name_of(MemoryCategory category) {
  constexpr std::array<const char*, memory_categories> names = {"weights",     "gradients",     "optimizer",
                                                                "activations", "gathered",      "buffers",
                                                                "temporary",   "communication", "context"};
  return names[static_cast<std::size_t>(category)];
}

std::string describe(const Program& program, OpId op) {
  const Op& what = program.ops[index(op)];
  std::string text = what.label < program.labels.size() ? program.labels[what.label] : "op";
  if (what.unit != no_unit) text += ", unit " + std::to_string(what.unit);
  return text;
}

std::vector<MemoryState> memory_states(const Plan& plan, const Timeline& timeline, RankId rank) {
  const std::vector<TimedEffect> effects = timed_effects(program_of(plan, rank), timeline.ops[index(rank)]);
  std::vector<MemoryState> states;
  MemoryState state;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const TimedEffect& effect = effects[i];
    state.allocated += effect.delta;
    state.by_category[static_cast<std::size_t>(effect.category)] += effect.delta;
    if (effect.delta > Bytes{}) state.taker = id_at<OpId>(effect.op);
    state.when = effect.time;
    const bool instant_ends = i + 1 == effects.size() || effects[i + 1].time != effect.time;
    if (instant_ends) states.push_back(state);
  }
  return states;
}

MemoryPeak memory_peak(const Plan& plan, const Timeline& timeline, RankId rank) {
  MemoryPeak peak;
  for (const MemoryState& state : memory_states(plan, timeline, rank)) {
    peak.any = true;
    if (state.allocated <= peak.allocated) continue;
    peak.allocated = state.allocated;
    peak.by_category = state.by_category;
    peak.op = state.taker;
    peak.when = state.when;
  }
  return peak;
}

std::vector<MemoryPoint> memory_timeline(const Plan& plan, const Timeline& timeline, RankId rank) {
  std::vector<MemoryPoint> points;
  for (const MemoryState& state : memory_states(plan, timeline, rank)) points.push_back({state.when, state.allocated});
  return points;
}

namespace {

struct PhaseBegin {
  Duration when{};
  Phase phase = Phase::forward;
};

/// Where phases begin, in order of time; the first is there from the start.
std::vector<PhaseBegin> phase_begins(const Program& program, const std::vector<OpRecord>& records) {
  std::vector<PhaseBegin> begins;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (!std::holds_alternative<Segment>(op.work)) continue;
    const Phase phase = op.phase == Phase::recompute ? Phase::backward : op.phase;
    const bool counts = phase == Phase::forward || phase == Phase::backward || phase == Phase::optimizer;
    if (counts) begins.push_back({records[i].start, phase});
  }
  std::stable_sort(begins.begin(), begins.end(),
                   [](const PhaseBegin& a, const PhaseBegin& b) { return a.when < b.when; });
  if (!begins.empty()) begins.front().when = Duration{};
  return begins;
}

}  // namespace

std::vector<PeakOfPhase> peaks_of_phases(const Plan& plan, const Timeline& timeline, RankId rank) {
  const std::vector<PhaseBegin> begins = phase_begins(program_of(plan, rank), timeline.ops[index(rank)]);
  if (begins.empty()) return {};
  std::map<Phase, MemoryState> peaks;
  const auto take = [&peaks](Phase phase, const MemoryState& state) {
    const auto [peak, is_new] = peaks.try_emplace(phase, state);
    if (!is_new && state.allocated > peak->second.allocated) peak->second = state;
  };
  std::size_t next = 0;
  MemoryState found;  // what a phase finds is allocated in it too
  const auto begin_next = [&] {
    found.when = begins[next].when;
    take(begins[next++].phase, found);
  };
  for (const MemoryState& state : memory_states(plan, timeline, rank)) {
    while (next < begins.size() && begins[next].when < state.when) begin_next();
    while (next < begins.size() && begins[next].when == state.when) ++next;
    take(begins[next == 0 ? 0 : next - 1].phase, state);
    found = state;
  }
  while (next < begins.size()) begin_next();
  std::vector<PeakOfPhase> all;
  for (const auto& [phase, state] : peaks) all.push_back({phase, state});
  return all;
}

Bytes nccl_buffers(const Plan& plan, RankId rank) {
  const RankBinding& binding = plan.ranks[index(rank)];
  Bytes sum{};
  for (const CommunicatorId id : binding.communicators) {
    std::map<std::uint8_t, Bytes> sets;
    for (const CollectiveId call : plan.communicators[index(id)].lowered) {
      const CallBuffers& buffers = plan.collectives[index(call)].buffers;
      Bytes& set = sets[buffers.algorithm];
      set = std::max(set, buffers.on_card);
    }
    for (const auto& [algorithm, size] : sets) sum += size;
  }
  return sum;
}

std::map<std::string, Bytes> by_name(const std::array<Bytes, memory_categories>& sizes) {
  std::map<std::string, Bytes> named;
  for (std::size_t category = 0; category < memory_categories; ++category) {
    if (sizes[category] != Bytes{}) named[name_of(static_cast<MemoryCategory>(category))] = sizes[category];
  }
  return named;
}

}  // namespace takt
