#include "collective/nccl/search_view.hpp"

#include "collective/nccl/graph_search.hpp"
#include "collective/nccl/nic_affinity.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace takt::nccl {
namespace {

class Viewer {
 public:
  Viewer(const RoutedMachine& machine, Reach reach) : machine_(machine), graph_(machine.graph) {
    view_.settings = machine.settings;
    view_.reach = reach;
    view_.cpu = graph_.cpu.front().architecture;
    view_.vendor = graph_.cpu.front().vendor;
    view_.has_nvswitch = graph_.nvswitch.has_value();
  }

  NamedView look() && {
    name_ports();
    for (std::size_t card = 0; card < graph_.gpus.size(); ++card) look_at_card(card);
    for (std::size_t port = 0; port < port_of_.size(); ++port) look_at_port(port);
    look_at_paths();
    return {std::move(view_), std::move(port_of_)};
  }

 private:
  /// In the order in which channels try them; ports that no card reaches come last.
  void name_ports() {
    port_of_ = nets_to_try(machine_, RoutedMachine::no_gpu, NcclPathType::net);
    view_.own_ports = preferred_nets(machine_, RoutedMachine::no_gpu).size();
    for (std::size_t port = 0; port < graph_.nets.size(); ++port) {
      if (std::find(port_of_.begin(), port_of_.end(), port) == port_of_.end()) port_of_.push_back(port);
    }
    name_of_port_.resize(port_of_.size());
    for (std::size_t name = 0; name < port_of_.size(); ++name) {
      name_of_port_[port_of_[name]] = static_cast<std::uint32_t>(name);
    }
  }

  void look_at_card(std::size_t card) {
    SearchView::CardView& seen = view_.cards.emplace_back();
    seen.compute_capability = graph_.gpu[card].compute_capability;
    for (const LinkIndex link : graph_.at(graph_.gpus[card]).links) seen.links.push_back(name_of(link));
    for (const std::size_t port : nets_to_try(machine_, card, NcclPathType::net)) {
      seen.ports.push_back(name_of_port_[port]);
    }
    seen.own_ports = preferred_nets(machine_, card).size();
  }

  void look_at_port(std::size_t name) {
    const std::size_t port = port_of_[name];
    const NcclNet& net = graph_.net[port];
    const auto same = [&](std::size_t other) {
      return graph_.net[other].asic == net.asic && graph_.net[other].port == net.port;
    };
    const auto first = std::find_if(port_of_.begin(), port_of_.end(), same);
    view_.ports.push_back({net.speed, net.latency, static_cast<std::uint32_t>(first - port_of_.begin()),
                           machine_.nearest_gpu[port], nearest_gpus(machine_, port)});
  }

  void look_at_paths() {
    for (const VertexIndex card : graph_.gpus) {
      for (const VertexIndex other : graph_.gpus) look_at_path(card, other);
      for (const std::size_t port : port_of_) {
        look_at_path(card, graph_.nets[port]);
        look_at_path(graph_.nets[port], card);
      }
      if (!graph_.nvswitch) continue;
      look_at_path(card, *graph_.nvswitch);
      look_at_path(*graph_.nvswitch, card);
    }
  }

  void look_at_path(VertexIndex from, VertexIndex to) {
    const Path& path = machine_.paths(from, to);
    SearchView::PathView& seen = view_.paths.emplace_back();
    for (const LinkIndex link : path.links) seen.links.push_back(name_of(link));
    seen.speed = path.speed;
    seen.type = path.type;
    seen.tax = path.tax;
  }

  /// Numbers both directions when one is met.
  std::uint32_t name_of(LinkIndex link) {
    const auto known = name_of_link_.find(link);
    if (known != name_of_link_.end()) return known->second;
    const auto name = static_cast<std::uint32_t>(view_.links.size());
    const LinkIndex reverse = graph_.at(link).reverse;
    for (const LinkIndex direction : {link, reverse}) {
      const Link& seen = graph_.at(direction);
      const Vertex& target = graph_.at(seen.to);
      view_.links.push_back({seen.kind, seen.speed, target.kind == VertexKind::gpu ? target.position + 1 : 0});
    }
    name_of_link_.emplace(link, name);
    name_of_link_.emplace(reverse, name + 1);
    return name;
  }

  const RoutedMachine& machine_;
  const MachineGraph& graph_;
  SearchView view_;
  std::vector<std::size_t> port_of_;
  std::vector<std::uint32_t> name_of_port_;
  std::map<LinkIndex, std::uint32_t> name_of_link_;
};

struct Memo {
  static constexpr std::size_t most_views = 256;

  std::mutex mutex;
  std::map<SearchView, NodeGraphs> graphs;  ///< ports by their names in the view
};

Memo& memo() {
  static Memo the_memo;
  return the_memo;
}

void rename_ports(NodeGraphs& graphs, const std::vector<std::size_t>& new_name) {
  for (ChannelGraph* graph : {&graphs.ring, &graphs.tree, &graphs.nvls}) {
    for (std::uint16_t& port : graph->nets) port = static_cast<std::uint16_t>(new_name[port]);
  }
}

}  // namespace

NamedView view_of(const RoutedMachine& machine, Reach reach) {
  return Viewer(machine, reach).look();
}

NodeGraphs find_graphs(const RoutedMachine& machine, Reach reach) {
  NodeGraphs graphs;
  graphs.ring = find_ring(machine, reach);
  graphs.tree = find_tree(machine, reach, graphs.ring.channels);
  if (machine.settings.nvls == Switch::on && machine.graph.gpus.size() > 1) graphs.nvls = find_nvls(machine, reach);
  return graphs;
}

NodeGraphs shared_graphs(const RoutedMachine& machine, Reach reach) {
  NamedView named = view_of(machine, reach);
  {
    const std::lock_guard lock(memo().mutex);
    const auto known = memo().graphs.find(named.view);
    if (known != memo().graphs.end()) {
      NodeGraphs graphs = known->second;
      rename_ports(graphs, named.port_of);
      return graphs;
    }
  }
  NodeGraphs graphs = find_graphs(machine, reach);
  std::vector<std::size_t> name_of(named.port_of.size());
  for (std::size_t name = 0; name < named.port_of.size(); ++name) name_of[named.port_of[name]] = name;
  NodeGraphs kept = graphs;
  rename_ports(kept, name_of);
  const std::lock_guard lock(memo().mutex);
  if (memo().graphs.size() >= Memo::most_views) memo().graphs.clear();
  memo().graphs.emplace(std::move(named.view), std::move(kept));
  return graphs;
}

}  // namespace takt::nccl
