// A sweep: a scenario file whose [sweep] section says which keys take which values.
//
//     [sweep]
//     "batch.micro_batch" = [1, 2, 4]                                  # a list
//     "batch.sequence_length" = { from = 1024, to = 16384, factor = 2 }   # a range, see sweep_range.hpp
//     zip = [{ "hardware.topology" = ["a", "b"], "hardware.cards" = [[0, 1], "all"] }]   # go together
//     skip_unfit = true                                                # leave out what does not fit in memory
//
// The points are all combinations. They are numbered from 0 in the order of the file: the last axis changes fastest, so
// a number always means the same point of the same sweep. A point is made when it is asked for; a million of them take
// no memory.
#pragma once

#include "config/scenario_document.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

/// One key with its values, or several keys whose values go together.
struct SweepAxis {
  struct OneKey {
    std::string key;
    SourcePlace place;
    std::vector<Node> values;
  };
  std::vector<OneKey> keys;  ///< all with the same number of values, at least one

  std::uint64_t size() const { return keys.front().values.size(); }
};

enum class Unfit { run, skip };  ///< what becomes of points that do not fit in memory

struct SweepDocument {
  Document base;  ///< the scenario without [sweep], with the overrides that name no axis
  std::vector<SweepAxis> axes;
  Unfit unfit = Unfit::run;
  std::uint64_t points = 1;  ///< the product of the axes' sizes

  /// Keys of all axes, in order.
  std::vector<std::string> keys() const;
  /// The value of each of keys() at a point.
  std::vector<const Node*> values(std::uint64_t point) const;
  /// Errors of the point alone, such as a combination that no scenario may have.
  Result<Scenario> scenario(std::uint64_t point) const;
};

/// Whether a parsed file has a section [sweep].
bool is_sweep(const Document& document);

/// An override whose value is a list (of lists, for keys that take lists) or a range adds an axis or replaces that of
/// the same key; any other override fixes its key, also against the file's axes. Errors: no axis at all, an unknown
/// key, a value that its key cannot have, a range without an end, zipped lists of different lengths, a key on two axes,
/// more points than a 63-bit number counts.
Result<SweepDocument> parse_sweep(const SourceText& source, const Overrides& overrides = {});

}  // namespace takt
