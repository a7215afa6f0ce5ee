#include "jobs_run.hpp"

#include "config/scenario_document.hpp"
#include "config/toml_text.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

namespace takt {
namespace {

/// Joint runs are made longer until every job had two whole steps beside all others; beyond this many ops it is told.
constexpr std::size_t most_ops = 50'000'000;
constexpr std::int64_t steps_alone = 3;

/// One job, a copy of an entry.
struct Job {
  std::string name;
  SourcePlace place;
  PreparedRun prepared;
  std::vector<std::int64_t> cards;
  Duration step_alone{};
  std::vector<ResourceWait> waits_alone;
};

std::string beside(const std::string& file, const std::string& path) {
  const std::filesystem::path named(path);
  return named.is_absolute() ? path : (std::filesystem::path(file).parent_path() / named).string();
}

std::string list_of(const std::vector<std::int64_t>& cards) {
  std::string text;
  for (const std::int64_t card : cards) text += (text.empty() ? "[" : ", ") + std::to_string(card);
  return text + "]";
}

/// How many slices of a scenario's profile a card has; 1 for whole cards.
std::int64_t slices_of(const Scenario& scenario, const Topology& topology) {
  if (scenario.mig.empty()) return 1;
  const CardSpec& card = topology.card_spec(choose_cards(scenario, topology)->front());
  for (const MigProfile& profile : card.mig_profiles) {
    if (profile.name == scenario.mig) return profile.instances;
  }
  return 1;
}

class JobsRun {
 public:
  JobsRun(const JobsFile& file, const Overrides& overrides, Library& library, Executor* executor)
      : file_(file), overrides_(overrides), parts_(library), executor_(executor) {}

  /// What is wrong before anything is simulated, or remarkable.
  const Diagnostics& check() {
    for (std::size_t entry = 0; entry < file_.jobs.size(); ++entry) add_entry(entry);
    if (has_error(said_)) return said_;
    check_cards();
    check_machine();
    return said_;
  }

  Result<JobsResult> play() {
    if (has_error(check())) return said_;
    for (Job& job : jobs_) run_alone(job);
    if (has_error(said_)) return said_;
    return together();
  }

 private:
  void error(const SourcePlace& place, std::string message, std::string hint = "") {
    said_.push_back({Severity::error, place, std::move(message), std::move(hint)});
  }
  void keep(const Diagnostics& messages) { said_.insert(said_.end(), messages.begin(), messages.end()); }

  NodeChange change(const std::string& key, const std::string& toml, const SourcePlace& place) const {
    return {key, place, parse_toml_value(toml, place).value()};
  }

  void add_entry(std::size_t number) {
    const JobEntry& entry = file_.jobs[number];
    const std::string key = fmt::format("job[{}].", number);
    const SourcePlace named_at = place_of(file_.places, key + "scenario", file_.file);
    const Result<SourceText> text = read_text_file(beside(file_.file, entry.scenario));
    if (!text) {
      return error(named_at, fmt::format("the scenario {} {}", entry.scenario, text.diagnostics().front().message),
                   "paths start at the folder of this file");
    }
    const Result<Document> document = parse_scenario(*text);
    if (!document) return keep(document.diagnostics());
    NodeChanges changes = entry.set;
    const SourcePlace topology_at = place_of(file_.places, "hardware.topology", file_.file);
    changes.push_back(change("hardware.topology", toml_string(file_.topology), topology_at));
    for (const Override& item : overrides_) changes.push_back(change_of(item));
    if (!entry.cards.empty()) {
      changes.push_back(change("hardware.cards", list_of(entry.cards), place_of(file_.places, key + "cards", file_.file)));
    }
    for (std::int64_t copy = 0; copy < entry.copies; ++copy) {
      if (!add_copy(entry, *document, changes, copy, key)) return;
    }
  }

  /// The cards of the first copy moved on: by its number of cards, or, for slices, when a card has no more of them.
  bool add_copy(const JobEntry& entry, const Document& document, NodeChanges changes, std::int64_t copy,
                const std::string& key) {
    Result<PreparedRun> prepared = prepare(scenario_with(document, changes), parts_);
    if (copy > 0 && prepared) {
      std::vector<std::int64_t> cards;
      const std::int64_t slices = slices_of(prepared->scenario, *prepared->topology);
      const auto width = static_cast<std::int64_t>(prepared->cards.size());
      const std::int64_t moved = slices > 1 ? copy / slices : copy * width;
      for (const CardInstance& card : prepared->cards) cards.push_back(card.number + moved);
      changes.push_back(change("hardware.cards", list_of(cards), place_of(file_.places, key + "copies", file_.file)));
      prepared = prepare(scenario_with(document, changes), parts_);
    }
    if (!prepared || copy == 0) keep(prepared.diagnostics());
    if (!prepared) return false;
    const std::string name = entry.name.empty() ? prepared->scenario.name : entry.name;
    Job job{entry.copies > 1 ? fmt::format("{} {}", name, copy + 1) : name, entry.place, std::move(*prepared), {}, {}, {}};
    for (const CardInstance& card : job.prepared.cards) job.cards.push_back(card.number);
    jobs_.push_back(std::move(job));
    return true;
  }

  void check_cards() {
    std::map<std::int64_t, std::vector<const Job*>> on_card;
    for (const Job& job : jobs_) {
      for (const std::int64_t card : job.cards) on_card[card].push_back(&job);
    }
    for (const auto& [card, jobs] : on_card) {
      if (jobs.size() > 1) check_slices(card, jobs);
    }
  }

  void check_slices(std::int64_t card, const std::vector<const Job*>& jobs) {
    std::int64_t slices = 0;
    Bytes memory{};
    const CardSpec* spec = nullptr;
    for (const Job* job : jobs) {
      if (job->prepared.scenario.mig.empty()) {
        return error(jobs[1]->place, fmt::format("card {} is taken by {} and by {}", card, jobs[0]->name, jobs[1]->name),
                     "give each job cards of its own, or slices by hardware.mig");
      }
      spec = &job->prepared.topology->card_spec(job->prepared.cards.front());
      for (const MigProfile& profile : spec->mig_profiles) {
        if (profile.name == job->prepared.scenario.mig) slices += profile.compute_slices;
      }
    }
    if (spec != nullptr && slices > spec->mig_slices) {
      error(jobs.back()->place,
            fmt::format("card {} is cut into {} compute slices, but it has {}", card, slices, spec->mig_slices),
            "fewer copies, or smaller slices");
    }
  }

  /// All jobs see the same links and the same rules of contention.
  void check_machine() {
    const PreparedRun& first = jobs_.front().prepared;
    for (const Job& job : jobs_) {
      const ResourceTable& one = first.topology->resources();
      const ResourceTable& other = job.prepared.topology->resources();
      const bool equal = one.size() == other.size() &&
                         std::equal(one.begin(), one.end(), other.begin(), [](const Resource& a, const Resource& b) {
                           return a.kind == ResourceKind::card_memory || a.capacity == b.capacity;
                         });
      const SmContention& a = first.built.plan.sm_contention;
      const SmContention& b = job.prepared.built.plan.sm_contention;
      if (!equal || a.enabled != b.enabled || a.q != b.q || a.free_ctas != b.free_ctas) {
        error(job.place, fmt::format("{} and {} disagree about the machine that they share", job.name, jobs_.front().name),
              "their platform, hardware.link, hardware.server and assumptions keys must be equal");
      }
    }
  }

  void run_alone(Job& job) {
    const std::vector<PlanPart> parts{{&job.prepared.built.plan, job.name, steps_alone, {}}};
    const JoinedPlan plan = joined(parts);
    const Result<Timeline> timeline = simulate(plan.plan, job.prepared.topology->resources(), {.executor = executor_});
    if (!timeline) return keep(timeline.diagnostics());
    job.step_alone = paces(plan, *timeline).front()->step_time;
    job.waits_alone = resource_waits(plan, 0, *timeline, job.prepared.topology->resources());
  }

  /// The machine's resources, and memory of their own for slices.
  ResourceTable shared_resources(std::vector<PlanPart>& parts) const {
    ResourceTable table = jobs_.front().prepared.topology->resources();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const PreparedRun& run = jobs_[i].prepared;
      for (const CardInstance& card : run.cards) {
        Resource memory = run.topology->resources()[index(card.memory)];
        if (run.scenario.mig.empty()) {
          table[index(card.memory)] = memory;
        } else {
          memory.name += fmt::format(" ({})", jobs_[i].name);
          parts[i].resources[card.memory] = id_at<ResourceId>(table.size());
          table.push_back(std::move(memory));
        }
      }
    }
    return table;
  }

  /// Enough steps that the slowest job takes two beside the others.
  std::vector<PlanPart> first_parts() const {
    Duration longest{};
    for (const Job& job : jobs_) longest = std::max(longest, job.step_alone);
    std::vector<PlanPart> parts;
    for (const Job& job : jobs_) {
      constexpr std::int64_t steps_of_longest = 3;
      const std::int64_t steps = steps_of_longest * longest / job.step_alone + 1;
      parts.push_back({&job.prepared.built.plan, job.name, std::max(steps, steps_of_longest), {}});
    }
    return parts;
  }

  Result<JobsResult> together() {
    std::vector<PlanPart> parts = first_parts();
    const ResourceTable resources = shared_resources(parts);
    while (true) {
      std::size_t ops = 0;
      for (const PlanPart& part : parts) {
        for (const Program& program : part.plan->programs) {
          ops += program.ops.size() * static_cast<std::size_t>(part.steps) * part.plan->ranks.size();
        }
      }
      if (ops > most_ops) {
        error({file_.file, 0, 0, {}}, "the jobs' steps are too different in length to be played together",
              "more gradient accumulation in the short ones makes them alike");
        return said_;
      }
      const JoinedPlan plan = joined(parts);
      const Result<Timeline> timeline = simulate(plan.plan, resources, {.executor = executor_});
      if (!timeline) return timeline.diagnostics();
      const std::vector<std::optional<JobPace>> measured = paces(plan, *timeline);
      const bool complete = std::all_of(measured.begin(), measured.end(), [](const auto& pace) { return pace.has_value(); });
      if (complete) return {result(plan, *timeline, measured, resources), said_};
      for (PlanPart& part : parts) part.steps *= 2;
    }
  }

  JobsResult result(const JoinedPlan& plan, const Timeline& timeline, const std::vector<std::optional<JobPace>>& measured,
                    const ResourceTable& resources) {
    JobsResult result{file_.file, file_.title, jobs_.front().prepared.topology->title(), {}, {}};
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      std::vector<ResourceWait> more = more_waits(resource_waits(plan, i, timeline, resources), job.waits_alone);
      Result<FinishedRun> alone = finish_run(std::move(job.prepared), {.executor = executor_});
      expects(alone.has_value(), "a plan that ran beside others runs alone");
      result.jobs.push_back({job.name, job.cards, std::move(alone->result), job.step_alone, measured[i]->step_time,
                             measured[i]->steps, std::move(more)});
    }
    result.links = shared_links(plan, timeline, resources);
    return result;
  }

  static std::vector<ResourceWait> more_waits(const std::vector<ResourceWait>& together,
                                              const std::vector<ResourceWait>& alone) {
    std::map<std::string, Duration> before;
    for (const ResourceWait& wait : alone) before[wait.resource] = wait.time;
    std::vector<ResourceWait> more;
    for (const ResourceWait& wait : together) {
      const Duration time = wait.time - before[wait.resource];
      if (time > Duration{}) more.push_back({wait.resource, time});
    }
    std::stable_sort(more.begin(), more.end(),
                     [](const ResourceWait& a, const ResourceWait& b) { return a.time > b.time; });
    return more;
  }

  /// Resources that ops of two jobs or more use.
  static std::vector<LinkMetrics> shared_links(const JoinedPlan& plan, const Timeline& timeline,
                                               const ResourceTable& resources) {
    std::map<ResourceId, std::set<std::size_t>> users;
    for (std::size_t part = 0; part < plan.parts.size(); ++part) {
      const JoinedPart& place = plan.parts[part];
      for (std::uint32_t rank = place.first_rank; rank < place.first_rank + place.ranks; ++rank) {
        const RankBinding& binding = plan.plan.ranks[rank];
        for (const CopyPath& path : binding.paths) {
          for (const Demand& demand : path.demands) users[demand.resource].insert(part);
        }
        for (const CommunicatorId communicator : binding.communicators) {
          for (const CollectiveId id : plan.plan.communicators[index(communicator)].lowered) {
            for (const Activity& activity : plan.plan.collectives[index(id)].activities) {
              for (const Demand& demand : activity.demands) users[demand.resource].insert(part);
            }
          }
        }
      }
    }
    std::vector<LinkMetrics> links;
    for (const auto& [id, parts] : users) {
      const ResourceUse& use = timeline.resources[index(id)];
      const Resource& resource = resources[index(id)];
      if (parts.size() < 2 || use.moved <= 0.0 || resource.kind == ResourceKind::card_memory) continue;
      LinkMetrics link;
      link.name = resource.name;
      link.capacity = Bandwidth(resource.capacity);
      link.busy = use.busy;
      link.utilisation_mean = use.moved / (resource.capacity * to_seconds(timeline.end));
      link.utilisation_peak = use.peak / resource.capacity;
      links.push_back(std::move(link));
    }
    std::stable_sort(links.begin(), links.end(), [](const LinkMetrics& a, const LinkMetrics& b) {
      return a.utilisation_mean > b.utilisation_mean;
    });
    return links;
  }

  const JobsFile& file_;
  const Overrides& overrides_;
  SharedParts parts_;
  Executor* executor_;
  std::vector<Job> jobs_;
  Diagnostics said_;
};

}  // namespace

Diagnostics check_jobs(const JobsFile& file, const Overrides& overrides, Library& library) {
  return JobsRun(file, overrides, library, nullptr).check();
}

Result<JobsResult> run_jobs(const JobsFile& file, const Overrides& overrides, Library& library, Executor* executor) {
  return JobsRun(file, overrides, library, executor).play();
}

}  // namespace takt
