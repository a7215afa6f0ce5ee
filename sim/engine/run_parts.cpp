// The activities of a collective that runs, in their order: what ends releases what waited for it.
//
// A ring over a thousand cards is a million messages, of which a thousand end in one instant and a thousand start in the
// next. Those that end in a region of the network, and what they release, are written into the region's lane, whichever
// thread does it. Then the lanes are settled one after another: what has been released becomes batches, each of a call's
// activities that start together, and a batch starts with one timer. What starts in a region is sorted, so that nothing
// depends on who released it.
#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>

#include "engine/run.hpp"

namespace takt {
namespace {

/// Fewer activities than this at one instant are not worth a second thread.
constexpr std::size_t parallel_grain = 256;

/// Without work there is nothing to start: a part that only waits.
bool has_work(const Activity& activity) { return activity.work > 0.0; }

/// A communicator and a part, in one word that sorts.
constexpr std::uint64_t word_of(std::uint32_t comm, std::uint32_t part) { return (std::uint64_t{comm} << 32U) | part; }

/// Sorts what was appended to a sorted list; most often it is in order.
void sort_in(std::vector<std::uint64_t>& words, std::size_t appended) {
  const auto middle = words.begin() + static_cast<std::ptrdiff_t>(appended);
  if (!std::is_sorted(middle, words.end())) std::sort(middle, words.end());
  if (appended > 0 && middle != words.end() && *middle < *(middle - 1)) {
    std::inplace_merge(words.begin(), middle, words.end());
  }
}

}  // namespace

void Run::arrange(const LoweredCollective& collective, Order& order) const {
  if (collective.parts.empty()) order.once = PartList::each_once(collective.activities.size());
  const PartList& parts = collective.parts.empty() ? order.once : collective.parts;
  order.parts = &parts;
  order.regions.reserve(collective.activities.size());
  for (const Activity& activity : collective.activities) {
    const std::uint32_t region = has_work(activity) ? fluid_.region_of(activity.demands) : fluid_.regions();
    order.regions.push_back(static_cast<std::uint8_t>(region));
  }
  std::vector<std::uint32_t>& first = order.first_successor;
  first.assign(parts.size() + 1, 0);
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    if (parts.after(p).empty()) order.first.push_back(p);
    for (const std::uint32_t before : parts.after(p)) ++first[before + 1];
  }
  for (std::size_t p = 0; p < parts.size(); ++p) first[p + 1] += first[p];
  order.successors.resize(first.back());
  std::vector<std::uint32_t> cursor(first.begin(), first.end() - 1);
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    std::uint32_t only_region = fluid_.regions();
    bool several = false;
    for (const std::uint32_t before : parts.after(p)) {
      const std::uint32_t region = order.regions[parts.activity(before)];
      if (region == fluid_.regions()) continue;   // ends while no region ends anything
      several = several || (only_region != fluid_.regions() && region != only_region);
      only_region = region;
    }
    for (const std::uint32_t before : parts.after(p)) {
      Successor& successor = order.successors[cursor[before]++];
      successor.part = p & 0x7fffffffU;
      successor.awaits_several_regions = several ? 1 : 0;
    }
  }
}

const Run::Order& Run::order_of(std::uint32_t collective) {
  Order& order = orders_[collective];
  if (order.parts == nullptr) arrange(plan_.collectives[collective], order);
  return order;
}

const Activity& Run::activity_of(PartId id) const {
  const std::uint32_t collective = comms_[id.comm].collective;
  return plan_.collectives[collective].activities[orders_[collective].parts->activity(id.part)];
}

/// body(region) of each region, at once where there is enough work.
void Run::for_each_region(std::size_t work, const std::function<void(std::size_t)>& body) {
  if (fluid_.regions() == 0) return;
  if (executor_ != nullptr && work >= parallel_grain) {
    executor_->for_each_kept(fluid_.regions(), body);
  } else {
    for (std::size_t region = 0; region < fluid_.regions(); ++region) body(region);
  }
}

void Run::start_parts(std::uint32_t comm) {
  CommState& state = comms_[comm];
  const Order& order = order_of(state.collective);
  const std::uint32_t count = order.parts->size();
  state.open_parts = count;
  if (count == 0) return collective_done(comm);
  state.charges.resize(lanes_.size());
  for (std::vector<Charge>& charges : state.charges) charges.clear();
  state.parts.resize(count);
  const std::size_t shares = std::max(std::uint32_t{1}, fluid_.regions());
  const auto open_share = [&](std::size_t share) {
    const auto end = static_cast<std::uint32_t>((share + 1) * count / shares);
    for (auto p = static_cast<std::uint32_t>(share * count / shares); p < end; ++p) {
      state.parts[p].open = static_cast<std::uint32_t>(order.parts->after(p).size());
    }
  };
  if (shares > 1) for_each_region(count, open_share);
  else open_share(0);
  for (const std::uint32_t part : order.first) release_part(lanes_.back(), {comm, part});
  settle_parts();
}

/// Ends what completes in a region at now_.
void Run::end_flows_of(std::uint32_t region) {
  Lane& lane = lanes_[region];
  fluid_.complete(region, now_, [&](FlowSerial serial, std::uint64_t word, std::vector<Charge>& charges) {
    const FlowOwner owner = unpacked(word);
    if (owner.kind == FlowOwner::Kind::part) return end_part(lane, {owner.first, owner.second}, serial, charges);
    if (lane.flow_count == lane.flows.size()) lane.flows.emplace_back();
    EndedFlow& ended = lane.flows[lane.flow_count++];
    ended.serial = serial;
    ended.owner = word;
    std::swap(ended.charges, charges);
  });
}

void Run::keep_charges(Part& part, const std::vector<Charge>& charges, std::vector<Charge>& kept) {
  part.charge_count = static_cast<std::uint32_t>(charges.size());
  if (charges.size() == 1) {
    part.cause = charges.front().cause;
    part.resource_or_first = static_cast<std::uint32_t>(charges.front().resource);
  } else {
    part.resource_or_first = static_cast<std::uint32_t>(kept.size());
    kept.insert(kept.end(), charges.begin(), charges.end());
  }
}

void Run::end_part(Lane& lane, PartId id, FlowSerial serial, const std::vector<Charge>& charges) {
  CommState& state = comms_[id.comm];
  const Order& order = orders_[state.collective];
  Part& part = state.parts[id.part];
  part.done = now_;
  keep_charges(part, charges, state.charges[lane.region]);
  if (lane.ended.empty() || lane.ended.back().comm != id.comm) lane.ended.push_back({id.comm, 0, 0, 0});
  Ended& ended = lane.ended.back();
  ++ended.count;
  // Parts without work all end last: of them the one with the highest number, whoever released it.
  ended.last_part = serial == ended.serial ? std::max(ended.last_part, id.part) : id.part;
  ended.serial = serial;
  for (std::uint32_t s = order.first_successor[id.part]; s < order.first_successor[id.part + 1]; ++s) {
    const Successor next = order.successors[s];
    std::uint32_t& open = state.parts[next.part].open;
    const bool was_last = next.awaits_several_regions != 0
                              ? std::atomic_ref(open).fetch_sub(1, std::memory_order_relaxed) == 1
                              : --open == 0;
    if (was_last) release_part(lane, {id.comm, next.part});
  }
}

/// Nothing that it waits for is open any more.
void Run::release_part(Lane& lane, PartId id) {
  const std::uint32_t collective = comms_[id.comm].collective;
  const Order& order = orders_[collective];
  const std::uint32_t activity = order.parts->activity(id.part);
  const std::uint32_t region = order.regions[activity];
  Batch& batch = batch_of(lane, id.comm, plan_.collectives[collective].activities[activity].latency);
  batch.parts[region].push_back(id.part);
  ++batch.counts[region];
}

/// The lane's batch for what starts after so long, begun at this instant.
Run::Batch& Run::batch_of(Lane& lane, std::uint32_t comm, Duration latency) {
  const auto fits = [&](const Batch& batch) { return batch.comm == comm && batch.latency == latency; };
  const std::vector<std::uint32_t>& open = lane.open_batches;
  constexpr std::size_t most_looked_at = 16;   // two batches of one kind do no harm
  for (std::size_t back = 1; back <= open.size() && back <= most_looked_at; ++back) {
    if (Batch& batch = lane.batches[open[open.size() - back]]; fits(batch)) return batch;
  }
  if (lane.free_batches.empty()) {
    lane.free_batches.push_back(static_cast<std::uint32_t>(lane.batches.size()));
    lane.batches.emplace_back().parts.resize(lanes_.size());
  }
  lane.open_batches.push_back(lane.free_batches.back());
  lane.free_batches.pop_back();
  Batch& batch = lane.batches[lane.open_batches.back()];
  batch.comm = comm;
  batch.latency = latency;
  return batch;
}

/// Brings together what the lanes say, until nothing more follows from it at this instant.
void Run::settle_parts() {
  const auto is_settled = [](const Lane& lane) { return lane.ended.empty() && lane.open_batches.empty(); };
  if (looked_at_ == starting_.size() && std::all_of(lanes_.begin(), lanes_.end(), is_settled)) return;
  do {
    settle_calls();
    settle_batches();
  } while (end_workless_parts());
}

/// Ends the calls whose activities have all ended.
void Run::settle_calls() {
  ended_.clear();
  for (Lane& lane : lanes_) {
    for (const Ended& ended : lane.ended) {
      ended_.push_back(ended);
      if (lane.region != fluid_.regions()) changes_ += ended.count;
    }
    lane.ended.clear();
  }
  std::sort(ended_.begin(), ended_.end(), [](const Ended& a, const Ended& b) {
    return a.comm != b.comm ? a.comm < b.comm : a.serial < b.serial;
  });
  for (std::size_t i = 0; i < ended_.size(); ++i) {
    const Ended& ended = ended_[i];
    CommState& state = comms_[ended.comm];
    state.open_parts -= ended.count;
    state.last_part = ended.last_part;
    if (state.open_parts == 0) collective_done(ended.comm);
  }
}

/// Batches wait for their latency, or start now.
void Run::settle_batches() {
  for (std::uint32_t l = 0; l < lanes_.size(); ++l) {
    for (const std::uint32_t batch : lanes_[l].open_batches) {
      const Duration latency = lanes_[l].batches[batch].latency;
      if (latency > Duration{}) add_timer(now_ + latency, TimerKind::batch_starts, l, batch);
      else starting_.push_back({l, batch});
    }
    lanes_[l].open_batches.clear();
  }
}

/// Ends the parts without work among what starts now; whether there were any. They leave their batch: what ends a call may
/// begin the communicator's next at this very instant.
bool Run::end_workless_parts() {
  static const std::vector<Charge> no_charges;
  constexpr FlowSerial after_all = std::numeric_limits<FlowSerial>::max();
  bool any = false;
  for (; looked_at_ < starting_.size(); ++looked_at_) {
    Batch& batch = lanes_[starting_[looked_at_].lane].batches[starting_[looked_at_].batch];
    const std::uint32_t comm = batch.comm;
    std::vector<std::uint32_t>& parts = batch.parts.back();
    const auto first = std::stable_partition(parts.begin(), parts.end(), [&](std::uint32_t part) {
      return has_work(activity_of({comm, part}));
    });
    const std::vector<std::uint32_t> workless(first, parts.end());
    parts.erase(first, parts.end());
    for (const std::uint32_t part : workless) end_part(lanes_.back(), {comm, part}, after_all, no_charges);
    any = any || !workless.empty();
  }
  return any;
}

/// Makes room in the network for all that starts now; how much of it starts in regions.
std::size_t Run::make_room() {
  if (starting_.empty()) return 0;
  std::array<std::size_t, Regions::most + 1> counts{};
  for (const BatchRef at : starting_) {
    const Batch& batch = lanes_[at.lane].batches[at.batch];
    for (std::size_t region = 0; region < lanes_.size(); ++region) counts[region] += batch.counts[region];
  }
  for (std::uint32_t region = 0; region < lanes_.size(); ++region) fluid_.reserve(region, counts[region]);
  return std::accumulate(counts.begin(), counts.begin() + fluid_.regions(), std::size_t{0});
}

void Run::start_parts_of(std::uint32_t region) {
  if (starting_.empty()) return;
  std::vector<std::uint64_t>& starting = lanes_[region].starting;
  starting.clear();
  for (const BatchRef at : starting_) {
    Batch& batch = lanes_[at.lane].batches[at.batch];
    const std::size_t before = starting.size();
    for (const std::uint32_t part : batch.parts[region]) starting.push_back(word_of(batch.comm, part));
    batch.parts[region].clear();
    sort_in(starting, before);
  }
  FlowSerial serial = fluid_.serials_of(region);
  for (const std::uint64_t word : starting) {
    const auto comm = static_cast<std::uint32_t>(word >> 32U);
    const auto part = static_cast<std::uint32_t>(word & 0xffffffffU);
    const Activity& activity = activity_of({comm, part});
    fluid_.start_in(region, now_,
                    {.work = activity.work,
                     .cap = activity.cap,
                     .weight = activity.weight,
                     .payload = activity.payload,
                     .demands = activity.demands,
                     .owner = packed({FlowOwner::Kind::part, comm, part})},
                    serial++);
  }
}

/// Starts what starts now and solves the rates: first what lies in several regions is told, then each region starts its
/// own and is solved, then the rest.
void Run::solve_rates() {
  changes_ += make_room();
  start_parts_of(fluid_.regions());
  if (!starting_.empty() || !fluid_.is_idle()) {
    for_each_region(changes_, [this](std::size_t region) {
      start_parts_of(static_cast<std::uint32_t>(region));
      fluid_.solve_region(static_cast<std::uint32_t>(region), now_);
    });
  }
  fluid_.solve_rest(now_);
  for (const BatchRef at : starting_) {
    lanes_[at.lane].batches[at.batch].counts.fill(0);
    lanes_[at.lane].free_batches.push_back(at.batch);
  }
  starting_.clear();
  looked_at_ = changes_ = 0;
}

}  // namespace takt
