// In which orders a ring collective visits its members.
#pragma once

#include <span>
#include <vector>

#include "topology/topology.hpp"

namespace takt {

/// A directed ring: member i sends to member i + 1, the last to the first.
using RingOrder = std::vector<VertexId>;

/// The ring orders that carry equal shares of a collective.
///
/// Cards of one bridge (a full mesh of direct links) use several orders at once, so that every link direction carries the
/// same: on a 4-way bridge all six directed Hamiltonian rings. Everything else uses one ring that visits server after
/// server, NVLink domain after domain, cards in rank order.
std::vector<RingOrder> ring_orders(std::span<const VertexId> members, const Topology& topology);

}  // namespace takt
