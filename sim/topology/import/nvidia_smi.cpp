// From distances to a machine.
//
// The matrix says for each pair how far apart they are, not what lies between. Read as "at least this near", each
// distance groups the devices: PIX joins what hangs on one switch, PXB what hangs on one tree of switches, PHB what
// hangs on one host bridge, NODE what hangs on one NUMA node, SYS nothing. The groups nest, and the nest is the
// machine:
//
//     socket > host bridge (PHB) > tree of switches (PXB) > switch (PIX) > device
//
// NV# hides the PCIe distance of a pair, so two bridged cards are placed by their distances to everything else and by
// their affinity columns. What is left open then is assumed and said. In the end the machine's own distances are held
// against the matrix; a matrix that no tree can produce (virtual machines print such) is imported with a warning.
#include "base/text.hpp"
#include "topology/import/cpu_list.hpp"
#include "topology/import/path_matrix.hpp"
#include "topology/import/server_draft.hpp"
#include "topology/import/union_find.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace takt {
namespace {

bool is_near(PathCell cell) {
  return cell == PathCell::pix || cell == PathCell::pxb || cell == PathCell::phb || cell == PathCell::node;
}

class MatrixLayout {
 public:
  explicit MatrixLayout(PathMatrix matrix)
      : matrix_(std::move(matrix)), n_(matrix_.devices.size()), sockets_(n_), bridges_(n_), trees_(n_), switches_(n_) {}

  ServerDraft draft() {
    draft_.source = "nvidia-smi topo -m";
    draft_.warnings = std::move(matrix_.warnings);
    join_by_path();
    join_by_affinity();
    join_hidden_by_nvlink();
    place_devices();
    add_nvlinks();
    compare_with_matrix();
    remark();
    return std::move(draft_);
  }

 private:
  const MatrixDevice& device(std::size_t i) const { return matrix_.devices[i]; }

  std::string name_of(std::size_t i) const {
    std::string name = device(i).label;
    if (device(i).is_card) return "gpu" + name.substr(3);
    return name.substr(0, 3) == "NIC" ? "nic" + name.substr(3) : name;
  }

  void warn(std::string message, std::string hint = "") {
    draft_.warnings.push_back({Severity::warning, {file(), 0, 0, ""}, std::move(message), std::move(hint)});
  }

  const std::string& file() const { return matrix_.devices.front().place.file; }

  void join_by_path() {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        const PathCell cell = matrix_.at(i, j).cell;
        if (is_near(cell)) sockets_.join(i, j);
        if (is_near(cell) && cell != PathCell::node) bridges_.join(i, j);
        if (cell == PathCell::pix || cell == PathCell::pxb) trees_.join(i, j);
        if (cell == PathCell::pix) switches_.join(i, j);
      }
    }
  }

  bool sys_between(std::size_t a, std::size_t b) const {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) {
        const bool across = sockets_.together(i, a) && sockets_.together(j, b);
        if (across && matrix_.at(i, j).cell == PathCell::sys) return true;
      }
    }
    return false;
  }

  /// What tells two NUMA nodes apart, if the text states it.
  std::string affinity_of(std::size_t i) const {
    if (device(i).numa_node) return fmt::format("NUMA node {}", *device(i).numa_node);
    return device(i).cpu_affinity.empty() ? "" : "CPUs " + device(i).cpu_affinity;
  }

  void join_by_affinity() {
    bool contradicted = false;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (affinity_of(i).empty() || affinity_of(i) != affinity_of(j) || sockets_.together(i, j)) continue;
        if (!sys_between(i, j)) {
          sockets_.join(i, j);
        } else if (!contradicted) {
          contradicted = true;
          warn(fmt::format("{} and {} are both on {} but SYS apart; the path is believed", device(i).label,
                           device(j).label, affinity_of(i)));
        }
      }
    }
  }

  bool has_affinity(std::size_t member) const {
    for (std::size_t i = 0; i < n_; ++i) {
      if (sockets_.together(i, member) && !affinity_of(i).empty()) return true;
    }
    return false;
  }

  void join_hidden_by_nvlink() {
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (matrix_.at(i, j).cell != PathCell::nvlink || sockets_.together(i, j)) continue;
        if ((has_affinity(i) && has_affinity(j)) || sys_between(i, j)) continue;
        sockets_.join(i, j);
        same_socket_assumed_ = true;
      }
    }
  }

  /// Sockets in NUMA order where all are known, else in the order of their first devices.
  std::vector<std::vector<std::size_t>> ordered_sockets() {
    std::vector<std::vector<std::size_t>> sets = sockets_.sets();
    std::map<std::int64_t, std::vector<std::size_t>> by_node;
    for (const auto& members : sets) {
      std::optional<std::int64_t> node;
      for (const std::size_t i : members) {
        if (!node) node = device(i).numa_node;
      }
      if (!node || !by_node.emplace(*node, members).second) return sets;
    }
    bool renumbered = false;
    std::vector<std::string> nodes;
    sets.clear();
    for (auto& [node, members] : by_node) {
      if (node != static_cast<std::int64_t>(sets.size())) renumbered = true;
      nodes.push_back(std::to_string(node));
      sets.push_back(std::move(members));
    }
    if (renumbered && sets.size() > 1)
      draft_.assumed.push_back(fmt::format("sockets cpu0, cpu1, ... are the NUMA nodes {}", join(nodes, ", ")));
    return sets;
  }

  void place_devices() {
    for (const std::vector<std::size_t>& members : ordered_sockets()) {
      SocketDraft socket;
      socket.name = "cpu" + std::to_string(draft_.sockets.size());
      for (const std::size_t i : members) {
        if (socket.cores == 0) socket.cores = cores_of_list(device(i).cpu_affinity);
        if (device(i).gpu_numa_node) socket.cpu = "nvidia-grace";
      }
      place_socket(socket.name, members);
      draft_.sockets.push_back(std::move(socket));
    }
    // Cards in card order among the devices, whatever order the sockets have.
    std::stable_sort(draft_.devices.begin(), draft_.devices.end(),
                     [](const DeviceDraft& a, const DeviceDraft& b) { return order(a) < order(b); });
    for (std::size_t i = 0; i < n_; ++i) {
      DeviceDraft leaf;
      leaf.name = name_of(i);
      leaf.kind = device(i).is_card ? DeviceKind::card : DeviceKind::nic;
      leaf.parent = parents_[i];
      leaf.host_bridge = host_bridges_[leaf.name];
      draft_.devices.push_back(std::move(leaf));
    }
  }

  static int order(const DeviceDraft& device) { return device.kind == DeviceKind::pcie_switch ? 0 : 1; }

  void place_socket(const std::string& socket, const std::vector<std::size_t>& members) {
    for (const std::size_t first : members) {
      if (trees_.find(first) != first) continue;  // the tree of an earlier device
      std::vector<std::size_t> tree;
      for (const std::size_t i : members) {
        if (trees_.together(i, first)) tree.push_back(i);
      }
      const std::string top = place_tree(socket, tree);
      const std::int64_t bridge = host_bridge_of(first, members);
      host_bridges_[top] = bridge;
      for (DeviceDraft& device : draft_.devices) {
        if (device.name == top) device.host_bridge = bridge;
      }
    }
  }

  /// The host bridges of a socket, numbered from 1 by their first devices, where the matrix tells them apart.
  std::int64_t host_bridge_of(std::size_t device, const std::vector<std::size_t>& members) const {
    bool told_apart = false;
    std::vector<std::size_t> before;
    for (const std::size_t i : members) {
      for (const std::size_t j : members) told_apart = told_apart || matrix_.at(i, j).cell == PathCell::node;
      const bool is_new =
          std::none_of(before.begin(), before.end(), [&](std::size_t other) { return bridges_.together(i, other); });
      if (is_new) before.push_back(i);
    }
    if (!told_apart) return 0;
    const auto mine =
        std::find_if(before.begin(), before.end(), [&](std::size_t other) { return bridges_.together(device, other); });
    return static_cast<std::int64_t>(mine - before.begin()) + 1;
  }

  /// The name of what hangs on the socket: a switch, or the one device.
  std::string place_tree(const std::string& socket, const std::vector<std::size_t>& tree) {
    if (tree.size() == 1) {
      parents_[tree.front()] = socket;
      return name_of(tree.front());
    }
    const bool one_switch =
        std::all_of(tree.begin(), tree.end(), [&](std::size_t i) { return switches_.together(i, tree.front()); });
    const std::string top = add_switch(socket);
    std::map<std::size_t, std::string> leaves;
    for (const std::size_t i : tree) {
      if (one_switch) {
        parents_[i] = top;
        continue;
      }
      const auto [leaf, is_new] = leaves.emplace(switches_.find(i), "");
      if (is_new) leaf->second = add_switch(top);
      parents_[i] = leaf->second;
    }
    return top;
  }

  std::string add_switch(const std::string& parent) {
    DeviceDraft device;
    device.name = "sw" + std::to_string(switch_count_++);
    device.kind = DeviceKind::pcie_switch;
    device.parent = parent;
    draft_.devices.push_back(device);
    return device.name;
  }

  void add_nvlinks() {
    std::map<std::size_t, std::int64_t> card_numbers;
    for (std::size_t i = 0; i < n_; ++i) {
      if (device(i).is_card) card_numbers.emplace(i, static_cast<std::int64_t>(card_numbers.size()));
    }
    for (const auto& [i, a] : card_numbers) {
      for (const auto& [j, b] : card_numbers) {
        const PathEntry& entry = matrix_.at(i, j);
        if (i < j && entry.cell == PathCell::nvlink) draft_.nvlinks.push_back({a, b, entry.nvlinks});
      }
    }
  }

  bool fits(std::size_t i, std::size_t j) const {
    switch (matrix_.at(i, j).cell) {
      case PathCell::pix:
        return switches_.together(i, j);
      case PathCell::pxb:
        return trees_.together(i, j) && !switches_.together(i, j);
      case PathCell::phb:
        return sockets_.together(i, j) && !trees_.together(i, j);
      case PathCell::node:
        return sockets_.together(i, j) && !bridges_.together(i, j);
      case PathCell::sys:
        return !sockets_.together(i, j);
      default:
        return true;
    }
  }

  void compare_with_matrix() {
    std::vector<std::string> misfits;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        if (!fits(i, j)) misfits.push_back(device(i).label + "-" + device(j).label);
      }
    }
    if (misfits.empty()) return;
    constexpr std::size_t shown = 6;
    const std::size_t count = misfits.size();
    misfits.resize(std::min(count, shown));
    warn(fmt::format("no tree of switches gives this matrix: {} pair{} nearer than stated ({}{})", count,
                     count == 1 ? " is" : "s are", join(misfits, ", "), count > shown ? ", ..." : ""));
  }

  void remark() {
    std::vector<std::string>& assumed = draft_.assumed;
    bool any_pair_without_relation = false;
    bool coherent = false;
    for (std::size_t i = 0; i < n_; ++i) {
      coherent = coherent || (device(i).is_card && device(i).gpu_numa_node);
      for (std::size_t j = i + 1; j < n_; ++j) {
        any_pair_without_relation = any_pair_without_relation || matrix_.at(i, j).cell == PathCell::unknown;
      }
    }
    if (same_socket_assumed_) {
      assumed.push_back(
          "cards joined by NVLink share a socket: NV# hides their PCIe path and there is no affinity column");
    }
    if (coherent) {
      assumed.push_back(
          "CPU family nvidia-grace: the cards have NUMA nodes of their own; the coherent link to the CPU "
          "(NVLink-C2C) is taken for the card's PCIe slot");
    }
    if (any_pair_without_relation) warn("the distance of some adapters to each other is not stated");
  }

  PathMatrix matrix_;
  std::size_t n_;
  UnionFind sockets_;
  UnionFind bridges_;
  UnionFind trees_;
  UnionFind switches_;
  std::map<std::size_t, std::string> parents_;
  std::map<std::string, std::int64_t> host_bridges_;  ///< of devices and switches that hang on a socket
  ServerDraft draft_;
  std::size_t switch_count_ = 0;
  bool same_socket_assumed_ = false;
};

}  // namespace

Result<ServerSpec> import_nvidia_smi(const SourceText& source, const ImportOptions& options) {
  Result<PathMatrix> matrix = read_path_matrix(source);
  if (!matrix) return matrix.diagnostics();
  ServerDraft draft = MatrixLayout(*std::move(matrix)).draft();
  return finish_server(std::move(draft), {source.file, 0, 0, ""}, options);
}

}  // namespace takt
