#include "engine/run.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "engine/fold.hpp"

namespace takt {
Run::Run(const PlanView& plan, const ResourceTable& resources, const EngineOptions& options)
    : plan_(plan),
      fluid_(resources, {options.executor, options.prune, options.record_rates},
             divided(plan.communicators, plan.collectives, resources.size(), options.division)),
      executor_(options.executor),
      lanes_(fluid_.regions() + 1) {
  for (std::uint32_t region = 0; region < lanes_.size(); ++region) lanes_[region].region = region;
  indices_.reserve(plan.programs.size());
  for (const Program& program : plan.programs) indices_.emplace_back(program, &arena_);
  const std::size_t ranks = plan.ranks.size();
  ranks_.reserve(ranks);
  comms_.resize(plan.communicators.size());
  orders_.resize(plan.collectives.size());
  timeline_.ops.resize(ranks);
  timeline_.reasons.resize(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::size_t role = index(plan.ranks[r].role);
    RankState& state = ranks_.emplace_back(plan.programs[role], indices_[role], &arena_);
    const std::size_t ops = state.program->ops.size();
    timeline_.ops[r].assign(ops, OpRecord{{}, {}, {}, id_at<RankId>(r)});
    timeline_.reasons[r].resize(ops);
    state.pending.assign(state.lookup->pending().begin(), state.lookup->pending().end());
    for (const CommunicatorId comm : plan.ranks[r].communicators) {
      state.places.push_back(place_of(r, plan.communicators[index(comm)]));
    }
    state.epochs.reserve(state.lookup->epochs().size());
    state.ranges.resize(ops);
    unfinished_ += ops;
    unfinished_before_ += program(r).first_measured;
  }
  for (std::uint32_t c = 0; c < comms_.size(); ++c) comms_[c].ops.resize(plan.communicators[c].members.size());
}

/// The position of a rank among the members.
std::uint32_t Run::place_of(std::uint32_t rank, const Communicator& communicator) {
  const std::vector<RankId>& members = communicator.members;
  const auto found = std::lower_bound(members.begin(), members.end(), id_at<RankId>(rank));
  expects(found != members.end() && index(*found) == rank, "a rank calls a communicator it is not in");
  return static_cast<std::uint32_t>(found - members.begin());
}

Result<Timeline> Run::play() {
  begin();
  play_instant();
  for (;;) {
    const Duration next = std::min(timers_.next(), fluid_.next_completion());
    if (next == Duration::max()) break;
    now_ = next;
    end_flows();
    ring_timers();
    play_instant();
  }
  if (unfinished_ > 0) return deadlock();
  timeline_.resources = fluid_.use(timeline_.end);
  timeline_.rates = fluid_.take_rate_changes();
  hand_over_charges();
  return std::move(timeline_);
}

void Run::begin() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    begin_epoch(r, Duration{}, {StartReason::Kind::host, StartReason::no_op});
    for (std::uint32_t op = 0; op < program(r).ops.size(); ++op) {
      if (ranks_[r].pending[op] == 0 && !on_host(program(r).ops[op])) issue_or_wait({r, op}, StartReason{});
    }
  }
}

/// Ends what is done now: activities of collectives in each region, then kernels and copies in the order of their start.
void Run::end_flows() {
  if (fluid_.next_completion() > now_) return;
  for_each_region(fluid_.soonest_count(), [this](std::size_t region) { end_flows_of(static_cast<std::uint32_t>(region)); });
  end_flows_of(fluid_.regions());
  ended_flows_.clear();
  for (Lane& lane : lanes_) {
    for (std::size_t i = 0; i < lane.flow_count; ++i) ended_flows_.push_back(&lane.flows[i]);
    lane.flow_count = 0;
  }
  std::sort(ended_flows_.begin(), ended_flows_.end(),
            [](const EndedFlow* a, const EndedFlow* b) { return a->serial < b->serial; });
  for (const EndedFlow* flow : ended_flows_) flow_done(unpacked(flow->owner), flow->charges);
  settle_parts();
}

/// Rings what is due, in order of rank and op; what starts activities of collectives after all else.
void Run::ring_timers() {
  while (timers_.next() == now_) {
    due_timers_.clear();
    timers_.take(now_, due_timers_);
    const auto first_batch = std::partition(due_timers_.begin(), due_timers_.end(), [](const Timer& timer) {
      return timer.kind != TimerKind::batch_starts;
    });
    std::sort(due_timers_.begin(), first_batch);
    for (auto due = due_timers_.begin(); due != due_timers_.end(); ++due) ring(*due);
    settle_parts();
  }
}

/// Everything that follows at now_ from what has been told, then one solution of the rates.
void Run::play_instant() {
  drain();
  update_speeds();
  solve_rates();
}

void Run::drain() {
  do {
    for (std::size_t i = 0; i < done_.size(); ++i) op_done(done_[i]);
    done_.clear();
    hand_out_copy_engines();
  } while (!done_.empty());
}

// --- ops ---------------------------------------------------------------------------------------------------------

Duration Run::issue_time(Instance at) const {
  const ProgramIndex& index = lookup(at.rank);
  return ranks_[at.rank].epochs[index.epoch(at.op)].start + index.issue_offset(at.op);
}

/// All that the op waits for is done; the CPU may not have issued it yet.
void Run::issue_or_wait(Instance at, StartReason reason) {
  RankState& state = ranks_[at.rank];
  if (lookup(at.rank).epoch(at.op) >= state.epochs.size()) {
    state.deferred.push_back(at.op);
    return;
  }
  const Duration issued = issue_time(at);
  if (issued > now_) {
    add_timer(issued, TimerKind::op_issued, at.rank, at.op);
  } else {
    become_ready(at, reason);
  }
}

void Run::become_ready(Instance at, StartReason reason) {
  OpRecord& span = record(at);
  span.ready = span.start = now_;
  timeline_.reasons[at.rank][at.op] = reason;
  const Work& work = program(at.rank).ops[at.op].work;
  if (std::holds_alternative<Segment>(work)) {
    start_segment(at);
  } else if (std::holds_alternative<Collective>(work)) {
    reach_collective(at);
  } else {
    ranks_[at.rank].waiting_copies.push_back(at.op);
    copy_ranks_.push_back(at.rank);
  }
}

void Run::op_done(Instance at) {
  RankState& state = ranks_[at.rank];
  record(at).end = now_;
  state.pending[at.op] = done_mark;
  --unfinished_;
  if (at.op < program(at.rank).first_measured && --unfinished_before_ == 0) {
    timeline_.begin = now_;
    fluid_.restart_use(now_);
  }
  timeline_.end = std::max(timeline_.end, now_);
  for (const std::uint32_t next : lookup(at.rank).dependents(at.op)) {
    if (--state.pending[next] == 0 && !on_host(program(at.rank).ops[next])) {
      issue_or_wait({at.rank, next}, {StartReason::Kind::op, at.op});
    }
  }
  if (at.op == state.awaited) advance_host(at.rank);
}

void Run::add_timer(Duration time, TimerKind kind, std::uint32_t rank, std::uint32_t op) {
  timers_.push(time, {rank, op, kind, sequence_++});
}

void Run::ring(const Timer& timer) {
  const Instance at{timer.rank, timer.op};
  switch (timer.kind) {
    case TimerKind::op_issued:
      return become_ready(at, ranks_[at.rank].epochs[lookup(at.rank).epoch(at.op)].reason);
    case TimerKind::op_done: return done_.push_back(at);
    case TimerKind::copy_starts: return start_copy_flow(at);
    case TimerKind::collective_starts: return start_parts(timer.rank);
    case TimerKind::batch_starts: return starting_.push_back({timer.rank, timer.op});
  }
}

/// A kernel or a copy has ended.
void Run::flow_done(const FlowOwner& owner, const std::vector<Charge>& charges) {
  if (owner.kind == FlowOwner::Kind::segment) segment_flow_done({owner.first, owner.second}, charges);
  else copy_done({owner.first, owner.second}, charges);
}

/// Writes what the whole time of an op was charged to, once, when it ends.
void Run::charge(Instance at, std::initializer_list<Charge> before, const std::vector<Charge>& flow,
                 std::initializer_list<Charge> after) {
  RankState& state = ranks_[at.rank];
  ChargeRange& range = state.ranges[at.op];
  range.first = static_cast<std::uint32_t>(state.charges.size());
  const auto add = [&](const Charge& entry) {
    if (entry.time != Duration{}) state.charges.push_back(entry);
  };
  for (const Charge& entry : before) add(entry);
  for (const Charge& entry : flow) add(entry);
  for (const Charge& entry : after) add(entry);
  range.count = static_cast<std::uint32_t>(state.charges.size()) - range.first;
}

void Run::hand_over_charges() {
  timeline_.charges.resize(ranks_.size());
  timeline_.charge_offsets.resize(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankState& state = ranks_[r];
    auto& list = timeline_.charges[r];
    auto& offsets = timeline_.charge_offsets[r];
    list.reserve(state.charges.size());
    offsets.reserve(state.ranges.size() + 1);
    for (const ChargeRange& range : state.ranges) {
      offsets.push_back(static_cast<std::uint32_t>(list.size()));
      for (std::uint32_t i = 0; i < range.count; ++i) list.push_back(state.charges[range.first + i]);
    }
    offsets.push_back(static_cast<std::uint32_t>(list.size()));
  }
}

// --- the CPU -----------------------------------------------------------------------------------------------------

/// The CPU starts to issue the ops of its next epoch at `start`, which may lie ahead of now_.
void Run::begin_epoch(std::uint32_t rank, Duration start, StartReason reason) {
  RankState& state = ranks_[rank];
  const ProgramIndex& index = lookup(rank);
  const auto epoch = static_cast<std::uint32_t>(state.epochs.size());
  state.epochs.push_back({start, reason});
  state.awaited = no_op;
  if (epoch + 1 < index.epochs().size()) {
    const std::uint32_t wait = index.epochs()[epoch].wait_op;
    state.awaited = static_cast<std::uint32_t>(std::get<HostWait>(program(rank).ops[wait].work).op);
  }
  while (state.next_host_work < index.host_work().size()) {
    const std::uint32_t op = index.host_work()[state.next_host_work];
    if (index.epoch(op) != epoch) break;
    ++state.next_host_work;
    OpRecord& span = timeline_.ops[rank][op];
    span.ready = span.start = issue_time({rank, op});
    timeline_.reasons[rank][op] = reason;
    add_timer(span.start + std::get<HostWork>(program(rank).ops[op].work).time, TimerKind::op_done, rank, op);
  }
  if (state.deferred.empty()) return;
  const std::vector<std::uint32_t> deferred(state.deferred.begin(), state.deferred.end());
  state.deferred.clear();
  for (const std::uint32_t op : deferred) issue_or_wait({rank, op}, reason);
}

/// Lets the CPU pass every HostWait whose op is done.
void Run::advance_host(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  const ProgramIndex& index = lookup(rank);
  while (state.awaited != no_op && state.pending[state.awaited] == done_mark) {
    const HostEpoch& epoch = index.epochs()[state.epochs.size() - 1];
    const std::uint32_t target = state.awaited;
    const Duration reached = state.epochs.back().start + epoch.length;
    const Duration released = timeline_.ops[rank][target].end;
    StartReason reason = state.epochs.back().reason;
    if (released > reached) reason = {StartReason::Kind::host, target};
    const Duration resumed = std::max(reached, released);
    OpRecord& span = timeline_.ops[rank][epoch.wait_op];
    span.ready = span.start = reached;
    timeline_.reasons[rank][epoch.wait_op] = reason;
    if (resumed > now_) {
      add_timer(resumed, TimerKind::op_done, rank, epoch.wait_op);
    } else {
      done_.push_back({rank, epoch.wait_op});
    }
    begin_epoch(rank, resumed, reason);
  }
}

// --- deadlock ----------------------------------------------------------------------------------------------------

std::string Run::describe(Instance at) const {
  const Program& text = program(at.rank);
  const Op& op = text.ops[at.op];
  std::string name = plan_.ranks[at.rank].name + ": " + (op.label < text.labels.size() ? text.labels[op.label] : "op");
  if (op.unit != no_unit) name += " of unit " + std::to_string(op.unit);
  return name + " (op " + std::to_string(at.op) + ")";
}

/// Names the first op of each rank that cannot go on, with what it waits for.
Diagnostic Run::deadlock() const {
  constexpr std::size_t most = 8;
  std::string waiting;
  std::size_t named = 0;
  for (std::uint32_t r = 0; r < ranks_.size() && named < most; ++r) {
    const Program& text = program(r);
    for (std::uint32_t op = 0; op < text.ops.size(); ++op) {
      if (ranks_[r].pending[op] == done_mark) continue;
      waiting += "\n  " + describe({r, op});
      if (const auto* collective = std::get_if<Collective>(&text.ops[op].work);
          collective != nullptr && ranks_[r].pending[op] == 0) {
        const CommunicatorId comm = plan_.ranks[r].communicators[index(collective->comm)];
        waiting += " waits for " +
                   std::to_string(plan_.communicators[index(comm)].members.size() - comms_[index(comm)].arrived) +
                   " other members of '" + plan_.communicators[index(comm)].name + "'";
      } else if (const auto* wait = std::get_if<HostWait>(&text.ops[op].work)) {
        waiting += " waits for " + describe({r, static_cast<std::uint32_t>(wait->op)});
      }
      ++named;
      break;
    }
  }
  return {Severity::error, {}, "the simulated step cannot go on: " + std::to_string(unfinished_) +
                                   " ops are unfinished and nothing runs" + waiting, ""};
}

Result<Timeline> simulate(const Plan& plan, const ResourceTable& resources, const EngineOptions& options) {
  const std::optional<FoldedPlan> folded = options.fold ? fold_equal_ranks(plan, resources) : std::nullopt;
  if (folded) {
    const PlanView parts{plan.programs, folded->ranks, folded->communicators, folded->collectives, plan.sm_contention};
    Result<Timeline> timeline = Run(parts, resources, options).play();
    if (timeline) return unfold_equal_ranks(std::move(*timeline), plan);
    // What cannot go on is told of all ranks.
  }
  const PlanView whole{plan.programs, plan.ranks, plan.communicators, plan.collectives, plan.sm_contention};
  return Run(whole, resources, options).play();
}

}  // namespace takt
