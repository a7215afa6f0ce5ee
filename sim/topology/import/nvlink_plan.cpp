#include "topology/import/nvlink_plan.hpp"

#include "base/text.hpp"
#include "topology/import/union_find.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

/// The most NVLinks a card of any generation has (Hopper, Blackwell: 18); the bound for cards Takt does not know.
constexpr std::int64_t most_links = 18;

class Planner {
 public:
  Planner(const std::vector<NvlinkDraft>& nvlinks, std::vector<std::string> card_names,
          std::optional<std::int64_t> links_per_card)
      : names_(std::move(card_names)), links_per_card_(links_per_card), to_switch_(names_.size(), 0) {
    for (const NvlinkDraft& link : nvlinks) {
      const auto a = static_cast<std::size_t>(link.card);
      if (link.peer < 0) {
        to_switch_[a] += link.count;
        continue;
      }
      const auto b = static_cast<std::size_t>(link.peer);
      pairs_[{std::min(a, b), std::max(a, b)}] = link.count;
    }
  }

  NvlinkPlan plan() {
    plan_named_switch();
    for (const std::vector<std::size_t>& group : groups()) plan_group(group);
    return std::move(plan_);
  }

 private:
  void plan_named_switch() {
    std::vector<std::size_t> cards;
    for (std::size_t card = 0; card < names_.size(); ++card) {
      if (to_switch_[card] > 0) cards.push_back(card);
    }
    if (cards.empty()) return;
    for (const std::size_t card : cards) {
      if (links_per_card_ && to_switch_[card] != *links_per_card_) {
        plan_.warnings.push_back(fmt::format("{} has {} NVLinks to the switches, its card has {}", names_[card],
                                             to_switch_[card], *links_per_card_));
      }
    }
    plan_.switched.push_back(std::move(cards));
  }

  std::vector<std::vector<std::size_t>> groups() const {
    UnionFind joined(names_.size());
    for (const auto& [pair, count] : pairs_) joined.join(pair.first, pair.second);
    std::vector<std::vector<std::size_t>> result;
    for (std::vector<std::size_t>& cards : joined.sets()) {
      if (cards.size() > 1) result.push_back(std::move(cards));
    }
    return result;
  }

  std::string names(const std::vector<std::size_t>& cards) const {
    std::vector<std::string> list;
    for (const std::size_t card : cards) list.push_back(names_[card]);
    return join(list, ", ");
  }

  /// The number of links of every pair, if the cards are a full mesh with equal pairs.
  std::optional<std::int64_t> uniform_mesh(const std::vector<std::size_t>& cards) const {
    std::optional<std::int64_t> count;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      for (std::size_t j = i + 1; j < cards.size(); ++j) {
        const auto pair = pairs_.find({cards[i], cards[j]});
        if (pair == pairs_.end() || (count && *count != pair->second)) return std::nullopt;
        count = pair->second;
      }
    }
    return count;
  }

  void plan_group(const std::vector<std::size_t>& cards) {
    const std::optional<std::int64_t> mesh = uniform_mesh(cards);
    const auto peers = static_cast<std::int64_t>(cards.size()) - 1;
    const std::int64_t available = links_per_card_.value_or(most_links);
    if (mesh && peers > 1 && *mesh * peers > available) {
      plan_.assumed.push_back(fmt::format("NVSwitch between {}: NV{} each to each would need {} NVLinks, {} has {}",
                                          names(cards), *mesh, *mesh * peers, links_per_card_ ? "the card" : "any card",
                                          available));
      plan_.switched.push_back(cards);
      return;
    }
    if (mesh && links_per_card_ && *mesh * peers == *links_per_card_) {
      plan_.bridges.push_back(cards);
      return;
    }
    if (mesh && links_per_card_) warn_of_missing_links(cards, *mesh, peers);
    for (const auto& [pair, count] : pairs_) {
      if (std::find(cards.begin(), cards.end(), pair.first) == cards.end()) continue;
      plan_.links.push_back({pair.first, pair.second, count});
    }
  }

  void warn_of_missing_links(const std::vector<std::size_t>& cards, std::int64_t mesh, std::int64_t peers) {
    if (mesh * peers > *links_per_card_) {
      plan_.warnings.push_back(fmt::format("NV{} between {} is more than the {} NVLinks of the card; is --card right?",
                                           mesh, names(cards), *links_per_card_));
      return;
    }
    plan_.warnings.push_back(
        fmt::format("NV{} between {} uses {} of the card's {} NVLinks; a full mesh of all of them shows NV{}", mesh,
                    names(cards), mesh * peers, *links_per_card_, *links_per_card_ / peers));
  }

  std::vector<std::string> names_;
  std::optional<std::int64_t> links_per_card_;
  std::vector<std::int64_t> to_switch_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> pairs_;
  NvlinkPlan plan_;
};

}  // namespace

NvlinkPlan plan_nvlinks(const std::vector<NvlinkDraft>& nvlinks, std::vector<std::string> card_names,
                        std::optional<std::int64_t> links_per_card) {
  return Planner(nvlinks, std::move(card_names), links_per_card).plan();
}

}  // namespace takt
