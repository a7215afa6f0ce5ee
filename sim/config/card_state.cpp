#include "config/card_state.hpp"

#include "base/text.hpp"
#include "config/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace takt {
namespace {

void scale_peaks(CardSpec& card, double share) {
  for (auto& [precision, rate] : card.dense_peak) rate = rate * share;
}

Bytes share_of(Bytes whole, double share) {
  return Bytes(std::llround(static_cast<double>(whole.count()) * share));
}

using Curve = std::vector<std::pair<double, double>>;  // watts and speed, ascending

/// On the straight line between the neighbours of `watts`, which lies within the curve.
double at_limit(const Curve& curve, double watts) {
  const auto above = std::find_if(curve.begin(), curve.end(), [&](const auto& point) { return point.first >= watts; });
  if (above == curve.begin()) return above->second;
  const auto below = above - 1;
  const double way = (watts - below->first) / (above->first - below->first);
  return below->second + way * (above->second - below->second);
}

Diagnostic error_at(const SourcePlace& place, std::string message, std::string hint) {
  return {Severity::error, place, std::move(message), std::move(hint)};
}

Result<CardSpec> cut(const CardSpec& card, const std::string& name, const SourcePlace& asked_at) {
  std::vector<std::string> names;
  for (const MigProfile& profile : card.mig_profiles) {
    if (profile.name == name) return slice_of(card, profile);
    names.push_back(profile.name);
  }
  if (names.empty()) {
    return error_at(asked_at, fmt::format("{} cannot be cut into MIG slices", card.name),
                    "leave the slice out, or use a card that has them");
  }
  const std::optional<std::string> near = did_you_mean(name, names);
  return error_at(asked_at, fmt::format("{} has no MIG profile \"{}\"", card.name, name),
                  near ? fmt::format("did you mean \"{}\"?", *near) : fmt::format("it has {}", join(names, ", ")));
}

Result<CardSpec> held(const CardSpec& card, Power limit, const SourcePlace& asked_at) {
  const std::string asked = quantity_text(limit), tdp = quantity_text(card.tdp);
  if (limit > card.tdp) {
    return error_at(asked_at, fmt::format("a limit of {} is above the {} of {}", asked, tdp, card.name),
                    fmt::format("use {} or less", tdp));
  }
  if (limit == card.tdp) return card;
  if (card.power_points.empty()) {
    return error_at(asked_at, fmt::format("nobody measured {} under a power limit", card.name),
                    "add points to [[power]] of its file, or leave the limit out");
  }
  if (limit < card.power_points.front().limit) {
    return error_at(asked_at, fmt::format("{} was not measured at {}", card.name, asked),
                    fmt::format("its lowest point is {}", quantity_text(card.power_points.front().limit)));
  }
  return limited(card, limit);
}

}  // namespace

CardSpec slice_of(const CardSpec& card, const MigProfile& profile) {
  CardSpec slice = card;
  slice.name = card.name + ' ' + profile.name;
  slice.sm_count = card.sm_count * profile.compute_slices / card.mig_slices;
  scale_peaks(slice, static_cast<double>(slice.sm_count) / static_cast<double>(card.sm_count));
  slice.memory_bandwidth = card.memory_bandwidth * profile.memory_share;
  slice.l2_cache = share_of(card.l2_cache, profile.memory_share);
  slice.memory_nominal = profile.memory;
  slice.memory_visible = profile.usable.value_or(share_of(card.memory_visible, profile.memory_share));
  return slice;
}

CardSpec limited(const CardSpec& card, Power limit) {
  Curve compute, memory;
  for (const PowerPoint& point : card.power_points) {
    compute.emplace_back(point.limit.count(), point.compute);
    if (point.memory) memory.emplace_back(point.limit.count(), *point.memory);
  }
  compute.emplace_back(card.tdp.count(), 1.0);
  memory.emplace_back(card.tdp.count(), 1.0);
  CardSpec slower = card;
  slower.tdp = limit;
  slower.delivered_limit = card.tdp;
  scale_peaks(slower, at_limit(compute, limit.count()));
  slower.memory_bandwidth = card.memory_bandwidth * at_limit(memory, limit.count());
  return slower;
}

Result<CardSpec> card_in_state(const CardSpec& card, const CardState& state) {
  Result<CardSpec> whole =
      state.power_limit ? held(card, *state.power_limit, state.limit_asked_at) : Result<CardSpec>(card);
  if (!whole || state.mig.empty()) return whole;
  return cut(*whole, state.mig, state.mig_asked_at);
}

}  // namespace takt
