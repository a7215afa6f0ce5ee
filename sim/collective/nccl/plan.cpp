#include "collective/nccl/plan.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>

namespace takt {
namespace {

constexpr std::int64_t warp = 32;
constexpr std::int64_t all_threads = 640;  // of a CTA of NCCL

Diagnostic refusal(std::string message, std::string hint) {
  return {Severity::error, {}, std::move(message), std::move(hint)};
}

Diagnostics check_servers(std::span<const NcclSystem> servers) {
  Diagnostics problems;
  std::vector<std::int64_t> ranks;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].cpus.empty()) problems.push_back(refusal(fmt::format("server {} has no CPU", i), {}));
    if (servers[i].gpus.empty()) problems.push_back(refusal(fmt::format("no card of server {} takes part", i), {}));
    const bool no_port = std::all_of(servers[i].nics.begin(), servers[i].nics.end(),
                                     [](const NcclNic& nic) { return nic.nets.empty(); });
    if (servers.size() > 1 && no_port) {
      problems.push_back(refusal(fmt::format("server {} has no NIC port to reach the others", i),
                                 "give the server a NIC, or run on its cards alone"));
    }
    for (const NcclGpu& gpu : servers[i].gpus) ranks.push_back(gpu.rank);
  }
  if (servers.empty()) problems.push_back(refusal("a communicator needs a server", {}));
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<std::int64_t>(i)) {
      problems.push_back(refusal(
          fmt::format("ranks of a communicator are 0 to {}, each once; {} is out of line", ranks.size() - 1, ranks[i]),
          {}));
      break;
    }
  }
  return problems;
}

/// N48.
bool reduction_allows(const CollectiveCall& call, NcclAlgorithm algorithm) {
  if (call.reduction == Reduction::sum || call.kind == CollectiveKind::all_gather ||
      call.kind == CollectiveKind::broadcast) {
    return true;
  }
  return algorithm != NcclAlgorithm::nvls && algorithm != NcclAlgorithm::nvls_tree && algorithm != NcclAlgorithm::pat;
}

struct Candidate {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double time_us;
};

/// All available pairs, best first; of equal times the one NCCL looks at first (N40).
std::vector<Candidate> candidates(const NcclPlan& plan, const CollectiveCall& call) {
  std::vector<Candidate> found;
  for (std::size_t a = 0; a < nccl_algorithms; ++a) {
    for (std::size_t p = 0; p < nccl_protocols; ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      const double time = planned_time_us(plan, call, algorithm, protocol);
      if (time >= 0.0) found.push_back({algorithm, protocol, time});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.time_us < b.time_us; });
  return found;
}

/// Bytes a thread should have at least before a call gets another CTA (N49).
std::int64_t bytes_per_thread(const NcclPlan& plan, NcclAlgorithm algorithm, NcclProtocol protocol) {
  constexpr std::int64_t low_latency = 8, simple = 64;
  if (protocol == NcclProtocol::simple) return simple;
  const bool ring_ll = protocol == NcclProtocol::ll && algorithm == NcclAlgorithm::ring;
  return ring_ll ? low_latency * plan.communicator.ranks : low_latency;
}

std::int64_t most_threads(const NcclPlan& plan, NcclAlgorithm algorithm, NcclProtocol protocol) {
  constexpr std::int64_t full = 512;
  if (algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree || algorithm == NcclAlgorithm::pat ||
      protocol == NcclProtocol::ll128) {
    return all_threads;
  }
  const bool simple_ring = protocol == NcclProtocol::simple && algorithm == NcclAlgorithm::ring;
  const std::int64_t preset = simple_ring ? plan.table.simple_ring_threads : full;
  return plan.settings.threads ? std::clamp(*plan.settings.threads, 2 * warp, full) : preset;
}

/// N49: fewer CTAs, then fewer threads, while each has too little to do.
void size_kernel(const NcclPlan& plan, const CollectiveCall& call, NcclChoice& choice) {
  const bool by_switch = choice.algorithm == NcclAlgorithm::nvls || choice.algorithm == NcclAlgorithm::nvls_tree;
  std::int64_t threads = most_threads(plan, choice.algorithm, choice.protocol);
  choice.channels = by_switch ? plan.communicator.nvls_channels : plan.communicator.channels;
  if (!by_switch) {
    const std::int64_t least = bytes_per_thread(plan, choice.algorithm, choice.protocol);
    const std::int64_t bytes = call.bytes.count();
    while (choice.channels > 1 && bytes < choice.channels * threads * least) --choice.channels;
    while (bytes < choice.channels * threads * least && threads % (4 * warp) == 0) threads /= 2;
  }
  // One more warp of a Simple ring passes the flags on.
  if (choice.protocol == NcclProtocol::simple && choice.algorithm == NcclAlgorithm::ring) threads += warp;
  threads = std::max(threads, 3 * warp);
  const bool always_full = choice.algorithm == NcclAlgorithm::tree || choice.algorithm == NcclAlgorithm::pat;
  choice.threads = always_full ? all_threads : threads;
}

/// N49: a call is dealt out in cells of 32 KiB of traffic.
std::int64_t ctas_with_data(const NcclPlan& plan, const CollectiveCall& call, const NcclChoice& choice) {
  constexpr std::int64_t least_traffic = 32 * 1024, grain = 16;
  const auto divide_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t ranks = plan.communicator.ranks;
  const bool per_rank = call.kind == CollectiveKind::all_gather || call.kind == CollectiveKind::reduce_scatter;
  std::int64_t traffic_per_byte = per_rank ? ranks : call.kind == CollectiveKind::all_reduce ? 2 : 1;
  if (choice.protocol == NcclProtocol::ll) traffic_per_byte *= 4;
  const std::int64_t bytes = per_rank ? divide_up(call.bytes.count(), ranks) : call.bytes.count();
  const std::int64_t cell = divide_up(divide_up(least_traffic, traffic_per_byte), grain) * grain;
  const std::int64_t cells = std::max<std::int64_t>(1, divide_up(bytes, cell));
  const std::int64_t traffic = std::max(least_traffic, bytes * traffic_per_byte);
  const std::int64_t per_channel = divide_up(traffic / choice.channels, grain) * grain;
  const std::int64_t cells_per_channel = std::min(cells, divide_up(per_channel, cell * traffic_per_byte));
  return std::min(choice.channels, divide_up(cells, cells_per_channel));
}

std::string graph_text(const nccl::ChannelGraph& graph, std::string_view name, std::int64_t nodes) {
  std::string text = fmt::format("{} {} x {:g} GB/s ({}", name, graph.channels, to_gigabytes(graph.speed_intra),
                                 to_text(graph.type_intra));
  if (nodes > 1) {
    text += fmt::format("; between nodes {:g} GB/s, {}", to_gigabytes(graph.speed_inter), to_text(graph.type_inter));
  }
  return text + ")";
}

}  // namespace

Result<NcclPlan> plan_nccl(std::span<const NcclSystem> servers, const NcclSettings& settings,
                           const NcclGraphFile* graph_file) {
  if (Diagnostics problems = check_servers(servers); !problems.empty()) return problems;
  NcclPlan plan{settings, nccl::build_communicator(servers, settings, graph_file), {}};
  plan.table = nccl::tune(plan.communicator, settings);
  if (plan.communicator.ranks > 1) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      if (candidates(plan, {kind, Bytes(1), Reduction::average}).empty()) {
        return refusal("the NCCL settings leave no algorithm and protocol for every collective",
                       "all-gather and reduce-scatter need the ring algorithm");
      }
    }
  }
  return plan;
}

double planned_time_us(const NcclPlan& plan, const CollectiveCall& call, NcclAlgorithm algorithm,
                       NcclProtocol protocol) {
  if (!reduction_allows(call, algorithm)) return -1.0;
  return nccl::planned_time_us(plan.table, plan.communicator, plan.settings, call, algorithm, protocol);
}

NcclChoice choose(const NcclPlan& plan, const CollectiveCall& call, std::span<const NcclAlgorithm> preferred) {
  NcclChoice choice;
  if (plan.communicator.ranks < 2) return choice;
  const std::vector<Candidate> found = candidates(plan, call);
  expects(!found.empty(), "a plan offers an algorithm for every collective");
  const auto wanted = std::find_if(found.begin(), found.end(), [&](const Candidate& candidate) {
    return std::find(preferred.begin(), preferred.end(), candidate.algorithm) != preferred.end();
  });
  const Candidate& best = wanted == found.end() ? found.front() : *wanted;
  choice.algorithm = best.algorithm;
  choice.protocol = best.protocol;
  choice.planned_time_us = best.time_us;
  size_kernel(plan, call, choice);
  choice.ctas = ctas_with_data(plan, call, choice);
  return choice;
}

std::string explain(const NcclPlan& plan) {
  const nccl::Communicator& communicator = plan.communicator;
  const std::int64_t nodes = communicator.node_count();
  std::string text =
      fmt::format("{} ranks on {} {}; {}; {}", communicator.ranks, nodes, nodes == 1 ? "node" : "nodes",
                  graph_text(communicator.ring, "ring", nodes), graph_text(communicator.tree, "tree", nodes));
  if (communicator.nvls.channels > 0) text += "; " + graph_text(communicator.nvls, "NVLS", nodes);
  text += fmt::format("; {} CTAs", communicator.channels);
  if (communicator.nvls_channels > 0) text += fmt::format(", NVLS {}", communicator.nvls_channels);
  return text;
}

std::string explain(const NcclPlan& plan, const CollectiveCall& call) {
  if (plan.communicator.ranks < 2) return "one rank: nothing to do";
  const NcclChoice choice = choose(plan, call);
  std::string text = fmt::format("{}, {}, {} CTAs of {} threads; NCCL plans {:.1f} us", to_text(choice.algorithm),
                                 to_text(choice.protocol), choice.ctas, choice.threads, choice.planned_time_us);
  const std::vector<Candidate> found = candidates(plan, call);
  if (found.size() > 1) {
    text += fmt::format("; next best {}, {}: {:.1f} us", to_text(found[1].algorithm), to_text(found[1].protocol),
                        found[1].time_us);
  }
  return text;
}

}  // namespace takt
