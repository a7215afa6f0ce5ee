// Which of n things belong together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace takt {

/// Disjoint sets of 0 .. n-1. The name of a set is its smallest member, so that results do not depend on the order of
/// joins.
class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

  std::size_t find(std::size_t x) const {
    while (parent_[x] != x) x = parent_[x];
    return x;
  }

  bool together(std::size_t a, std::size_t b) const { return find(a) == find(b); }

  void join(std::size_t a, std::size_t b) {
    const std::size_t root_a = find(a);
    const std::size_t root_b = find(b);
    parent_[std::max(root_a, root_b)] = std::min(root_a, root_b);
  }

  /// The sets, each ascending, ordered by their smallest member.
  std::vector<std::vector<std::size_t>> sets() const {
    std::vector<std::vector<std::size_t>> result;
    std::vector<std::size_t> position(parent_.size());
    for (std::size_t x = 0; x < parent_.size(); ++x) {
      const std::size_t root = find(x);
      if (root == x) {
        position[x] = result.size();
        result.emplace_back();
      }
      result[position[root]].push_back(x);
    }
    return result;
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace takt
