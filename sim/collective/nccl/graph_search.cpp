// The ladder (semantics N22 to N24).
//
// Pass 1 starts at the highest speed that paths and cards could carry, with the nearest path types, and all channels in
// one order. If that search finds no perfect graph, one demand is relaxed and the search runs again: channels in
// different orders, a simpler tree, farther paths between cards, farther paths to NICs, alternating NICs, and only when
// all of these are used up the next lower speed, with all other demands back at their strictest. The best graph of all
// searches counts. Once there is one, a speed of less than about half of its speed is not tried any more.
//
// Fast channels are then split in two, since one CTA cannot drive them. Pass 2 starts from that graph and tries higher
// speeds: for a ring of all channels, for a tree only inside the server, for NVLS only between servers.
#include "collective/nccl/graph_search.hpp"

#include <algorithm>
#include <span>

#include "base/contract.hpp"
#include "collective/nccl/nic_affinity.hpp"
#include "collective/nccl/version_rules.hpp"

namespace takt::nccl {
namespace {

constexpr std::int64_t steps_in_all = 1 << 19;  // N22
constexpr std::int64_t most_nvls_owners = 32;   // an NVLS kernel addresses at most as many cards
constexpr NcclSpeed fallback_speed{100};        // N24: 0.1 GB/s

/// The nearest and farthest path from any card.
struct TypeRange {
  NcclPathType nearest = NcclPathType::sys;
  NcclPathType farthest = NcclPathType::loc;

  void include(NcclPathType type) {
    nearest = std::min(nearest, type);
    farthest = std::max(farthest, type);
  }
};

TypeRange between_cards(const RoutedMachine& machine) {
  TypeRange range;
  for (std::size_t from = 0; from < machine.graph.gpus.size(); ++from) {
    for (std::size_t to = 0; to < machine.graph.gpus.size(); ++to) {
      if (from != to) range.include(machine.gpu_path(from, to).type);
    }
  }
  return range;
}

TypeRange to_nets(const RoutedMachine& machine) {
  TypeRange range;
  for (std::size_t gpu = 0; gpu < machine.graph.gpus.size(); ++gpu) {
    for (std::size_t net = 0; net < machine.graph.nets.size(); ++net) {
      range.include(machine.path_to_net(gpu, net).type);
    }
  }
  return range;
}

/// Exactly two groups of several cards on NVLink: a ring must leave each, and a tree needs two channels to gain (N22).
bool two_nvlink_domains(const RoutedMachine& machine) {
  const std::size_t cards = machine.graph.gpus.size();
  std::vector<std::size_t> domain(cards), members(cards);
  for (std::size_t gpu = 0; gpu < cards; ++gpu) domain[gpu] = gpu;
  for (std::size_t gpu = 0; gpu < cards; ++gpu) {
    for (std::size_t other = gpu + 1; other < cards; ++other) {
      if (machine.gpu_path(gpu, other).type == NcclPathType::nvl) domain[other] = domain[gpu];
    }
    ++members[domain[gpu]];
  }
  return std::count_if(members.begin(), members.end(), [](std::size_t count) { return count > 1; }) == 2;
}

NcclPathType farther(NcclPathType type) { return static_cast<NcclPathType>(static_cast<int>(type) + 1); }

class Ladder {
 public:
  Ladder(const RoutedMachine& machine, Reach reach, ChannelGraph wanted)
      : machine_(machine), reach_(reach), rules_(rules_of(machine.settings.version)), best_(std::move(wanted)) {
    capability_ = least_compute_capability(machine.graph);
    cards_ = static_cast<std::int64_t>(machine.graph.gpus.size());
    best_.cards = machine.graph.gpus.size();
    set_nic_policy();
    set_type_bounds();
    set_channel_bounds();
    speeds_ = reach == Reach::one_node ? speeds_within_node(rules_, capability_)
                                       : speeds_between_nodes(rules_, capability_);
    limits_ = speed_limits(machine, reach);
  }

  ChannelGraph run() {
    search_downwards();
    split_fast_channels();
    search_upwards();
    if (best_.channels == 0 && best_.pattern != ChannelPattern::nvls) fall_back();
    return best_;
  }

 private:
  // --- demands ------------------------------------------------------------------------------------------------------

  void set_nic_policy() {
    const bool may_cross = best_.pattern == ChannelPattern::ring || best_.pattern == ChannelPattern::balanced_tree ||
                           best_.pattern == ChannelPattern::split_tree;
    const std::int64_t asked = may_cross && machine_.graph.nets.size() > 1 ? machine_.settings.cross_nic : 0;
    may_alternate_nics_ = asked == 2;
    strictest_cross_nic_ = asked == 1 ? CrossNic::yes : CrossNic::no;
    best_.cross_nic = strictest_cross_nic_;
  }

  void set_type_bounds() {
    if (cards_ > 1) intra_ = between_cards(machine_);
    else intra_ = {NcclPathType::loc, NcclPathType::sys};
    inter_ = {NcclPathType::pix, NcclPathType::sys};
    if (reach_ == Reach::several_nodes) {
      inter_ = to_nets(machine_);
      intra_.farthest = inter_.farthest;
    }
    if (capability_ < 90) inter_.farthest = NcclPathType::sys;  // balanced trees may have to come back the long way
    if (rules_.bounded_by_worst_path == Switch::off) {
      intra_ = {cards_ == 1 ? NcclPathType::loc : NcclPathType::nvl, NcclPathType::sys};
      inter_ = {NcclPathType::pix, NcclPathType::sys};
    }
    best_.type_intra = intra_.nearest;
    best_.type_inter = inter_.nearest;
  }

  void set_channel_bounds() {
    strictest_same_ = best_.pattern == ChannelPattern::nvls ? SameChannels::no : SameChannels::yes;
    best_.same = strictest_same_;
    if (best_.pattern == ChannelPattern::nvls) {
      best_.max_channels = std::min(most_nvls_owners, cards_);
      if (reach_ == Reach::one_node) best_.min_channels = best_.max_channels;  // every card owns an equal share
    }
    if (cards_ == 1 && best_.pattern != ChannelPattern::ring) best_.pattern = ChannelPattern::tree;
    const bool split = rules_.split_nvlink_needs_two == Switch::on && two_nvlink_domains(machine_);
    if (best_.pattern == ChannelPattern::ring && split && best_.max_channels >= 2) {
      best_.min_channels = std::max<std::int64_t>(best_.min_channels, 2);
    }
  }

  // --- pass 1 -------------------------------------------------------------------------------------------------------

  void search_downwards() {
    // Only a ring has to come back to where it started; the others leave one card's links out.
    NcclSpeed card = limits_.card;
    if (cards_ > 1 && best_.pattern != ChannelPattern::ring) card = card * cards_ / (cards_ - 1);
    while (speed_index_ + 1 < speeds_.size() &&
           (speeds_[speed_index_] > limits_.path || speeds_[speed_index_] * best_.min_channels > card)) {
      ++speed_index_;
    }
    trial_ = best_;
    set_speed(speeds_[speed_index_]);
    do {
      search();
    } while (!good_enough() && relax());
  }

  void search() {
    const std::int64_t steps = trial_.same == SameChannels::yes ? steps_for_same_channels : steps_for_search;
    steps_left_in_all_ -= steps;
    outcome_ = search_channels(machine_, reach_, trial_, steps, best_);
  }

  bool good_enough() const {
    return outcome_.end == SearchEnd::perfect || best_.speed_inter * best_.channels >= limits_.card;
  }

  /// Takes back one demand; false if there is none left or the budget is spent.
  bool relax() {
    if (trial_.same == SameChannels::yes && !(on_amd() && trial_.type_intra == NcclPathType::sys)) {
      trial_.same = SameChannels::no;
      return true;
    }
    trial_.same = strictest_same_;
    steps_left_in_all_ += outcome_.steps_left;
    if (steps_left_in_all_ < 0 && best_.channels > 0) return false;
    if (capability_ >= 90 && trial_.pattern == ChannelPattern::balanced_tree) {
      trial_.pattern = ChannelPattern::tree;
      return true;
    }
    trial_.pattern = best_.pattern;
    return relax_paths() || relax_nics() || lower_speed();
  }

  bool relax_paths() {
    const NcclPathType farthest_intra = reach_ == Reach::several_nodes ? trial_.type_inter : intra_.farthest;
    const bool intra_may_gain = best_.channels == 0 || trial_.type_intra < best_.type_intra;
    if (trial_.type_intra < farthest_intra && intra_may_gain && farther(trial_.type_intra) < NcclPathType::none) {
      trial_.type_intra = farther(trial_.type_intra);
      return true;
    }
    trial_.type_intra = intra_.nearest;
    const bool inter_may_gain =
        best_.channels == 0 || trial_.type_inter < best_.type_inter || trial_.type_inter < NcclPathType::pxn;
    if (reach_ == Reach::several_nodes && trial_.type_inter < inter_.farthest && inter_may_gain &&
        farther(trial_.type_inter) < NcclPathType::none) {
      trial_.type_inter = farther(trial_.type_inter);
      return true;
    }
    trial_.type_inter = inter_.nearest;
    return false;
  }

  bool relax_nics() {
    const bool fits = best_.pattern == ChannelPattern::ring || best_.pattern == ChannelPattern::balanced_tree;
    if (may_alternate_nics_ && trial_.cross_nic == CrossNic::no && fits) {
      trial_.cross_nic = CrossNic::alternating;
      return true;
    }
    trial_.cross_nic = strictest_cross_nic_;
    return false;
  }

  bool lower_speed() {
    if (speed_index_ + 1 >= speeds_.size()) return false;
    // Less than 0.49 of what is found is not worth a try.
    const NcclSpeed next = speeds_[speed_index_ + 1];
    if (best_.channels > 0 && next * 100 <= best_.speed_inter * 49) return false;
    ++speed_index_;
    set_speed(next);
    return true;
  }

  // --- between the passes -------------------------------------------------------------------------------------------

  /// N23.
  void split_fast_channels() {
    constexpr NcclSpeed fast{25000}, fast_since_ampere{50000};
    constexpr std::int64_t many = 4;
    if (best_.channels == 0 || best_.pattern == ChannelPattern::nvls || best_.speed_intra < fast) return;
    if (capability_ > 80 && best_.speed_intra < fast_since_ampere && best_.channels > many) return;
    const std::int64_t channels = std::min(best_.channels * 2, best_.max_channels);
    const std::int64_t parts = (channels + best_.channels - 1) / best_.channels;
    const std::int64_t added = channels - best_.channels;
    const auto repeat = [](std::vector<std::uint16_t>& list, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) list.push_back(list[static_cast<std::size_t>(i)]);
    };
    repeat(best_.order, added * cards_);
    if (!best_.nets.empty()) repeat(best_.nets, added * 2);
    best_.speed_intra = best_.speed_intra / parts;
    best_.speed_inter = best_.speed_inter / parts;
    best_.channels = channels;
  }

  // --- pass 2 -------------------------------------------------------------------------------------------------------

  void search_upwards() {
    trial_ = best_;
    speed_index_ = 0;
    while (speed_index_ + 1 < speeds_.size() && speeds_[speed_index_] > best_.speed_inter) ++speed_index_;
    set_speed(speeds_[speed_index_]);
    trial_.min_channels = best_.channels;
    outcome_.end = SearchEnd::perfect;
    while (outcome_.end != SearchEnd::out_of_steps && raise_speed()) search();
  }

  bool raise_speed() {
    if (speed_index_ == 0) return false;
    const NcclSpeed next = speeds_[speed_index_ - 1];
    if (best_.pattern == ChannelPattern::ring) {
      set_speed(next);
    } else if (best_.pattern == ChannelPattern::nvls && trial_.speed_inter == best_.speed_inter &&
               trial_.speed_inter < trial_.speed_intra * 2) {
      trial_.min_channels = trial_.max_channels = best_.channels;
      trial_.speed_inter = next;
    } else if (trial_.speed_intra == best_.speed_intra && trial_.speed_intra < trial_.speed_inter * 2) {
      trial_.speed_intra = next;
    } else {
      return false;
    }
    --speed_index_;
    return true;
  }

  // --- helpers ------------------------------------------------------------------------------------------------------

  /// N24: one channel in the cards' order.
  void fall_back() {
    best_.channels = 1;
    best_.order.clear();
    for (std::int64_t gpu = 0; gpu < cards_; ++gpu) best_.order.push_back(static_cast<std::uint16_t>(gpu));
    best_.speed_intra = best_.speed_inter = fallback_speed;
    best_.type_intra = best_.type_inter = NcclPathType::sys;
    best_.nets.clear();
    if (!machine_.graph.nets.empty()) {
      best_.nets.push_back(static_cast<std::uint16_t>(nets_of_gpu(machine_, 0).front()));
      best_.nets.push_back(static_cast<std::uint16_t>(nets_of_gpu(machine_, best_.cards - 1).front()));
    } else if (rules_.inter_backup == InterBackup::by_nics) {
      best_.speed_inter = NcclSpeed(0);
      best_.type_inter = NcclPathType::none;
    }
  }

  void set_speed(NcclSpeed speed) { trial_.speed_intra = trial_.speed_inter = speed; }

  bool on_amd() const {
    const NcclCpu& cpu = machine_.graph.cpu.front();
    return cpu.architecture == CpuArchitecture::x86 && cpu.vendor == CpuVendor::amd;
  }

  const RoutedMachine& machine_;
  Reach reach_;
  const VersionRules& rules_;
  ChannelGraph best_, trial_;
  std::int64_t capability_ = 0, cards_ = 0;
  TypeRange intra_, inter_;
  CrossNic strictest_cross_nic_ = CrossNic::no;
  SameChannels strictest_same_ = SameChannels::yes;
  bool may_alternate_nics_ = false;
  std::span<const NcclSpeed> speeds_;
  std::size_t speed_index_ = 0;
  SpeedLimits limits_;
  SearchOutcome outcome_;
  std::int64_t steps_left_in_all_ = steps_in_all;
};

}  // namespace

SpeedLimits speed_limits(const RoutedMachine& machine, Reach reach) {
  const MachineGraph& graph = machine.graph;
  constexpr NcclSpeed unlimited{5000000};  // N4
  if (reach == Reach::one_node && graph.gpus.size() == 1) return {unlimited, unlimited};
  SpeedLimits limits;
  for (std::size_t gpu = 0; gpu < graph.gpus.size(); ++gpu) {
    for (const VertexIndex target : reach == Reach::one_node ? graph.gpus : graph.nets) {
      const Path& path = machine.paths(graph.gpus[gpu], target);
      if (path.hops() > 0) limits.path = std::max(limits.path, path.speed);
    }
    NcclSpeed nvlinks{}, slot{};
    for (const LinkIndex index_of_link : graph.at(graph.gpus[gpu]).links) {
      const Link& link = graph.at(index_of_link);
      if (link.kind == LinkKind::nvlink) nvlinks += link.speed;
      if (link.kind == LinkKind::pci) slot = link.speed;
    }
    limits.card = std::max({limits.card, nvlinks, slot});
  }
  return limits;
}

ChannelGraph find_ring(const RoutedMachine& machine, Reach reach) {
  ChannelGraph wanted;
  wanted.pattern = ChannelPattern::ring;
  wanted.max_channels = rules_of(machine.settings.version).most_channels / 2;
  return Ladder(machine, reach, wanted).run();
}

ChannelGraph find_tree(const RoutedMachine& machine, Reach reach, std::int64_t channels) {
  ChannelGraph wanted;
  wanted.pattern = ChannelPattern::balanced_tree;
  wanted.min_channels = wanted.max_channels = channels;
  return Ladder(machine, reach, wanted).run();
}

ChannelGraph find_nvls(const RoutedMachine& machine, Reach reach) {
  ChannelGraph wanted;
  wanted.pattern = ChannelPattern::nvls;
  wanted.max_channels = rules_of(machine.settings.version).most_channels;
  if (!machine.graph.nvswitch || least_compute_capability(machine.graph) < 90) return wanted;
  return Ladder(machine, reach, wanted).run();
}

}  // namespace takt::nccl
