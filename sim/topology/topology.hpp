// A machine, or a cluster of them, as a graph with routes and a table of shared resources.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"
#include "topology/device.hpp"
#include "topology/resource.hpp"

namespace takt {

/// The links a transfer crosses, in order, from `from` to `to`.
struct Route {
  VertexId from{};
  VertexId to{};
  std::vector<LinkId> links;
  Duration latency{};             ///< sum over the links
};

/// How two cards exchange data.
enum class Transport {
  peer_to_peer,   ///< the sender writes into the receiver's memory
  host_staged,    ///< the sender writes to host memory on the receiver's side, the receiver reads it (semantics N12)
  network,        ///< through NICs
};

/// Whether a NIC reads and writes a card's memory itself (GPUDirect) or host memory, to which the card copies.
enum class NicAccess { direct, host_staged };

/// A way of exchanging data that is prescribed instead of chosen.
struct TransferWay {
  Transport transport = Transport::peer_to_peer;
  NicAccess sender = NicAccess::direct;      ///< of Transport::network
  NicAccess receiver = NicAccess::direct;

  bool operator==(const TransferWay&) const = default;
};

/// nvidia-smi's names of how far two devices are apart (semantics N5).
enum class PathType { self, nvlink, pix, pxb, phb, node, sys, net, disconnected };

/// What a card-to-card transfer uses. Host-staged routes carry both legs in `links` (sender to host memory, host
/// memory to receiver); `demands` counts each resource once per crossing.
struct CardRoute {
  Transport transport = Transport::peer_to_peer;
  PathType type = PathType::disconnected;
  Route route;
};

/// A set of cards joined by NVLink: directly each to each (a bridge) or through switches.
struct NvlinkDomain {
  std::vector<VertexId> cards;    ///< in card order
  bool switched = false;          ///< true: NVSwitch; false: a full mesh of direct links
};

/// One rank's card with what the plan needs to know of it.
struct CardInstance {
  VertexId vertex{};
  std::int64_t number = 0;        ///< in the topology, from 0
  std::int32_t server = 0;
  ResourceId memory{};            ///< the card's memory bandwidth
  std::string spec;               ///< card id; Topology::card_specs
};

/// The graph itself is behind graph.hpp.
class Topology {
 public:
  struct Parts;                   ///< what build.cpp hands over
  explicit Topology(Parts parts);
  ~Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;

  const std::string& id() const;
  const std::string& title() const;
  const ResourceTable& resources() const;
  const std::vector<CardInstance>& cards() const;               ///< in card order, over all servers
  const CardSpec& card_spec(const CardInstance& card) const;
  std::size_t device_count() const;                             ///< vertex ids are 0 .. device_count() - 1
  const Device& device(VertexId vertex) const;
  const Link& link(LinkId link) const;
  VertexId link_source(LinkId link) const;
  VertexId link_target(LinkId link) const;
  std::size_t link_count() const;                               ///< directions counted one by one
  std::int32_t server_count() const;
  const std::vector<NvlinkDomain>& nvlink_domains() const;
  const ServerSpec& server_spec() const;                        ///< the (one) kind of server

  /// How card `from` sends to card `to`: NVLink where they share a bridge or switch, else PCIe through switches, host
  /// bridges and sockets, else the network. Never uses a link that is not in the file. Each direction is its own route.
  const CardRoute& card_route(VertexId from, VertexId to) const;

  /// The same by the way that NCCL, say, has chosen: `type` is disconnected if the machine has no such way. Within a
  /// server Transport::network goes to the sender's NIC and from the receiver's.
  const CardRoute& card_route(VertexId from, VertexId to, const TransferWay& way) const;

  /// Card to the host memory of its socket and back (offload, staging). Nothing if no path exists.
  std::optional<Route> to_host_memory(VertexId card) const;
  std::optional<Route> from_host_memory(VertexId card) const;

  /// The shortest route between any two devices, by the same rules.
  std::optional<Route> route(VertexId from, VertexId to) const;

  std::optional<VertexId> find(const std::string& device_name) const;

 private:
  friend struct GraphOf;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Builds the graph of one server or of a cluster, checks it, and precomputes nothing that scales with the square of
/// the number of cards. Errors: a card without a path to another, a bridge over five cards, a card in two bridges, more
/// lanes than a socket has, an unknown device name. Warnings: a bridge across sockets.
Result<Topology> build_topology(const ServerSpec& server, const std::map<std::string, CardSpec>& cards, LinkBasis basis);
Result<Topology> build_topology(const ClusterSpec& cluster, const ServerSpec& server,
                                const std::map<std::string, CardSpec>& cards, LinkBasis basis);

/// A topology of nothing but resources and explicit routes, for the flow oracle and hand-solved systems.
Result<Topology> topology_from_resources(ResourceTable resources);

/// What an engineer would remark on: findings of `takt topo check`.
Diagnostics check_topology(const Topology& topology);

}  // namespace takt
