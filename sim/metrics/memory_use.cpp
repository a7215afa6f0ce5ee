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

MemoryPeak memory_peak(const Plan& plan, const Timeline& timeline, RankId rank) {
  const std::vector<TimedEffect> effects = timed_effects(program_of(plan, rank), timeline.ops[index(rank)]);
  MemoryPeak peak;
  peak.any = !effects.empty();
  Bytes allocated{};
  std::array<Bytes, memory_categories> by_category{};
  std::uint32_t last_taker = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const TimedEffect& effect = effects[i];
    allocated += effect.delta;
    by_category[static_cast<std::size_t>(effect.category)] += effect.delta;
    if (effect.delta > Bytes{}) last_taker = effect.op;
    const bool instant_ends = i + 1 == effects.size() || effects[i + 1].time != effect.time;
    if (instant_ends && allocated > peak.allocated) {
      peak.allocated = allocated;
      peak.by_category = by_category;
      peak.op = id_at<OpId>(last_taker);
    }
  }
  return peak;
}

std::vector<MemoryPoint> memory_timeline(const Plan& plan, const Timeline& timeline, RankId rank) {
  std::vector<MemoryPoint> points;
  Bytes allocated{};
  for (const TimedEffect& effect : timed_effects(program_of(plan, rank), timeline.ops[index(rank)])) {
    allocated += effect.delta;
    if (!points.empty() && points.back().when == effect.time) {
      points.back().allocated = allocated;
    } else {
      points.push_back({effect.time, allocated});
    }
  }
  return points;
}

}  // namespace takt
