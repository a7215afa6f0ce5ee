// A text file as the readers see it, and the keys of it with their places.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace takt {

/// A file's name (as the user gave it) and its whole text.
struct SourceText {
  std::string file;
  std::string text;
};

/// One `--set key=value`: the dotted key and the value as TOML, e.g. {"batch.micro_batch", "2"}.
/// A value that is no valid TOML is taken as a string, so that `--set finetune.method=qlora` needs no quotes.
struct Override {
  std::string key;
  std::string value;
};

using Overrides = std::vector<Override>;

/// Where each key of a file was set (dotted path -> place). Keys left at their default are absent.
using SourcePlaces = std::map<std::string, SourcePlace>;

/// The place of `key`, or of the file as a whole when the key was left at its default.
SourcePlace place_of(const SourcePlaces& places, const std::string& key, const std::string& file);

/// The place of the byte at `offset` of a text; an offset beyond the end is the end.
SourcePlace place_at(const SourceText& source, std::size_t offset);

/// Reads a whole file; an error names the file and the reason.
Result<SourceText> read_text_file(const std::string& path);

}  // namespace takt
