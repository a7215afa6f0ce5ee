#include "plan/zero_coordinator.hpp"

#include <algorithm>

namespace takt {
namespace {

class Coordinator {
 public:
  Coordinator(const std::vector<GatheredParameter>& parameters, const Trace& trace, const CoordinatorSettings& settings)
      : parameters_(parameters), trace_(trace), settings_(settings), available_(parameters.size(), false) {
    for (std::size_t i = 0; i < parameters.size(); ++i) available_[i] = parameters[i].persistent;
    for (std::size_t visit = 0; visit < trace.size(); ++visit) {
      for (const std::uint32_t parameter : trace[visit]) queue_.push_back({parameter, visit});
    }
  }

  std::vector<CoordinatorStep> run() {
    std::vector<CoordinatorStep> steps(trace_.size());
    for (std::size_t visit = 0; visit < trace_.size(); ++visit) {
      CoordinatorStep& step = steps[visit];
      for (const std::uint32_t parameter : trace_[visit]) {
        if (!available_[parameter]) take(parameter, step.fetch);
      }
      while (next_ < queue_.size() && queue_[next_].visit <= visit) ++next_;
      if (settings_.has_trace) prefetch(step);
      release(visit, step);
    }
    return steps;
  }

 private:
  struct Use {
    std::uint32_t parameter = 0;
    std::size_t visit = 0;
  };

  void take(std::uint32_t parameter, std::vector<std::uint32_t>& list) {
    available_[parameter] = true;
    live_ += parameters_[parameter].elements;
    list.push_back(parameter);
  }

  void prefetch(CoordinatorStep& step) {
    const std::int64_t most = std::min(settings_.max_live - live_, settings_.prefetch_bucket);
    std::int64_t elements = 0;
    while (next_ < queue_.size() && elements < most) {
      const std::uint32_t parameter = queue_[next_++].parameter;
      if (available_[parameter]) continue;
      elements += parameters_[parameter].elements;
      take(parameter, step.prefetch);
    }
  }

  /// Whether a parameter is used again within the reuse distance behind `visit`.
  bool soon_again(std::uint32_t parameter, std::size_t visit) const {
    std::int64_t traversed = 0;
    for (std::size_t later = visit + 1; later < trace_.size() && traversed < settings_.max_reuse_distance; ++later) {
      for (const std::uint32_t other : trace_[later]) {
        if (other == parameter) return true;
        traversed += parameters_[other].elements;
      }
    }
    return false;
  }

  void release(std::size_t visit, CoordinatorStep& step) {
    for (const std::uint32_t parameter : trace_[visit]) {
      const bool released = std::find(step.release.begin(), step.release.end(), parameter) != step.release.end();
      if (parameters_[parameter].persistent || released || soon_again(parameter, visit)) continue;
      step.release.push_back(parameter);
      available_[parameter] = false;
      live_ -= parameters_[parameter].elements;
    }
  }

  const std::vector<GatheredParameter>& parameters_;
  const Trace& trace_;
  const CoordinatorSettings& settings_;
  std::vector<bool> available_;
  std::int64_t live_ = 0;
  std::vector<Use> queue_;  ///< uses in trace order; from `next_` on they may be prefetched
  std::size_t next_ = 0;
};

}  // namespace

std::vector<CoordinatorStep> coordinate(const std::vector<GatheredParameter>& parameters, const Trace& trace,
                                        const CoordinatorSettings& settings) {
  return Coordinator(parameters, trace, settings).run();
}

}  // namespace takt
