// Sizes of messages as nccl-tests users write them.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt {

/// A number of decimal digits and nothing else.
std::optional<std::int64_t> whole_number(const std::string& text);

/// "1K:1G:x2" (each twice the last), "1M:8M:+1M", "1K,64K,1M" or one size; K, M and G are powers of 1024, as in
/// nccl-tests. Errors: another form, a last size below the first, more than a thousand sizes.
Result<std::vector<std::int64_t>> read_size_range(const std::string& text);

}  // namespace takt
