// From the lanes of a collective to activities: one a lane, or one a message.
#pragma once

#include "collective/activity.hpp"
#include "collective/lowering.hpp"
#include "collective/solo.hpp"

#include <vector>

namespace takt {

/// What the activities of a collective have in common.
struct LaneWork {
  double work = 0.0;       ///< bytes of all lanes together, flags and overlap loss included
  double payload = 1.0;    ///< share of it that is data
  double cap = 0.0;        ///< bytes/s of all lanes together
  std::int64_t steps = 1;  ///< of a ring; of the longest way of a tree
  std::int64_t ctas = 1;
  std::int64_t chunks = 1;  ///< chunked: pieces of a channel's step (ring) or of all that it carries
  Duration hop{};           ///< chunked: of a ring, before each message; of a tree, until an arrival can be passed on
};

/// Resources and their demands for each byte of work of a lane.
std::vector<Demand> demands_of(std::span<const Hop> hops, const CommunicatorCards& cards, const Topology& topology,
                               const CollectiveOptions& options);

/// Fluid: one activity a lane.
std::vector<Activity> fluid_activities(std::span<const Lane> lanes, const LaneWork& work,
                                       const CommunicatorCards& cards, const Topology& topology,
                                       const CollectiveOptions& options);

/// What a collective sends message by message: see LoweredCollective.
struct MessageParts {
  std::vector<Activity> activities;
  PartList parts;
};

/// Chunked: one part a message. A member of a ring passes on what came in the step before; a card of a tree what
/// came from all below it (or from above it); switches take one part of the buffer after another. A ring's step is cut
/// into NCCL's pipeline chunks if the settings ask for that; trees and switches have no other unit and always are. A
/// tree's chunks follow one another on an edge without a gap, as buffers of eight steps let them: only what arrives
/// waits for its hop's time, in a part without work.
MessageParts message_parts(std::span<const Lane> lanes, const LaneWork& work, const CommunicatorCards& cards,
                           const Topology& topology, const CollectiveOptions& options);

}  // namespace takt
