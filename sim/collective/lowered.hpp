// A collective as the engine plays it: resources and activities, no cards or servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/prediction_interval.hpp"
#include "base/units.hpp"
#include "collective/activity.hpp"

namespace takt {

/// What NCCL keeps on a member's card once such a call has run (semantics N70): calls of a communicator with the same
/// algorithm share it.
struct CallBuffers {
  std::uint8_t algorithm = 0;
  Bytes on_card{};  ///< of the member that holds most
};

struct LoweredCollective {
  Duration fixed{};                   ///< before its activities start (base time and hops)
  std::int64_t ctas = 0;              ///< SMs held on each member's card from launch to end
  Bytes moved_per_rank{};             ///< what each rank sends, and receives
  std::vector<Activity> activities;   ///< what it does
  PartList parts;                     ///< how often and in which order; empty: each activity once, all at once
  std::string explanation;            ///< "ring over 8 cards, 2 CTAs, 13.0 GB/s a CTA binds"
  CallBuffers buffers;
  std::optional<PredictionInterval> interval;  ///< of its time alone; none for sizing floors
};

}  // namespace takt
