// What a run says: the numbers of schema takt.result/1, in the field's definitions (DESIGN section 6).
#pragma once

#include "base/diagnostic.hpp"
#include "config/scenario.hpp"
#include "metrics/host_memory.hpp"
#include "engine/timeline.hpp"
#include "plan/plan.hpp"
#include "plan/strategy.hpp"
#include "topology/topology.hpp"
#include "workload/workload.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace takt {

/// Where the step time of the slowest rank goes; the parts add up to the step time.
struct Breakdown {
  Duration compute{};                ///< kernels of forward, recomputation and backward run
  Duration exposed_communication{};  ///< communication runs and no kernel does
  Duration host{};                   ///< neither runs: the CPU issues, works or waits
  Duration optimizer{};              ///< optimizer kernels run
};

/// Of the slowest rank.
struct CommunicationMetrics {
  Duration busy{};             ///< union of its collectives' time from start to end
  Duration hidden{};           ///< the part of `busy` during which a kernel runs too
  double overlap_ratio = 0.0;  ///< hidden / busy (Holistic Trace Analysis); 1 if there is no communication
  Bytes received_per_card{};
  Bytes sent_per_card{};
  std::map<std::string, Duration> exposed_by_kind;  ///< "all-gather", "reduce-scatter", "all-reduce", "copy"
  /// The collective that took most time in all and what limits it: "all-gather: ring over 8 cards, 2 CTAs; ...".
  std::string longest;
  std::optional<PredictionInterval> longest_interval;  ///< of that one's time alone
};

struct LinkMetrics {
  std::string name;
  std::string from;
  std::string to;
  ResourceKind kind = ResourceKind::link;
  Bandwidth capacity{};
  Bytes bytes{};
  Duration busy{};
  double utilisation_mean = 0.0;  ///< bytes / (capacity * step time)
  double utilisation_peak = 0.0;
};

/// The most that is allocated in a part of the step.
struct PhasePeak {
  std::string phase;  ///< "forward", "backward", "optimizer"
  Bytes allocated{};
  Duration when{};  ///< since the step began
  std::string op;
  std::map<std::string, Bytes> components;
};

struct ByteRange {
  Bytes low{};
  Bytes high{};
};

/// What a card holds beside what is allocated: it can be told as a range only (semantics M7, M8).
struct CardUse {
  ByteRange reserved;  ///< segments that the allocator holds, the allocated bytes among them (H2)
  ByteRange context;   ///< of CUDA and its libraries (M7)
  Bytes nccl{};        ///< buffers of the communicators (N70)
  ByteRange in_all;    ///< as nvidia-smi shows it
};

struct MemoryMetrics {
  Bytes capacity{};  ///< what the driver shows
  Bytes nominal{};
  Bytes peak{};  ///< allocated, of the rank that needs most
  Bytes states{};
  std::map<std::string, Bytes> components;  ///< at the peak, by category
  std::string peak_op;                      ///< what ran when the peak was reached
  bool fits = true;
  std::int64_t rank = 0;          ///< the fullest one
  Duration peak_time{};           ///< since the step began
  std::vector<PhasePeak> phases;  ///< in order of the step; those that take part
  CardUse use;

  /// What is allocated beyond the card's memory.
  Bytes over() const { return peak > capacity ? peak - capacity : Bytes{}; }
};

/// A change of a scenario that does not fit, and what it comes to.
struct FitChange {
  std::string what;                                       ///< "full checkpointing"
  std::vector<std::pair<std::string, std::string>> keys;  ///< of the scenario, and their values
  Bytes peak{};
  Bytes capacity{};
  bool fits = false;
  double tokens_per_second = 0.0;

  double part_of_card() const { return static_cast<double>(peak.count()) / static_cast<double>(capacity.count()); }
};

struct BlameEntry {
  std::string resource;  ///< "gpu0 -> gpu1", "compute", "SMs taken by others", "latency", ...
  Duration time{};
  double share = 0.0;  ///< of the step time; all entries add up to 1
};

struct StepMetrics {
  Duration step_time{};
  std::int64_t ranks = 0;
  std::int64_t tokens_per_step = 0;
  double tokens_per_second = 0.0;
  double tokens_per_second_per_card = 0.0;
  double mfu = 0.0;
  double hfu = 0.0;
  Breakdown breakdown;
  CommunicationMetrics communication;
  std::vector<LinkMetrics> links;  ///< links that were used, by mean utilisation, then name
  MemoryMetrics memory;
  std::vector<BlameEntry> blame;  ///< by time, then name
};

/// What a run costs, in the currency of the scenario's [cost] keys.
struct CostMetrics {
  double per_hour = 0.0;            ///< depreciation and power of the cards that take part and their servers
  double per_million_tokens = 0.0;
};

/// What is known of a quantity: it lies between the two.
struct Range {
  double low = 0.0;
  double high = 0.0;
};

/// What the cards that take part draw over the step, without their servers (metrics/energy.hpp).
struct PowerMetrics {
  Power limit{};  ///< of the first card
  Power idle{};   ///< of the first card
  bool idle_is_published = false;
  Range watts_per_card;   ///< mean over the step and the cards
  Range joules_per_step;  ///< all cards
  Range joules_per_token;

  Range kwh_per_million_tokens() const {
    constexpr double per_joule = 1e6 / 3.6e6;
    return {joules_per_token.low * per_joule, joules_per_token.high * per_joule};
  }
};

/// A scenario with everything that was computed for it.
struct RunResult {
  Scenario scenario;
  StepMetrics metrics;
  std::optional<CostMetrics> cost;    ///< if the scenario has prices
  std::optional<PowerMetrics> power;  ///< of whole cards
  PlanFacts facts;
  std::string topology_title;
  std::string model_name;
  std::string card_name;
  std::string card_architecture;  ///< "Hopper", ...
  double borrowed_products = 0.0;  ///< how far matrix products may be off whose times come from another card; 0: they do not
  HostMemory host_memory;    ///< what is offloaded
  Bytes checkpoint_bytes{};  ///< weights in 16 bit (the adapter for LoRA)
  std::string compute_provenance;
  std::string link_provenance;
  Diagnostics diagnostics;
  std::vector<FitChange> fit_changes;  ///< that were tried because it does not fit
};

StepMetrics compute_metrics(const Scenario& scenario, const Workload& workload, const BuiltPlan& built,
                            const Topology& topology, const std::vector<CardInstance>& cards, const Timeline& timeline);

/// Allocated bytes of one rank over time, from the effects of its ops. `when` ascends.
struct MemoryPoint {
  Duration when{};
  Bytes allocated{};
};
std::vector<MemoryPoint> memory_timeline(const Plan& plan, const Timeline& timeline, RankId rank);

}  // namespace takt
