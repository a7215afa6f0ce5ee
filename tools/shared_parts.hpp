// What several runs have in common, built once: models, topologies with their routes, priced workloads.
//
// Everything handed out is constant, so runs on several threads share it; a topology plans a route when it is first
// asked for, under a lock of its own. Equal scenarios get equal parts whether they were kept or built anew: a part is
// looked up by everything that it is made of.
#pragma once

#include "config/library.hpp"
#include "config/scenario.hpp"
#include "topology/topology.hpp"
#include "workload/pricer.hpp"
#include "workload/workload.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace takt {

class SharedParts {
 public:
  /// Data files come from `library`, which must outlive this; `constants` hold within steps.
  explicit SharedParts(Library& library, const GlobalConstants& constants = recorded_global_constants())
      : library_(library), constants_(constants) {}

  /// What prices kernels of `card` within the scenario's step.
  KernelPricer pricer(const Scenario& scenario, const CardSpec& card) const;

  Result<std::shared_ptr<const ModelSpec>> model(const Scenario& scenario);
  Result<std::shared_ptr<const Topology>> topology(const Scenario& scenario);
  /// `pricer` prices kernels for a card of the scenario's topology. Fails as build_workload does.
  Result<std::shared_ptr<const Workload>> workload(const Scenario& scenario, const ModelSpec& model,
                                                   const KernelPricer& pricer);

 private:
  template <class Part>
  using Kept = std::map<std::string, Result<std::shared_ptr<const Part>>>;

  /// The part under `name`, made by `make` (outside the lock) where there is none. Failures are not kept: their
  /// messages point into the scenario that asked.
  template <class Part, class Make>
  Result<std::shared_ptr<const Part>> get(Kept<Part>& kept, const std::string& name, Make make);

  Library& library_;
  GlobalConstants constants_;
  std::mutex mutex_;
  Kept<ModelSpec> models_;
  Kept<Topology> topologies_;
  Kept<Workload> workloads_;
};

}  // namespace takt
