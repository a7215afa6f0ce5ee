// The parts of `takt validate`: each predicts measured rows of a folder and tells how near it comes.
#pragma once

#include "config/library.hpp"

#include <optional>
#include <string>
#include <vector>

namespace takt {

/// Which rows a part predicts.
struct ValidationRows {
  std::string folder;                ///< the project's own, with the machines that they name
  std::optional<std::string> table;  ///< a user's file in the same columns, scored instead

  /// The file to read where the project's own is `own`.
  std::string file(const std::string& own) const { return table.value_or(folder + '/' + own); }
};

/// A part's report, and the recorded bounds that its summaries leave, in words. Bounds are for the project's own rows.
struct ValidatedPart {
  std::string text;
  std::vector<std::string> left_bounds;
  std::string csv;  ///< every row: what it is, measured, predicted, error, and what excluded it
};

Result<ValidatedPart> validate_links(const ValidationRows& rows, Library& library);
Result<ValidatedPart> validate_overlap(const ValidationRows& rows, Library& library);
Result<ValidatedPart> validate_kernels(const ValidationRows& rows, Library& library);
Result<ValidatedPart> validate_memory(const ValidationRows& rows, Library& library);

}  // namespace takt
