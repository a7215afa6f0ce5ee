#include "engine/measured_part.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace takt {
namespace {

/// What ops before the measured ones leave in memory.
std::vector<MemoryEffect> held_before(const Program& program) {
  std::map<MemoryCategory, Bytes> held;
  for (std::uint32_t i = 0; i < program.first_measured; ++i) {
    for (const MemoryEffect& effect : program.ops[i].effects) held[effect.category] += effect.delta;
  }
  std::vector<MemoryEffect> effects;
  for (const auto& [category, size] : held) {
    if (size != Bytes{}) effects.push_back({EffectTime::issue, category, size});
  }
  return effects;
}

/// Drops the first ops. A host wait for one of them becomes the time that it took on rank `records`.
void cut_program(Program& program, const std::vector<OpRecord>& records) {
  const std::uint32_t first = program.first_measured;
  const std::vector<MemoryEffect> held = held_before(program);
  for (std::uint32_t i = first; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    std::erase_if(op.waits, [&](OpId wait) { return index(wait) < first; });
    for (OpId& wait : op.waits) wait = id_at<OpId>(index(wait) - first);
    if (auto* wait = std::get_if<HostWait>(&op.work)) {
      if (index(wait->op) >= first)
        wait->op = id_at<OpId>(index(wait->op) - first);
      else
        op.work = HostWork{records[i].end - records[i].start};
    }
  }
  program.ops.erase(program.ops.begin(), program.ops.begin() + first);
  if (!program.ops.empty())
    program.ops.front().effects.insert(program.ops.front().effects.begin(), held.begin(), held.end());
  program.first_measured = 0;
}

/// Takes `time` off the front of charges.
void shorten(std::vector<Charge>& charges, Duration time) {
  for (Charge& charge : charges) {
    const Duration part = std::min(charge.time, time);
    charge.time -= part;
    time -= part;
  }
}

void cut_charges(Timeline& timeline, std::size_t rank, std::uint32_t first) {
  const std::vector<Charge> all = std::move(timeline.charges[rank]);
  const std::vector<std::uint32_t> offsets = std::move(timeline.charge_offsets[rank]);
  std::vector<Charge>& kept = timeline.charges[rank] = {};
  std::vector<std::uint32_t>& kept_offsets = timeline.charge_offsets[rank] = {};
  for (std::size_t op = first; op + 1 < offsets.size(); ++op) {
    kept_offsets.push_back(static_cast<std::uint32_t>(kept.size()));
    std::vector<Charge> own(all.begin() + offsets[op], all.begin() + offsets[op + 1]);
    const Duration ready = timeline.ops[rank][op].ready;
    if (ready < timeline.begin) shorten(own, std::min(timeline.begin, timeline.ops[rank][op].end) - ready);
    kept.insert(kept.end(), own.begin(), own.end());
  }
  kept_offsets.push_back(static_cast<std::uint32_t>(kept.size()));
}

void cut_rank(Timeline& timeline, std::size_t rank, std::uint32_t first) {
  cut_charges(timeline, rank, first);
  std::vector<OpRecord>& records = timeline.ops[rank];
  records.erase(records.begin(), records.begin() + first);
  for (OpRecord& record : records) {
    for (Duration* time : {&record.ready, &record.start, &record.end}) {
      *time = std::max(Duration{}, *time - timeline.begin);
    }
  }
  std::vector<StartReason>& reasons = timeline.reasons[rank];
  reasons.erase(reasons.begin(), reasons.begin() + first);
  for (StartReason& reason : reasons) {
    if (reason.op == StartReason::no_op) continue;
    if (reason.op >= first)
      reason.op -= first;
    else
      reason = {reason.kind == StartReason::Kind::op ? StartReason::Kind::begin : reason.kind, StartReason::no_op};
  }
}

/// The last rate of each resource before the beginning holds there.
void cut_rates(Timeline& timeline) {
  std::map<ResourceId, double> at_begin;
  std::vector<RateChange> kept;
  for (const RateChange& change : timeline.rates) {
    if (change.time < timeline.begin)
      at_begin[change.resource] = change.rate;
    else
      kept.push_back({change.time - timeline.begin, change.resource, change.rate});
  }
  std::vector<RateChange> first;
  for (const auto& [resource, rate] : at_begin) {
    if (rate > 0.0) first.push_back({Duration{}, resource, rate});
  }
  kept.insert(kept.begin(), first.begin(), first.end());
  timeline.rates = std::move(kept);
}

}  // namespace

bool begins_earlier(const Plan& plan) {
  return std::any_of(plan.programs.begin(), plan.programs.end(),
                     [](const Program& program) { return program.first_measured > 0; });
}

void keep_measured_part(Plan& plan, Timeline& timeline) {
  if (!begins_earlier(plan)) return;
  std::vector<std::uint32_t> first;
  for (const Program& program : plan.programs) first.push_back(program.first_measured);
  std::vector<bool> cut(plan.programs.size(), false);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const std::size_t role = index(plan.ranks[rank].role);
    if (!cut[role]) cut_program(plan.programs[role], timeline.ops[rank]);
    cut[role] = true;
  }
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    cut_rank(timeline, rank, first[index(plan.ranks[rank].role)]);
  }
  cut_rates(timeline);
  timeline.end -= timeline.begin;
  timeline.begin = {};
}

}  // namespace takt
