#include "collective/way.hpp"

#include "base/contract.hpp"

#include <algorithm>

namespace takt {

CollectiveWay way_of(const CollectiveShape& shape) {
  const RingHops& hops = shape.query.hops;
  if (hops.net > 0 || shape.query.nodes > 1) return CollectiveWay::network;
  if (hops.shm > 0) return CollectiveWay::host;
  if (hops.p2p > 0) return CollectiveWay::peer_to_peer;
  const bool switched = std::any_of(shape.loads.begin(), shape.loads.end(), [&](const LinkLoad& load) {
    return load.kind == LinkKind::nvswitch;
  });
  return switched ? CollectiveWay::nvswitch : CollectiveWay::bridge;
}

const char* to_text(CollectiveWay way) {
  switch (way) {
    case CollectiveWay::nvswitch:
      return "NVSwitches";
    case CollectiveWay::bridge:
      return "NVLink bridges";
    case CollectiveWay::peer_to_peer:
      return "PCIe, card to card";
    case CollectiveWay::host:
      return "host memory";
    case CollectiveWay::network:
      return "a network";
  }
  unreachable("a way without a name");
}

PredictionInterval collective_interval(CollectiveWay way) {
  switch (way) {
    case CollectiveWay::nvswitch:
      return {0.89, 1.24};
    case CollectiveWay::bridge:
      return {0.76, 1.31};
    case CollectiveWay::peer_to_peer:
      return {0.85, 1.41};
    case CollectiveWay::host:
      return {0.76, 1.59};
    case CollectiveWay::network:
      return {0.75, 1.94};
  }
  unreachable("a way without an interval");
}

}  // namespace takt
