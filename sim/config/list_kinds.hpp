// Kinds of values that hold several numbers: lengths in a row, and numbers by rank (shape of a kind: value_kinds.hpp).
#pragma once

#include "config/node.hpp"
#include "config/reading.hpp"
#include "config/value_kinds.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace takt {

/// Whole numbers in the given order, equal ones allowed. One number alone stands for a list of it; an empty list is
/// written as the word `none`.
struct Lengths {
  using Value = std::vector<std::int64_t>;
  Integer item;
  std::string none = "none";

  std::string type() const { return "integer, list of integers, or \"" + none + "\""; }
  std::string range() const { return item.range(); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

/// A table from ranks to factors: { 3 = 1.2 }. Written in ascending order; an empty one is { }.
struct RankFactors {
  using Value = std::map<std::int64_t, double>;
  Integer rank;
  Real factor;

  std::string type() const { return "table from rank to number"; }
  std::string range() const { return factor.range(); }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const;
  std::string write(const Value& value) const;
};

}  // namespace takt
