// What a collective crosses, and how well the time of such collectives is known.
#pragma once

#include "base/prediction_interval.hpp"
#include "collective/solo.hpp"

#include <cstdint>

namespace takt {

/// The slowest kind of hop that it has.
enum class CollectiveWay : std::uint8_t {
  nvswitch,      ///< NVLink through switches
  bridge,        ///< NVLink from card to card
  peer_to_peer,  ///< PCIe, card to card
  host,          ///< PCIe, through host memory
  network
};
inline constexpr std::size_t collective_ways = 5;

CollectiveWay way_of(const CollectiveShape& shape);

/// "NVSwitches", "NVLink bridges", "PCIe, card to card", "host memory", "a network".
const char* to_text(CollectiveWay way);

/// Of a collective's time alone, each machine left out of the fit: `takt validate --collectives --leave-one-out`, which
/// leaves a bound when it finds another one.
PredictionInterval collective_interval(CollectiveWay way);

}  // namespace takt
