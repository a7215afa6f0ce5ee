// From "so many NVLinks between these two cards" to what a server file says: bridges, single links, an NVSwitch.
#pragma once

#include "config/card_spec.hpp"
#include "topology/import/server_draft.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// Cards are positions in card order, ascending.
struct NvlinkPlan {
  struct Pair {
    std::size_t a = 0;
    std::size_t b = 0;
    std::int64_t count = 0;
  };
  std::vector<std::vector<std::size_t>> bridges;   ///< full meshes that use every link of their cards
  std::vector<std::vector<std::size_t>> switched;  ///< cards of one NVSwitch domain
  std::vector<Pair> links;                         ///< everything else
  std::vector<std::string> assumed;
  std::vector<std::string> warnings;
};

/// `card_names` are for messages, in card order. `links_per_card` is the number of NVLinks of the cards; nothing if the
/// card is unknown.
///
/// A group of cards joined by NVLink is one of three things. If the source names switches, or if the pairs of a full
/// mesh show more links than a card has (eight cards with NV18 each to each would need 7 x 18), it is an NVSwitch. If
/// the pairs of a full mesh use up exactly what a card has, it is a bridge. Anything else is taken pair by pair.
NvlinkPlan plan_nvlinks(const std::vector<NvlinkDraft>& nvlinks, std::vector<std::string> card_names,
                        std::optional<std::int64_t> links_per_card);

}  // namespace takt
