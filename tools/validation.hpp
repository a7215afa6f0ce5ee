// The parts of `takt validate`: each predicts measured rows of a folder and tells how near it comes.
#pragma once

#include "config/library.hpp"

#include <string>
#include <vector>

namespace takt {

/// A part's report, and the recorded bounds that its summaries leave, in words.
struct ValidatedPart {
  std::string text;
  std::vector<std::string> left_bounds;
};

Result<ValidatedPart> validate_links(const std::string& folder, Library& library);
Result<ValidatedPart> validate_overlap(const std::string& folder, Library& library);
Result<ValidatedPart> validate_kernels(const std::string& folder, Library& library);
Result<ValidatedPart> validate_memory(const std::string& folder, Library& library);

}  // namespace takt
