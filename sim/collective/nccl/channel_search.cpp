// The search builds channels one after another. A channel is a walk from card to card; each step takes the channel's
// speed off every directed link of the path, and a step for which some link has too little left is not taken. When a
// channel is complete, the graph so far is compared with the best one, and the search goes on to the next channel with
// what the links have left. Then it backs up, giving the speed back, and tries the next card. Every call of visit() is
// one step of the budget; when the budget is spent, the best graph so far stands. That is why the order in which cards
// are tried matters: a search of eight cards on PCIe is never exhaustive.
//
// Orders that are tried: the cards as they are numbered (for the first channel), the order of the channel before (for
// the others), then by nearness: cards with the most bandwidth first, of these those with the fewest hops, then the
// next by number.
//
// Between servers a channel starts at a NIC port, and comes back to one: a ring from its last card, a tree from its
// first. Only a port's bandwidth that no other channel uses counts.
#include "collective/nccl/channel_search.hpp"

#include "base/contract.hpp"
#include "collective/nccl/link_budget.hpp"
#include "collective/nccl/nic_affinity.hpp"

#include <algorithm>
#include <optional>

namespace takt::nccl {
namespace {

constexpr int never = -1;

enum class CardOrder : std::uint8_t { by_nearness, by_number, as_before };

/// What is left to do in the channel that is being walked.
struct Walk {
  int back_to_net = never;    ///< the step after which the channel goes to a port
  int back_to_first = never;  ///< the step after which it closes the ring
  CardOrder order = CardOrder::by_nearness;
};

/// In whole GB/s, as cards are ranked.
std::int64_t whole_gigabytes(NcclSpeed speed) {
  return speed.count() / 1000;
}

class ChannelSearch {
 public:
  ChannelSearch(const RoutedMachine& machine, Reach reach, const ChannelGraph& trial, std::int64_t steps,
                ChannelGraph& best)
      : machine_(machine),
        graph_(machine.graph),
        reach_(reach),
        trial_(trial),
        best_(best),
        steps_left_(steps),
        links_left_(machine) {
    cards_ = graph_.gpus.size();
    trial_.channels = 0;
    trial_.hops = 0;
    trial_.cards = cards_;
    trial_.order.assign(static_cast<std::size_t>(trial_.max_channels) * cards_, 0);
    trial_.nets.assign(reach == Reach::several_nodes ? static_cast<std::size_t>(trial_.max_channels) * 2 : 0, 0);
    for (const NcclNet& net : graph_.net) port_left_.push_back(net.speed);
    used_.assign(cards_, 0);
    for (std::size_t gpu = 0; gpu < cards_; ++gpu) {
      fixed_order_.push_back(graph_.nvswitch ? neighbours_of(gpu) : nearest_from(gpu));
    }
    if (reach == Reach::several_nodes) look_up_ports();
  }

  SearchOutcome run() {
    next_channel();
    if (steps_left_ < 0) return {SearchEnd::perfect, steps_left_};
    return {steps_left_ == 0 ? SearchEnd::out_of_steps : SearchEnd::exhausted, steps_left_};
  }

 private:
  /// A search asks for these at every step; they depend on nothing that it changes.
  void look_up_ports() {
    ports_ = nets_to_try(machine_, RoutedMachine::no_gpu, trial_.type_inter);
    for (std::size_t gpu = 0; gpu < cards_; ++gpu) {
      ports_of_.push_back(nets_to_try(machine_, gpu, trial_.type_inter));
    }
    for (std::size_t port = 0; port < graph_.nets.size(); ++port) {
      cards_near_.push_back(nearest_gpus(machine_, port));
    }
  }

  // --- channels -----------------------------------------------------------------------------------------------------

  void next_channel() {
    if (reach_ == Reach::several_nodes) {
      start_at_nets();
    } else if (trial_.pattern == ChannelPattern::nvls) {
      enter(std::nullopt, current_channel(), 0, {});
    } else {
      start_at_cards();
    }
  }

  void start_at_cards() {
    const int close = trial_.pattern == ChannelPattern::ring ? last_step() : never;
    if (trial_.channels == 0) {
      enter(std::nullopt, 0, 0, {never, close, CardOrder::by_number});
    } else {
      enter(std::nullopt, card_before(0), 0, {never, close, CardOrder::as_before});
    }
    if (trial_.same == SameChannels::yes && trial_.channels != 0) return;
    for (std::size_t gpu = 0; gpu < cards_; ++gpu) enter(std::nullopt, gpu, 0, {never, close, CardOrder::by_nearness});
  }

  void start_at_nets() {
    const std::vector<std::size_t>& ports = ports_;
    // Ports are matched and booked in whole GB/s.
    const NcclSpeed booked(whole_gigabytes(trial_.speed_inter) * 1000);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::size_t port = ports[(current_channel() + i) % ports.size()];
      if (port_left_[port] < booked || !alternates_from(port)) continue;
      port_in() = static_cast<std::uint16_t>(port);
      trial_.latency_inter = graph_.net[port].latency;
      book_port(port, booked);
      const bool found = start_at_net(port, ports.size());
      book_port(port, NcclSpeed(-booked.count()));
      if (trial_.pattern == ChannelPattern::nvls && found) break;
    }
  }

  /// Returns whether an NVLS channel was tried from the port.
  bool start_at_net(std::size_t port, std::size_t ports) {
    Walk walk;
    walk.back_to_net = trial_.pattern == ChannelPattern::ring         ? last_step()
                       : trial_.pattern == ChannelPattern::split_tree ? 1
                                                                      : 0;
    const VertexIndex from = graph_.nets[port];
    const std::size_t near = machine_.nearest_gpu[port];
    if (trial_.pattern == ChannelPattern::nvls) {
      if (current_channel() >= ports || near == RoutedMachine::no_gpu || owns_channel(near)) return false;
      enter(from, near, 0, walk);
      return true;
    }
    if (trial_.channels > 0 && trial_.same == SameChannels::yes) {
      walk.order = CardOrder::as_before;
      enter(from, card_before(0), 0, walk);
      return false;
    }
    if (trial_.channels == 0 && !graph_.nvswitch) try_by_number(from, walk);
    if (near != RoutedMachine::no_gpu) enter(from, near, 0, walk);
    for (const std::size_t gpu : cards_near_[port]) {
      if (gpu != near && machine_.path_from_net(port, gpu).type < NcclPathType::none) enter(from, gpu, 0, walk);
    }
    return false;
  }

  /// The cards by number come first as a yardstick, on a small budget of their own.
  void try_by_number(VertexIndex from, Walk walk) {
    constexpr std::int64_t own_budget = 1 << 10;
    const std::int64_t outer = steps_left_;
    steps_left_ = own_budget;
    walk.order = CardOrder::by_number;
    enter(from, 0, 0, walk);
    steps_left_ = steps_left_ < 0 ? steps_left_ : outer;
  }

  bool owns_channel(std::size_t gpu) const {
    for (std::int64_t c = 0; c < trial_.channels; ++c) {
      if (trial_.order[static_cast<std::size_t>(c) * cards_] == gpu) return true;
    }
    return false;
  }

  /// With alternating NICs every second channel goes back the way the one before it came.
  bool alternates_from(std::size_t port) const {
    if (trial_.pattern != ChannelPattern::ring || trial_.cross_nic != CrossNic::alternating) return true;
    return trial_.channels % 2 == 0 || trial_.nets[(current_channel() - 1) * 2 + 1] == port;
  }

  /// Ports of one adapter that are one port share its bandwidth.
  void book_port(std::size_t port, NcclSpeed speed) {
    for (std::size_t other = 0; other < port_left_.size(); ++other) {
      if (graph_.net[other].asic == graph_.net[port].asic && graph_.net[other].port == graph_.net[port].port) {
        port_left_[other] -= speed;
      }
    }
  }

  void channel_complete() {
    ++trial_.channels;
    if (better_than_best()) {
      best_ = trial_;
      best_.order.resize(static_cast<std::size_t>(trial_.channels) * cards_);
      if (!best_.nets.empty()) best_.nets.resize(static_cast<std::size_t>(trial_.channels) * 2);
      if (trial_.channels == trial_.max_channels) steps_left_ = -1;
    }
    if (trial_.channels < trial_.max_channels) next_channel();
    --trial_.channels;
  }

  bool better_than_best() const {
    if (trial_.channels < trial_.min_channels) return false;
    if (trial_.pattern == ChannelPattern::nvls) {
      const bool more_owners = trial_.channels > best_.channels && trial_.channels <= static_cast<std::int64_t>(cards_);
      return more_owners || trial_.speed_inter * trial_.channels > best_.speed_inter * best_.channels;
    }
    const NcclSpeed total = trial_.speed_intra * trial_.channels;
    const NcclSpeed best_total = best_.speed_intra * best_.channels;
    if (total != best_total) return total > best_total;
    return trial_.pattern == best_.pattern && trial_.cross_nic == best_.cross_nic && trial_.hops < best_.hops;
  }

  // --- steps of a channel -------------------------------------------------------------------------------------------

  void enter(std::optional<VertexIndex> from, std::size_t gpu, int step, const Walk& walk) {
    if (steps_left_ <= 0 || (from && !take(*from, graph_.gpus[gpu], 1))) return;
    used_[gpu] ^= channel_bit();
    visit(gpu, step, walk);
    used_[gpu] ^= channel_bit();
    if (from) give_back(*from, graph_.gpus[gpu], 1);
  }

  void visit(std::size_t gpu, int step, const Walk& walk) {
    if (steps_left_ <= 0) return;
    --steps_left_;
    if (step == static_cast<int>(cards_)) {
      channel_complete();
      return;
    }
    order_at(step) = static_cast<std::uint16_t>(gpu);
    if (step == walk.back_to_net) {
      go_to_net(gpu, step, walk);
    } else if (trial_.pattern == ChannelPattern::nvls) {
      share_through_switch(gpu);
    } else if (step < last_step()) {
      go_on(gpu, step, walk);
    } else if (step == walk.back_to_first) {
      close_ring(gpu, walk);
    } else {
      visit(gpu, static_cast<int>(cards_), {never, never, walk.order});
    }
  }

  void go_on(std::size_t gpu, int step, const Walk& walk) {
    switch (walk.order) {
      case CardOrder::by_number:
        enter(graph_.gpus[gpu], static_cast<std::size_t>(step) + 1, step + 1, walk);
        return;
      case CardOrder::as_before:
        enter(graph_.gpus[gpu], card_before(step + 1), step + 1, walk);
        return;
      case CardOrder::by_nearness:
        break;
    }
    // Only on the way to a port the order depends on what channels have taken.
    if (walk.back_to_net == never || graph_.nvswitch) {
      for (const std::uint16_t next : fixed_order_[gpu]) {
        if ((used_[next] & channel_bit()) == 0) enter(graph_.gpus[gpu], next, step + 1, walk);
      }
      return;
    }
    for (const std::uint16_t next : cards_on_the_way_to_net(gpu, step, walk)) {
      enter(graph_.gpus[gpu], next, step + 1, walk);
    }
  }

  void close_ring(std::size_t gpu, const Walk& walk) {
    const std::size_t first = order_at(0);
    if (!take(graph_.gpus[gpu], graph_.gpus[first], 1)) return;
    visit(first, static_cast<int>(cards_), {walk.back_to_net, never, walk.order});
    give_back(graph_.gpus[gpu], graph_.gpus[first], 1);
  }

  void go_to_net(std::size_t gpu, int step, const Walk& walk) {
    const std::size_t start = port_in();
    for (const std::size_t port : ports_of_[gpu]) {
      if (!may_leave_by(port, start, step)) continue;
      // The first two cards of a balanced tree carry half of the network traffic each.
      const bool halved = trial_.pattern == ChannelPattern::balanced_tree;
      const NcclSpeed full = trial_.speed_inter;
      if (halved) trial_.speed_inter = full / 2;
      const bool taken = take(graph_.gpus[gpu], graph_.nets[port], 1);
      trial_.speed_inter = full;
      if (!taken) continue;
      port_out() = static_cast<std::uint16_t>(port);
      visit(gpu, step, {halved && step == 0 ? 1 : never, walk.back_to_first, walk.order});
      if (halved) trial_.speed_inter = full / 2;
      give_back(graph_.gpus[gpu], graph_.nets[port], 1);
      trial_.speed_inter = full;
    }
  }

  bool may_leave_by(std::size_t port, std::size_t start, int step) const {
    const NcclNet& net = graph_.net[port];
    const NcclNet& start_net = graph_.net[start];
    if (trial_.pattern == ChannelPattern::tree && port != start) return false;
    if (trial_.pattern == ChannelPattern::ring && trial_.cross_nic == CrossNic::alternating) {
      if (trial_.channels % 2 == 1 && port != trial_.nets[(current_channel() - 1) * 2]) return false;
    } else if (trial_.cross_nic == CrossNic::no && (net.asic != start_net.asic || net.port != start_net.port)) {
      return false;
    }
    const bool second_of_balanced = trial_.pattern == ChannelPattern::balanced_tree && step != 0;
    return !second_of_balanced || port == trial_.nets[current_channel() * 2 + 1];
  }

  /// NVLS: every card sends to and receives from the switch; the owner of the channel twice.
  void share_through_switch(std::size_t owner) {
    expects(graph_.nvswitch.has_value(), "NVLS is searched on servers with NVSwitches");
    const VertexIndex fabric = *graph_.nvswitch;
    std::size_t received = 0, sent = 0;
    const auto share = [&](std::size_t gpu) { return gpu == owner ? 2 : 1; };
    while (received < cards_ && take(fabric, graph_.gpus[received], share(received))) ++received;
    if (received == cards_) {
      while (sent < cards_ && take(graph_.gpus[sent], fabric, share(sent))) ++sent;
      if (sent == cards_) visit(owner, static_cast<int>(cards_), {});
    }
    while (sent > 0) --sent, give_back(graph_.gpus[sent], fabric, share(sent));
    while (received > 0) --received, give_back(fabric, graph_.gpus[received], share(received));
  }

  // --- the order of cards -------------------------------------------------------------------------------------------

  /// Least of these first.
  struct Nearness {
    std::int64_t net_speed, slot_speed, net_hops, speed, hops, distance;  // speeds negated: more is nearer
    std::uint16_t gpu;
    auto operator<=>(const Nearness&) const = default;
  };

  /// The other cards that can be reached from one, nearest first.
  std::vector<std::uint16_t> nearest_from(std::size_t gpu) const {
    std::vector<Nearness> others;
    for (std::size_t distance = 1; distance < cards_; ++distance) {
      const std::size_t other = (gpu + distance) % cards_;
      const Path& path = machine_.gpu_path(gpu, other);
      if (path.hops() == 0) continue;
      others.push_back({0, 0, 0, -whole_gigabytes(path.speed), static_cast<std::int64_t>(path.hops()),
                        static_cast<std::int64_t>(distance), static_cast<std::uint16_t>(other)});
    }
    std::sort(others.begin(), others.end());
    return cards_of(others);
  }

  std::vector<std::uint16_t> cards_on_the_way_to_net(std::size_t gpu, int step, const Walk& walk) {
    std::vector<Nearness> candidates;
    candidates.reserve(cards_);
    for (std::size_t distance = 1; distance < cards_; ++distance) {
      const std::size_t other = (gpu + distance) % cards_;
      const Path& path = machine_.gpu_path(gpu, other);
      if (path.hops() == 0 || (used_[other] & channel_bit()) != 0) continue;
      const Path& from_net = machine_.path_from_net(port_in(), other);
      candidates.push_back({-whole_gigabytes(from_net.speed), -whole_gigabytes(links_left_.slot_left(other)),
                            static_cast<std::int64_t>(from_net.hops()), -whole_gigabytes(path.speed),
                            static_cast<std::int64_t>(path.hops()), static_cast<std::int64_t>(distance),
                            static_cast<std::uint16_t>(other)});
    }
    std::sort(candidates.begin(), candidates.end());
    // While the port is not next, cards that are all alike are tried from the other end.
    const bool alike = std::all_of(candidates.begin(), candidates.end(), [&](const Nearness& near) {
      return near.speed == candidates.front().speed && near.hops == candidates.front().hops;
    });
    if (walk.back_to_net != step + 1 && alike) std::reverse(candidates.begin(), candidates.end());
    return cards_of(candidates);
  }

  static std::vector<std::uint16_t> cards_of(const std::vector<Nearness>& ranked) {
    std::vector<std::uint16_t> cards;
    cards.reserve(ranked.size());
    for (const Nearness& near : ranked) cards.push_back(near.gpu);
    return cards;
  }

  /// NVSwitches prefer cards that talk to few others: only the next and the previous by number are tried.
  std::vector<std::uint16_t> neighbours_of(std::size_t gpu) const {
    const auto next = static_cast<std::uint16_t>((gpu + 1) % cards_);
    const auto previous = static_cast<std::uint16_t>((gpu + cards_ - 1) % cards_);
    const bool tree_with_two =
        trial_.pattern == ChannelPattern::split_tree || trial_.pattern == ChannelPattern::balanced_tree;
    std::vector<std::uint16_t> cards{next};
    if (trial_.pattern == ChannelPattern::ring) cards = {previous, next};
    if (tree_with_two) cards = {next, previous};
    if (next == previous) cards = {next};
    std::erase_if(cards, [&](std::uint16_t card) { return machine_.gpu_path(gpu, card).hops() == 0; });
    return cards;
  }

  // --- links --------------------------------------------------------------------------------------------------------

  bool within_server(VertexIndex vertex) const {
    const VertexKind kind = graph_.at(vertex).kind;
    return kind == VertexKind::gpu || kind == VertexKind::nvswitch;
  }

  NcclSpeed speed_between(VertexIndex from, VertexIndex to, std::int64_t shares) const {
    return (within_server(from) && within_server(to) ? trial_.speed_intra : trial_.speed_inter) * shares;
  }

  /// Takes the channel's speed (times `shares`) off the path, if it is near enough and its links have as much left.
  bool take(VertexIndex from, VertexIndex to, std::int64_t shares) {
    const Path& path = machine_.paths(from, to);
    const NcclPathType limit = within_server(from) && within_server(to) ? trial_.type_intra : trial_.type_inter;
    if (path.type >= NcclPathType::none || path.type > limit) return false;
    const bool both_ways = trial_.pattern == ChannelPattern::balanced_tree ||
                           trial_.pattern == ChannelPattern::split_tree || trial_.pattern == ChannelPattern::tree;
    if (both_ways && machine_.paths(to, from).type > limit) return false;
    if (!links_left_.take(from, to, speed_between(from, to, shares))) return false;
    trial_.hops += shares * static_cast<std::int64_t>(path.hops());
    return true;
  }

  void give_back(VertexIndex from, VertexIndex to, std::int64_t shares) {
    links_left_.give_back(from, to, speed_between(from, to, shares));
    trial_.hops -= shares * static_cast<std::int64_t>(machine_.paths(from, to).hops());
  }

  // --- the channel at hand ------------------------------------------------------------------------------------------

  int last_step() const { return static_cast<int>(cards_) - 1; }
  std::size_t current_channel() const { return static_cast<std::size_t>(trial_.channels); }
  std::uint64_t channel_bit() const { return std::uint64_t{1} << trial_.channels; }
  std::uint16_t& order_at(int step) {
    return trial_.order[current_channel() * cards_ + static_cast<std::size_t>(step)];
  }
  std::size_t card_before(int step) const {
    return trial_.order[(current_channel() - 1) * cards_ + static_cast<std::size_t>(step)];
  }
  std::uint16_t& port_in() { return trial_.nets[current_channel() * 2]; }
  std::uint16_t& port_out() { return trial_.nets[current_channel() * 2 + 1]; }

  const RoutedMachine& machine_;
  const MachineGraph& graph_;
  Reach reach_;
  ChannelGraph trial_;
  ChannelGraph& best_;
  std::int64_t steps_left_;
  std::size_t cards_ = 0;
  LinkBudget links_left_;
  std::vector<NcclSpeed> port_left_;
  std::vector<std::uint64_t> used_;                      ///< of a card: bit c if channel c has passed it
  std::vector<std::vector<std::uint16_t>> fixed_order_;  ///< from a card, where no port is to be reached
  std::vector<std::size_t> ports_;                       ///< in the order in which channels try them
  std::vector<std::vector<std::size_t>> ports_of_;       ///< the same for one card
  std::vector<std::vector<std::size_t>> cards_near_;     ///< of each port
};

}  // namespace

SearchOutcome search_channels(const RoutedMachine& machine, Reach reach, const ChannelGraph& trial, std::int64_t steps,
                              ChannelGraph& best) {
  return ChannelSearch(machine, reach, trial, steps, best).run();
}

}  // namespace takt::nccl
