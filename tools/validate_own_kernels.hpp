// takt validate --kernels --table: a user's kernels as the cards' files price them.
#pragma once

#include "validation.hpp"

namespace takt {

/// `file` has the columns of validation/kernels/gemm.csv or those of tools/calibrate/measure.py, of which kernels count.
/// Errors: another table, an unknown card, a precision that a card lacks; each with its row.
Result<ValidatedPart> score_own_kernels(const std::string& file, Library& library);

}  // namespace takt
