#include "collective/nccl/tuner.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "collective/nccl/tuner_constants.hpp"
#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

/// The facts about a communicator that the formulas use.
struct Facts {
  explicit Facts(const Communicator& communicator) : graphs(communicator) {
    ranks = communicator.ranks;
    nodes = communicator.node_count();
    for (const NodeKind& kind : communicator.kinds) {
      least = std::min(least, least_compute_capability(kind.machine.graph));
      greatest = std::max(greatest, greatest_compute_capability(kind.machine.graph));
      const NcclCpu& cpu = kind.machine.graph.cpu.front();
      const bool x86 = cpu.architecture == CpuArchitecture::x86;
      some_amd = some_amd || (x86 && cpu.vendor == CpuVendor::amd);
      all_amd = all_amd && x86 && cpu.vendor == CpuVendor::amd;
      all_power = all_power && cpu.architecture == CpuArchitecture::power;
    }
  }

  CardGeneration generation() const {
    if (least >= 100) return CardGeneration::blackwell;
    if (least >= 90) return CardGeneration::hopper;
    return least >= 80 ? CardGeneration::ampere : CardGeneration::volta;
  }
  std::size_t nodes_column() const { return static_cast<std::size_t>(std::min<std::int64_t>(nodes, 3) - 1); }
  double ranks_per_node() const { return static_cast<double>(ranks) / static_cast<double>(nodes); }
  std::int64_t whole_ranks_per_node() const { return ranks / nodes; }

  const Communicator& graphs;
  std::int64_t ranks = 0, nodes = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), greatest = 0;
  bool some_amd = false, all_amd = true, all_power = true;
};

std::int64_t log2_floor(std::int64_t value) {
  return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

std::int64_t steps_of(CollectiveKind kind, std::int64_t ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce: return 2 * (ranks - 1);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return ranks - 1;
    case CollectiveKind::broadcast: break;
  }
  return ranks;
}

bool gathers_or_scatters(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}

class Tuner {
 public:
  Tuner(const Communicator& communicator, const NcclSettings& settings)
      : facts_(communicator), settings_(settings), rules_(rules_of(settings.version)),
        constants_(tuner_constants(settings.version)) {
    if (facts_.all_power) {
      // On Power a tree step over PCIe in Simple is reckoned as short as a ring's.
      constexpr auto simple = static_cast<std::size_t>(NcclProtocol::simple);
      ByAlgorithm& pci = constants_.hop[static_cast<std::size_t>(Hop::pci)];
      pci[static_cast<std::size_t>(NcclAlgorithm::tree)][simple] =
          pci[static_cast<std::size_t>(NcclAlgorithm::ring)][simple];
    }
  }

  TunerTable table() const {
    TunerTable table;
    for (std::size_t k = 0; k < collective_kinds; ++k) {
      for (std::size_t a = 0; a < nccl_algorithms; ++a) {
        for (std::size_t p = 0; p < nccl_protocols; ++p) {
          table.rates[k][a][p] = rate(static_cast<CollectiveKind>(k), static_cast<NcclAlgorithm>(a),
                                      static_cast<NcclProtocol>(p));
        }
      }
    }
    return table;
  }

 private:
  PlannedRate rate(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    if (facts_.ranks < 2 || !exists(kind, algorithm, protocol) || !allowed(algorithm, protocol)) return {};
    const double bus = bus_bandwidth(kind, algorithm, protocol);
    if (bus <= 0.0) return {};
    return {latency(kind, algorithm, protocol), bus * algorithm_per_bus(kind, algorithm)};
  }

  const ChannelGraph& graph_of(NcclAlgorithm algorithm) const {
    switch (algorithm) {
      case NcclAlgorithm::ring: return facts_.graphs.ring;
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree: return facts_.graphs.nvls;
      default: return facts_.graphs.tree;
    }
  }

  // --- availability (N47) -------------------------------------------------------------------------------------------

  bool exists(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const bool simple = protocol == NcclProtocol::simple;
    switch (algorithm) {
      case NcclAlgorithm::ring: return true;
      case NcclAlgorithm::tree: return kind == CollectiveKind::all_reduce;
      case NcclAlgorithm::nvls:  // between nodes only with the network's own reductions, which are not modelled
        return simple && kind != CollectiveKind::broadcast && facts_.nodes == 1 && facts_.graphs.nvls.channels >= 2;
      case NcclAlgorithm::nvls_tree:
        return simple && kind == CollectiveKind::all_reduce && facts_.nodes > 1 && facts_.graphs.nvls.channels >= 2;
      case NcclAlgorithm::pat:
        return simple && gathers_or_scatters(kind) && facts_.nodes == facts_.ranks && facts_.least >= 60 &&
               settings_.version != NcclVersion::v2_21;
      case NcclAlgorithm::collnet_direct:
      case NcclAlgorithm::collnet_chain: return false;
    }
    return false;
  }

  bool allowed(NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const auto named = [](const auto& list, auto item) {
      return list.empty() || std::find(list.begin(), list.end(), item) != list.end();
    };
    if (!named(settings_.algorithms, algorithm) || !named(settings_.protocols, protocol)) return false;
    return protocol != NcclProtocol::ll128 || !settings_.protocols.empty() || ll128_is_safe(graph_of(algorithm));
  }

  /// LL128 relies on 128-byte stores arriving whole.
  bool ll128_is_safe(const ChannelGraph& graph) const {
    const NcclPathType farthest = facts_.least >= 90 ? NcclPathType::pxn : NcclPathType::pxb;
    if (graph.type_inter > farthest || graph.type_intra > NcclPathType::nvb) return false;
    if (rules_.ll128_cards == Ll128Cards::volta_and_newer) {
      return facts_.least >= 70 && (facts_.least == facts_.greatest || facts_.least >= 90);
    }
    if (facts_.least != facts_.greatest) return false;
    const bool blackwell = facts_.least == 100 || facts_.least == 120;
    return facts_.least == 70 || facts_.least == 80 || facts_.least == 90 ||
           (blackwell && settings_.version != NcclVersion::v2_21);
  }

  // --- bandwidth (N43, N44) -----------------------------------------------------------------------------------------

  double bus_bandwidth(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const ChannelGraph& graph = graph_of(algorithm);
    const auto channels = static_cast<double>(graph.channels);
    if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree) {
      return channels * nvls_channel_speed(kind, algorithm);
    }
    const double speed = to_gigabytes(facts_.nodes <= 2 ? graph.speed_intra : graph.speed_inter);
    const double full = channels * speed;
    switch (algorithm) {
      case NcclAlgorithm::ring: return ring_bandwidth(full, channels, protocol);
      case NcclAlgorithm::tree: return tree_bandwidth(full, channels, protocol);
      default: return full * 0.75;  // PAT
    }
  }

  double ring_bandwidth(double full, double channels, NcclProtocol protocol) const {
    switch (protocol) {
      case NcclProtocol::ll: return std::min(most_ll(), full / 2);
      case NcclProtocol::ll128: {
        const double wire = settings_.version == NcclVersion::v2_21 && facts_.ranks_per_node() < 2 ? 0.7 : 0.92;
        return std::min(full * wire, channels * by_card(constants_.ring_ll128));
      }
      case NcclProtocol::simple: break;
    }
    return full;
  }

  double tree_bandwidth(double full, double channels, NcclProtocol protocol) const {
    double bus = std::min(full * 0.92, channels * by_card(constants_.tree));
    if (protocol == NcclProtocol::ll) bus = std::min(bus / 3.8, most_ll());
    if (protocol == NcclProtocol::ll128) {
      bus = std::min(bus * (facts_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), channels * by_card(constants_.tree_ll128));
    }
    // All network traffic of a simple tree goes through one card.
    return facts_.graphs.tree_pattern == ChannelPattern::tree ? bus * 0.85 : bus;
  }

  double nvls_channel_speed(CollectiveKind kind, NcclAlgorithm algorithm) const {
    const ChannelGraph& graph = facts_.graphs.nvls;
    const auto owners = static_cast<double>(graph.channels);
    const double intra = to_gigabytes(graph.speed_intra), inter = to_gigabytes(graph.speed_inter);
    const double not_kept = (facts_.ranks_per_node() - 1) / facts_.ranks_per_node();
    const bool tree = algorithm == NcclAlgorithm::nvls_tree;
    if (rules_.nvls_formula == NvlsFormula::efficiency) {
      double speed = intra * constants_.nvls_efficiency[generation()] * (owners - 1) / owners;
      speed *= kind == CollectiveKind::all_reduce ? 2.0 : not_kept;
      speed = std::min(speed, inter * (tree && facts_.nodes <= 2 ? 2 : 1));
      return tree ? std::min(speed, by_card(constants_.nvls_tree)) : speed;
    }
    if (tree) return std::min(intra, facts_.nodes <= 2 ? inter : inter / 2);
    const bool shares = rules_.nvls_formula == NvlsFormula::slower_of_shares && kind != CollectiveKind::all_reduce;
    return shares ? std::min(intra * not_kept, inter * 0.9) : std::min(intra, inter);
  }

  double algorithm_per_bus(CollectiveKind kind, NcclAlgorithm algorithm) const {
    const double ring_ratio = static_cast<double>(facts_.ranks) / static_cast<double>(steps_of(kind, facts_.ranks));
    switch (algorithm) {
      case NcclAlgorithm::ring: return ring_ratio;
      case NcclAlgorithm::nvls:
      case NcclAlgorithm::nvls_tree:
        if (gathers_or_scatters(kind)) return rules_.nvls_gather_ratio;
        return rules_.nvls_formula == NvlsFormula::efficiency ? ring_ratio : 5.0 / 6.0;
      default: return kind == CollectiveKind::all_reduce ? 0.5 : 1.0;
    }
  }

  double most_ll() const {
    if (facts_.nodes == 1) return by_card(constants_.most_ll);
    // Between nodes the CPU sets the pace of LL.
    return constants_.most_ll[facts_.some_amd ? 1 : 0][facts_.nodes_column()];
  }

  // --- latency (N45) ------------------------------------------------------------------------------------------------

  double latency(CollectiveKind kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    const ChannelGraph& graph = graph_of(algorithm);
    const Hop near = graph.type_intra == NcclPathType::nvl ? Hop::nvlink : Hop::pci;
    const double base = constants_.base[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
    const double intra = hop(near, algorithm, protocol);
    const double inter = network_hop(graph, algorithm, protocol);
    const auto levels = static_cast<double>(log2_floor(facts_.nodes));
    switch (algorithm) {
      case NcclAlgorithm::ring: return base + ring_latency(kind, protocol, intra, inter);
      case NcclAlgorithm::tree:
        return base + 2 * (static_cast<double>(facts_.whole_ranks_per_node() - 1) * intra + levels * inter);
      case NcclAlgorithm::nvls: return intra + (facts_.nodes > 1 ? inter : 0.0);
      case NcclAlgorithm::nvls_tree: return base + intra + 2 * levels * inter;
      default: return base + levels * inter / 3.5 + static_cast<double>(facts_.ranks) * 2.8;  // PAT
    }
  }

  double ring_latency(CollectiveKind kind, NcclProtocol protocol, double intra, double inter) const {
    const std::int64_t steps = steps_of(kind, facts_.ranks);
    if (kind == CollectiveKind::broadcast) return broadcast_latency(steps, protocol);
    std::int64_t crossings = kind == CollectiveKind::all_reduce ? 2 * (facts_.nodes - 1) : facts_.nodes - 1;
    if (settings_.version == NcclVersion::v2_21 && kind == CollectiveKind::all_reduce && facts_.nodes > 1) {
      crossings = 2 * facts_.nodes;
    }
    if (facts_.nodes > 1) {
      const double posting = facts_.all_amd ? 2.0 : 1.0;  // every step is posted to the network by a CPU thread
      intra = std::max(intra, protocol == NcclProtocol::simple ? posting * 3 : posting);
    }
    return static_cast<double>(steps - crossings) * intra + static_cast<double>(crossings) * inter;
  }

  double broadcast_latency(std::int64_t steps, NcclProtocol protocol) const {
    const ChannelGraph& ring = facts_.graphs.ring;
    const Hop near = ring.type_intra == NcclPathType::nvl ? Hop::nvlink : Hop::pci;
    const Hop slowest = facts_.nodes == 1 ? near : Hop::net;
    if (ring.same == SameChannels::yes) return hop(slowest, NcclAlgorithm::ring, protocol);
    const NcclAlgorithm like = protocol == NcclProtocol::simple ? NcclAlgorithm::tree : NcclAlgorithm::ring;
    return static_cast<double>(steps) * hop(slowest, like, protocol);
  }

  double network_hop(const ChannelGraph& graph, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    // With one card a node nothing hides the network.
    const bool exposed = facts_.ranks == facts_.nodes && settings_.version != NcclVersion::v2_21;
    const double wire = hop(Hop::net, exposed ? NcclAlgorithm::tree : algorithm, protocol);
    // Simple also flushes what a NIC wrote.
    return wire + graph.latency_inter * (protocol == NcclProtocol::simple ? 2.0 : 1.0);
  }

  double hop(Hop kind, NcclAlgorithm algorithm, NcclProtocol protocol) const {
    return constants_.hop[static_cast<std::size_t>(kind)][static_cast<std::size_t>(algorithm)]
                         [static_cast<std::size_t>(protocol)];
  }

  std::size_t generation() const { return static_cast<std::size_t>(facts_.generation()); }
  double by_card(const ByGeneration& table) const { return table[generation()][facts_.nodes_column()]; }

  Facts facts_;
  const NcclSettings& settings_;
  const VersionRules& rules_;
  TunerConstants constants_;
};

}  // namespace

TunerTable tune(const Communicator& communicator, const NcclSettings& settings) {
  TunerTable table = Tuner(communicator, settings).table();
  // A slow ring gets by with fewer threads. 12 GB/s: PCIe generation 3.
  constexpr NcclSpeed slow{12000};
  const NcclSpeed total = communicator.ring.speed_intra * communicator.ring.channels;
  table.simple_ring_threads = total <= slow ? 256 : 512;
  return table;
}

double planned_time_us(const TunerTable& table, const Communicator& communicator, const NcclSettings& settings,
                       const CollectiveCall& call, NcclAlgorithm algorithm, NcclProtocol protocol) {
  const PlannedRate& rate = table.at(call.kind, algorithm, protocol);
  if (!rate.available()) return -1.0;
  const Facts facts(communicator);
  const std::int64_t bytes = call.bytes.count();
  double bandwidth = rate.gigabytes_per_second;
  double latency = rate.latency_us;
  constexpr std::int64_t smallest = 64;
  const std::int64_t size_class = bytes >= smallest ? log2_floor(bytes / smallest) : -1;
  const bool reduces = call.kind == CollectiveKind::all_reduce;
  const bool tree = algorithm == NcclAlgorithm::tree && size_class < 23;
  const bool blackwell_nvls_tree = algorithm == NcclAlgorithm::nvls_tree && facts.least >= 100 && size_class < 24 &&
                                   settings.version == NcclVersion::v2_30 &&
                                   communicator.kinds.front().machine.graph.cpu.front().architecture ==
                                       CpuArchitecture::x86;
  if (reduces && size_class >= 0 && (tree || blackwell_nvls_tree)) {
    bandwidth *= tree_correction[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(size_class)];
  }
  const bool long_ring = algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple && facts.nodes > 1 &&
                         reduces && bytes / (communicator.channels * facts.ranks) >= smallest;
  if (long_ring) latency *= facts.least < 80 ? 1.9 : 1.4;
  return latency + static_cast<double>(bytes) / (1000.0 * bandwidth);
}

}  // namespace takt::nccl
