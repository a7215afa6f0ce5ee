#include "plan/rank_group.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace takt {
namespace {

/// "1, 2, 4 or 8".
std::string divisors(std::int64_t number) {
  std::vector<std::string> all;
  for (std::int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) all.push_back(std::to_string(d));
  }
  if (all.size() == 1) return all.front();
  const std::string last = all.back();
  all.pop_back();
  return join(all, ", ") + " or " + last;
}

/// Cards of each server that take part, in order of first appearance.
std::vector<std::int64_t> cards_by_server(const std::vector<CardInstance>& cards) {
  std::vector<std::int32_t> servers;
  std::vector<std::int64_t> counts;
  for (const CardInstance& card : cards) {
    const auto found = std::find(servers.begin(), servers.end(), card.server);
    if (found == servers.end()) {
      servers.push_back(card.server);
      counts.push_back(1);
    } else {
      ++counts[static_cast<std::size_t>(found - servers.begin())];
    }
  }
  return counts;
}

bool shards(Strategy strategy) {
  return strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2 || strategy == Strategy::zero1 ||
         strategy == Strategy::zero2 || strategy == Strategy::zero3;
}

Result<std::int64_t> hybrid_group(const Scenario& scenario, const std::vector<CardInstance>& cards) {
  const auto ranks = static_cast<std::int64_t>(cards.size());
  if (scenario.parallel.shard_group == 0) {
    const std::vector<std::int64_t> counts = cards_by_server(cards);
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (*least == *most) return *least;
    return Diagnostic{Severity::error, place_of(scenario.places, "parallel.sharding", scenario.file),
                      fmt::format("hybrid sharding within a server needs equally many cards of each, but between {} "
                                  "and {} take part",
                                  *least, *most),
                      "choose the cards with hardware.cards, or set parallel.shard_group"};
  }
  const std::int64_t group = scenario.parallel.shard_group;
  if (group > 0 && ranks % group == 0) return group;
  return Diagnostic{Severity::error, place_of(scenario.places, "parallel.shard_group", scenario.file),
                    fmt::format("hybrid shard group of {} does not divide {} ranks", group, ranks),
                    "use " + divisors(ranks)};
}

}  // namespace

namespace {

/// Shard groups cut further for fsdp2's reshard_after_forward = k.
Result<RankLayout> with_reshard_groups(RankLayout layout, const Scenario& scenario) {
  const std::int64_t group = scenario.parallel.fsdp2.reshard_group;
  if (scenario.parallel.strategy != Strategy::fsdp2 || group == 0) return layout;
  if (layout.shard_ranks % group != 0) {
    return Diagnostic{Severity::error, place_of(scenario.places, "parallel.fsdp2.reshard_group", scenario.file),
                      fmt::format("reshard group of {} does not divide the {} ranks that share the parameters", group,
                                  layout.shard_ranks),
                      "use " + divisors(layout.shard_ranks)};
  }
  layout.reshard_ranks = group;
  return layout;
}

}  // namespace

Result<RankLayout> rank_layout(const Scenario& scenario, const std::vector<CardInstance>& cards) {
  const auto ranks = static_cast<std::int64_t>(cards.size());
  if (scenario.parallel.strategy == Strategy::none && ranks > 1) {
    return Diagnostic{Severity::error, place_of(scenario.places, "parallel.strategy", scenario.file),
                      fmt::format("strategy none runs on one card, but {} take part", ranks),
                      "choose one with hardware.cards = [0], or another strategy"};
  }
  const Sharding sharding = scenario.parallel.sharding;
  if (!shards(scenario.parallel.strategy) || sharding == Sharding::no_shard) return RankLayout{1, ranks};
  if (sharding != Sharding::hybrid && sharding != Sharding::hybrid_grad_op) {
    return with_reshard_groups({ranks, 1}, scenario);
  }
  const Result<std::int64_t> group = hybrid_group(scenario, cards);
  if (!group) return group.diagnostics();
  return with_reshard_groups({*group, ranks / *group}, scenario);
}

std::vector<std::vector<RankId>> shard_groups(RankLayout layout) {
  std::vector<std::vector<RankId>> groups(static_cast<std::size_t>(layout.replicas));
  const auto size = static_cast<std::size_t>(layout.shard_ranks);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t i = 0; i < size; ++i) groups[group].push_back(id_at<RankId>(group * size + i));
  }
  return groups;
}

std::vector<std::vector<RankId>> replicate_groups(RankLayout layout) {
  std::vector<std::vector<RankId>> groups(static_cast<std::size_t>(layout.shard_ranks));
  const auto copies = static_cast<std::size_t>(layout.replicas);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (std::size_t i = 0; i < copies; ++i) groups[group].push_back(id_at<RankId>(i * groups.size() + group));
  }
  return groups;
}

}  // namespace takt
