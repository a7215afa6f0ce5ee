// What happens on one card: kernels that share its SMs, copies that share its copy engines.
#include <algorithm>

#include "base/contract.hpp"
#include "engine/run.hpp"

namespace takt {

/// How fast the segment may run now, as a fraction of its stand-alone speed: the SMs that collectives leave, shared
/// equally by the segments that run at once. Kernels that wait for memory keep their speed with fewer SMs: over a mix,
/// times add up.
double Run::kernel_speed(Instance at) const {
  const std::uint32_t rank = at.rank;
  const RankState& state = ranks_[rank];
  const Segment& segment = std::get<Segment>(program(rank).ops[at.op].work);
  const auto kernels = static_cast<double>(std::max<std::size_t>(1, state.kernels.size()));
  double speed = 1.0;
  if (plan_.sm_contention.enabled && state.held_ctas > 0) {
    const auto sms = static_cast<double>(plan_.ranks[rank].sm_count);
    const auto held = static_cast<double>(state.held_ctas);
    const double q = state.held_ctas > plan_.sm_contention.free_ctas ? plan_.sm_contention.q : 1.0;
    speed = std::max(1.0, sms - held) / (sms * q);  // some kernel always finds a place
    const double steady = segment.time > Duration{} ? to_seconds(segment.memory_time) / to_seconds(segment.time) : 0.0;
    if (steady > 0.0) speed = 1.0 / ((1.0 - steady) / speed + steady);
  }
  return speed / kernels;
}

/// The SMs that the rank's kernels have may be others from now on.
void Run::mark_speed(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  if (state.speed_changed || state.kernels.empty()) return;
  state.speed_changed = true;
  speed_changed_.push_back(rank);
}

void Run::update_speeds() {
  for (const std::uint32_t rank : speed_changed_) {
    ranks_[rank].speed_changed = false;
    for (const auto& [op, running] : ranks_[rank].kernels) {
      const double speed = kernel_speed({rank, op});
      fluid_.set_cap(running, speed, speed < 1.0 ? Cause::sms : Cause::own_speed);
    }
  }
  speed_changed_.clear();
}

void Run::start_segment(Instance at) {
  const Segment& segment = std::get<Segment>(program(at.rank).ops[at.op].work);
  const RankBinding& rank = plan_.ranks[at.rank];
  const double seconds = to_seconds(segment.time) / rank.speed;
  if (!(seconds > 0.0)) return segment_flow_done(at, {});
  // Work in seconds of stand-alone time; memory demand B / T0 a second; weight T0 / B, so that phi is bytes/s.
  const Demand memory{rank.memory, segment.memory_bytes / seconds};
  const bool uses_memory = segment.memory_bytes > 0.0;
  auto& kernels = ranks_[at.rank].kernels;
  const double speed = kernel_speed(at);
  const RunningId running = fluid_.start(now_, {.work = seconds,
                                                .cap = speed,
                                                .weight = uses_memory ? 1.0 / memory.per_unit : 1.0,
                                                .cap_cause = speed < 1.0 ? Cause::sms : Cause::own_speed,
                                                .alone = 1.0,
                                                .demands = std::span(&memory, uses_memory ? 1U : 0U),
                                                .owner = packed({FlowOwner::Kind::segment, at.rank, at.op})});
  kernels.emplace_back(at.op, running);
  if (kernels.size() > 1) mark_speed(at.rank);   // they share the SMs, this one included
}

/// The kernels have run as fast as the card let them; the CPU may still owe some launches.
void Run::segment_flow_done(Instance at, const std::vector<Charge>& charges) {
  auto& kernels = ranks_[at.rank].kernels;
  const auto own = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.first == at.op; });
  if (own != kernels.end()) {
    kernels.erase(own);
    mark_speed(at.rank);
  }
  const Segment& segment = std::get<Segment>(program(at.rank).ops[at.op].work);
  Duration earliest = issue_time(at) + segment.issue_bound;
  if (const double speed = plan_.ranks[at.rank].speed; speed > 1.0) {
    // The bound holds for kernels at their own speed; on a faster rank they leave the CPU as far behind at least.
    const Duration saved = segment.time - duration_from_seconds(to_seconds(segment.time) / speed);
    earliest -= std::max(Duration{}, saved);
  }
  charge(at, {}, charges, {{Cause::host, {}, std::max(Duration{}, earliest - now_)}});
  if (earliest > now_) {
    add_timer(earliest, TimerKind::op_done, at.rank, at.op);
  } else {
    done_.push_back(at);
  }
}

/// Gives free copy engines to waiting copies, in program order.
void Run::hand_out_copy_engines() {
  std::sort(copy_ranks_.begin(), copy_ranks_.end());
  copy_ranks_.erase(std::unique(copy_ranks_.begin(), copy_ranks_.end()), copy_ranks_.end());
  for (const std::uint32_t rank : copy_ranks_) {
    RankState& state = ranks_[rank];
    std::sort(state.waiting_copies.begin(), state.waiting_copies.end());
    const std::int64_t free_engines = plan_.ranks[rank].copy_engines - state.busy_copy_engines;
    const auto count = std::min(state.waiting_copies.size(),
                                static_cast<std::size_t>(std::max<std::int64_t>(0, free_engines)));
    for (std::size_t i = 0; i < count; ++i) {
      const Instance at{rank, state.waiting_copies[i]};
      const Copy& copy = std::get<Copy>(program(rank).ops[at.op].work);
      const CopyPath& path = plan_.ranks[rank].paths[copy.path];
      ++state.busy_copy_engines;
      OpRecord& span = record(at);
      if (span.ready < now_) {   // it waited for an engine: the copy that freed it is what it waited for
        timeline_.reasons[rank][at.op] = {StartReason::Kind::op, state.last_copy};
        span.ready = now_;
      }
      span.start = now_;
      if (path.latency > Duration{}) {
        add_timer(now_ + path.latency, TimerKind::copy_starts, rank, at.op);
      } else {
        start_copy_flow(at);
      }
    }
    state.waiting_copies.erase(state.waiting_copies.begin(),
                               state.waiting_copies.begin() + static_cast<std::ptrdiff_t>(count));
  }
  copy_ranks_.clear();
}

void Run::start_copy_flow(Instance at) {
  const Copy& copy = std::get<Copy>(program(at.rank).ops[at.op].work);
  const CopyPath& path = plan_.ranks[at.rank].paths[copy.path];
  if (copy.bytes.count() <= 0) return copy_done(at, {});
  fluid_.start(now_, {.work = static_cast<double>(copy.bytes.count()),
                      .cap = path.cap,
                      .weight = path.weight,
                      .demands = path.demands,
                      .owner = packed({FlowOwner::Kind::copy, at.rank, at.op})});
}

void Run::copy_done(Instance at, const std::vector<Charge>& charges) {
  RankState& state = ranks_[at.rank];
  --state.busy_copy_engines;
  state.last_copy = at.op;
  copy_ranks_.push_back(at.rank);
  const Copy& copy = std::get<Copy>(program(at.rank).ops[at.op].work);
  charge(at, {{Cause::latency, {}, plan_.ranks[at.rank].paths[copy.path].latency}}, charges);
  done_.push_back(at);
}

}  // namespace takt
