#include "engine/regions.hpp"

#include <algorithm>
#include <numeric>

namespace takt {
namespace {

/// Fewer messages at once than this do not make a region.
constexpr std::size_t messages_of_a_region = 128;

/// An activity over more resources than this is no message: it lies across regions, however they are cut.
constexpr std::size_t most_demands = 16;

/// How many messages may be under way at once.
std::size_t messages_at_once(std::span<const Communicator> communicators,
                             std::span<const LoweredCollective> collectives) {
  std::size_t all = 0;
  for (const Communicator& communicator : communicators) {
    std::size_t widest = 0;
    for (const CollectiveId call : communicator.lowered) {
      const LoweredCollective& collective = collectives[index(call)];
      if (!collective.parts.empty()) widest = std::max(widest, collective.activities.size());
    }
    all += widest;
  }
  return all;
}

/// The neighbours of each resource, one list after another, and how many messages use it.
struct Neighbours {
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> list;
  std::vector<std::size_t> messages;
};

template <class Visit>
void for_each_message(std::span<const LoweredCollective> collectives, const Visit& visit) {
  for (const LoweredCollective& collective : collectives) {
    for (const Activity& activity : collective.activities) {
      if (activity.demands.size() <= most_demands) visit(activity.demands);
    }
  }
}

Neighbours neighbours_of(std::span<const LoweredCollective> collectives, std::size_t resources) {
  Neighbours made{std::vector<std::size_t>(resources + 1, 0), {}, std::vector<std::size_t>(resources, 0)};
  for_each_message(collectives, [&](const std::vector<Demand>& demands) {
    for (std::size_t i = 0; i < demands.size(); ++i) {
      ++made.messages[index(demands[i].resource)];
      made.first[index(demands[i].resource) + 1] += (i > 0 ? 1U : 0U) + (i + 1 < demands.size() ? 1U : 0U);
    }
  });
  std::partial_sum(made.first.begin(), made.first.end(), made.first.begin());
  made.list.resize(made.first.back());
  std::vector<std::size_t> cursor(made.first.begin(), made.first.end() - 1);
  for_each_message(collectives, [&](const std::vector<Demand>& demands) {
    for (std::size_t i = 1; i < demands.size(); ++i) {
      const auto a = static_cast<std::uint32_t>(demands[i - 1].resource), b = static_cast<std::uint32_t>(demands[i].resource);
      made.list[cursor[a]++] = b;
      made.list[cursor[b]++] = a;
    }
  });
  return made;
}

/// All resources, those of messages breadth first.
std::vector<std::uint32_t> walked(const Neighbours& neighbours) {
  const std::size_t count = neighbours.messages.size();
  std::vector<std::uint32_t> order;
  order.reserve(count);
  std::vector<bool> seen(count, false);
  for (std::uint32_t start = 0; start < count; ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    order.push_back(start);
    for (std::size_t head = order.size() - 1; head < order.size(); ++head) {
      for (std::size_t n = neighbours.first[order[head]]; n < neighbours.first[order[head] + 1]; ++n) {
        const std::uint32_t next = neighbours.list[n];
        if (seen[next]) continue;
        seen[next] = true;
        order.push_back(next);
      }
    }
  }
  return order;
}

}  // namespace

Regions divided(std::span<const Communicator> communicators, std::span<const LoweredCollective> collectives,
                std::size_t resources, Division division) {
  const std::size_t messages = messages_at_once(communicators, collectives);
  std::size_t count = std::min<std::size_t>(Regions::most, messages / messages_of_a_region);
  if (division == Division::always) count = Regions::most;
  if (division == Division::never || count < 2) return {};
  const Neighbours neighbours = neighbours_of(collectives, resources);
  const std::size_t all = std::accumulate(neighbours.messages.begin(), neighbours.messages.end(), std::size_t{0});
  Regions made{static_cast<std::uint32_t>(count), std::vector<std::uint8_t>(resources, 0)};
  std::size_t before = 0;
  for (const std::uint32_t resource : walked(neighbours)) {
    made.of_resource[resource] = static_cast<std::uint8_t>(std::min(count - 1, before * count / std::max<std::size_t>(1, all)));
    before += neighbours.messages[resource];
  }
  return made;
}

}  // namespace takt
