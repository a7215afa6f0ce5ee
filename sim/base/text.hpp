// Small text helpers that every floor may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace takt {

std::string join(std::span<const std::string> parts, std::string_view separator);

/// The text without white space at its ends.
std::string_view trim(std::string_view text);

/// Number of single-character insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, if it is near enough to be a slip of the fingers (at most a third of its length).
std::optional<std::string> did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// 64-bit FNV-1a hash, stable over machines and versions; `seed` chains several texts.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 14695981039346656037ULL);

}  // namespace takt
