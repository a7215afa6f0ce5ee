// What a reader collects while it goes through a file: everything that is wrong, and where each key was set.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "config/node.hpp"

namespace takt {

struct Reading {
  Diagnostics diagnostics;
  SourcePlaces places;
  std::set<std::string> unsound;  ///< keys whose value was refused

  /// Whether the file sets `key`, and to a value that could be read.
  bool is_set(const std::string& key) const { return places.count(key) > 0 && unsound.count(key) == 0; }
  /// Whether the value of `key` means anything: it was read, or left at its default.
  bool is_sound(const std::string& key) const { return unsound.count(key) == 0; }

  void error(const SourcePlace& place, std::string message, std::string hint = "");
  void warning(const SourcePlace& place, std::string message, std::string hint = "");
  void note(const SourcePlace& place, std::string message, std::string hint = "");
};

/// Orders messages as a reader of the file meets them: by line and column, the command line last.
void sort_by_place(Diagnostics& diagnostics);

/// What a reader returns: the spec with its warnings, or all errors; messages in the order of the file.
template <class Spec>
Result<Spec> finish(Spec spec, Reading reading) {
  sort_by_place(reading.diagnostics);
  if (has_error(reading.diagnostics)) return std::move(reading.diagnostics);
  return Result<Spec>(std::move(spec), std::move(reading.diagnostics));
}

}  // namespace takt
