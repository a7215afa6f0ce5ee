#include "collective/rings.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace takt {
namespace {

/// Which NVLink domain a card is in; -1 if none.
std::int32_t domain_of(VertexId card, const Topology& topology) {
  const auto& domains = topology.nvlink_domains();
  for (std::size_t d = 0; d < domains.size(); ++d) {
    if (std::find(domains[d].cards.begin(), domains[d].cards.end(), card) != domains[d].cards.end()) {
      return static_cast<std::int32_t>(d);
    }
  }
  return -1;
}

bool in_one_mesh(std::span<const VertexId> members, const Topology& topology) {
  const std::int32_t domain = domain_of(members.front(), topology);
  if (domain < 0 || topology.nvlink_domains()[static_cast<std::size_t>(domain)].switched) return false;
  return std::all_of(members.begin(), members.end(),
                     [&](VertexId member) { return domain_of(member, topology) == domain; });
}

/// All directed Hamiltonian rings of a full mesh: the first member stays first, the rest is permuted.
std::vector<RingOrder> all_rings(std::span<const VertexId> members) {
  std::vector<std::size_t> rest(members.size() - 1);
  std::iota(rest.begin(), rest.end(), std::size_t{1});
  std::vector<RingOrder> orders;
  do {
    RingOrder order = {members[0]};
    for (const std::size_t i : rest) order.push_back(members[i]);
    orders.push_back(std::move(order));
  } while (std::next_permutation(rest.begin(), rest.end()));
  return orders;
}

/// Rings that step by each k without a common divisor with n: for prime n every link direction of a mesh carries one.
std::vector<RingOrder> stride_rings(std::span<const VertexId> members) {
  std::vector<RingOrder> orders;
  for (std::size_t stride = 1; stride < members.size(); ++stride) {
    if (std::gcd(stride, members.size()) != 1) continue;
    RingOrder order;
    for (std::size_t i = 0; i < members.size(); ++i) order.push_back(members[i * stride % members.size()]);
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace

std::vector<RingOrder> ring_orders(std::span<const VertexId> members, const Topology& topology) {
  constexpr std::size_t few_enough_for_all = 4;   // a bridge joins at most four cards
  if (in_one_mesh(members, topology)) {
    return members.size() <= few_enough_for_all ? all_rings(members) : stride_rings(members);
  }
  struct Place {
    std::int32_t server = 0, domain = 0;
    std::size_t rank = 0;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < members.size(); ++i) {
    places.push_back({topology.device(members[i]).server, domain_of(members[i], topology), i});
  }
  // A domain stands where its first card stands, so that cards without NVLink keep their rank order.
  std::vector<std::size_t> first_of_domain(topology.nvlink_domains().size(), members.size());
  for (const Place& place : places) {
    if (place.domain < 0) continue;
    auto& first = first_of_domain[static_cast<std::size_t>(place.domain)];
    first = std::min(first, place.rank);
  }
  const auto key = [&](const Place& place) {
    const std::size_t group = place.domain < 0 ? place.rank : first_of_domain[static_cast<std::size_t>(place.domain)];
    return std::tuple(place.server, group, place.rank);
  };
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) { return key(a) < key(b); });
  RingOrder order;
  for (const Place& place : places) order.push_back(members[place.rank]);
  return {order};
}

}  // namespace takt
