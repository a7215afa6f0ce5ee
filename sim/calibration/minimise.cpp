#include "calibration/minimise.hpp"

#include "base/contract.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace takt {
namespace {

using Point = std::vector<double>;

/// Corner and centre mixed: centre + factor (corner - centre).
Point along(const Point& centre, const Point& corner, double factor) {
  Point point(centre.size());
  for (std::size_t i = 0; i < point.size(); ++i) point[i] = centre[i] + factor * (corner[i] - centre[i]);
  return point;
}

class Simplex {
 public:
  Simplex(const std::function<double(const Point&)>& function, const Point& start, const Point& steps)
      : function_(function) {
    corners_.push_back(evaluated(start));
    for (std::size_t i = 0; i < start.size(); ++i) {
      Point corner = start;
      corner[i] += steps[i];
      corners_.push_back(evaluated(std::move(corner)));
    }
    sort();
  }

  void step() {
    Minimum& worst = corners_.back();
    const Point centre = centre_without_worst();
    Minimum reflected = evaluated(along(centre, worst.at, -1.0));
    if (reflected.value < corners_.front().value) {
      Minimum expanded = evaluated(along(centre, worst.at, -2.0));
      worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    } else if (reflected.value < corners_[corners_.size() - 2].value) {
      worst = std::move(reflected);
    } else {
      Minimum contracted = evaluated(along(centre, worst.at, reflected.value < worst.value ? -0.5 : 0.5));
      if (contracted.value < std::min(reflected.value, worst.value))
        worst = std::move(contracted);
      else
        shrink();
    }
    sort();
  }

  const Minimum& best() const { return corners_.front(); }

 private:
  Minimum evaluated(Point point) const {
    const double value = function_(point);
    return {std::move(point), value};
  }
  void sort() {
    std::stable_sort(corners_.begin(), corners_.end(),
                     [](const Minimum& a, const Minimum& b) { return a.value < b.value; });
  }
  Point centre_without_worst() const {
    const std::size_t others = corners_.size() - 1;
    Point centre(corners_.front().at.size(), 0.0);
    for (std::size_t c = 0; c < others; ++c)
      for (std::size_t i = 0; i < centre.size(); ++i) centre[i] += corners_[c].at[i] / static_cast<double>(others);
    return centre;
  }
  void shrink() {
    const Point best = corners_.front().at;
    for (std::size_t c = 1; c < corners_.size(); ++c) corners_[c] = evaluated(along(best, corners_[c].at, 0.5));
  }

  const std::function<double(const Point&)>& function_;
  std::vector<Minimum> corners_;  // best first
};

}  // namespace

Minimum minimise(const std::function<double(const std::vector<double>&)>& function, std::vector<double> start,
                 const std::vector<double>& steps, int rounds) {
  expects(!start.empty() && start.size() == steps.size(), "a step for each number");
  Simplex simplex(function, start, steps);
  for (int round = 0; round < rounds; ++round) simplex.step();
  return simplex.best();
}

}  // namespace takt
