// What happens when, soonest first. Cards that are alike do the same at the same time, a thousand at once: entries of one
// instant share an entry of the heap, and are taken together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/units.hpp"

namespace takt {

/// Entries are small and trivial. What is pushed is never taken back: a caller whose entries can become void tells them
/// apart with `holds`, and void ones are dropped when their time comes.
template <class Entry>
class InstantQueue {
 public:
  void push(Duration time, const Entry& entry) {
    const std::uint32_t node = new_node(entry);
    Recent& recent = recent_of(time);
    if (recent.first != none && recent.time == time) {
      nodes_[recent.last].next = node;
      recent.last = node;
      ++nodes_[recent.first].count;
      return;
    }
    recent = {time, node, node};
    heap_.push_back({time, node});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  /// The soonest time of an entry that holds; Duration::max() if there is none.
  template <class Holds>
  Duration next(Holds holds) {
    while (!heap_.empty()) {
      Instant& soonest = heap_.front();
      while (soonest.first != none && !holds(nodes_[soonest.first].entry)) drop_first(soonest);
      if (soonest.first != none) return soonest.time;
      pop();
    }
    return Duration::max();
  }
  Duration next() {
    return next([](const Entry&) { return true; });
  }

  /// How many entries lie at the soonest time, void ones included, if they were pushed one after another; fewer if not.
  std::size_t soonest_count() const { return heap_.empty() ? 0 : nodes_[heap_.front().first].count; }

  /// Moves the entries of the instant `now` that hold to the end of `due`, mostly in the order in which they were pushed.
  template <class Holds>
  void take(Duration now, Holds holds, std::vector<Entry>& due) {
    while (!heap_.empty() && heap_.front().time <= now) {
      for (Instant& soonest = heap_.front(); soonest.first != none; drop_first(soonest)) {
        if (holds(nodes_[soonest.first].entry)) due.push_back(nodes_[soonest.first].entry);
      }
      pop();
    }
  }
  void take(Duration now, std::vector<Entry>& due) {
    take(now, [](const Entry&) { return true; }, due);
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr unsigned recent_bits = 6;

  struct Node {
    Entry entry;
    std::uint32_t next = none;  // of the same instant, or the next free one
    std::uint32_t count = 1;    // of the first of an instant: how many there are
  };
  struct Instant {
    Duration time{};
    std::uint32_t first = none;
    bool operator>(const Instant& other) const { return time > other.time; }
  };
  /// An instant that was pushed to lately, so that it is found again. Of one time there may be several in the heap.
  struct Recent {
    Duration time{};
    std::uint32_t first = none, last = none;
  };

  std::uint32_t new_node(const Entry& entry) {
    if (free_ == none) {
      nodes_.push_back({entry, none, 1});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    nodes_[node] = {entry, none, 1};
    return node;
  }

  Recent& recent_of(Duration time) {
    constexpr std::uint64_t spread = 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
    return recent_[(static_cast<std::uint64_t>(time.count()) * spread) >> (64U - recent_bits)];
  }

  void drop_first(Instant& instant) {
    const std::uint32_t first = instant.first;
    instant.first = nodes_[first].next;
    if (instant.first != none) nodes_[instant.first].count = nodes_[first].count - 1;
    Recent& recent = recent_of(instant.time);
    if (recent.first == first) recent.first = instant.first;
    nodes_[first].next = free_;
    free_ = first;
  }

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
  }

  std::vector<Node> nodes_;
  std::vector<Instant> heap_;
  std::array<Recent, 1U << recent_bits> recent_;
  std::uint32_t free_ = none;
};

}  // namespace takt
