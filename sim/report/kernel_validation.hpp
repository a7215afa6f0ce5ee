// Measured kernels against the kernel model: `takt validate --kernels`.
#pragma once

#include "calibration/gemm_score.hpp"

#include <string>
#include <vector>

namespace takt {

/// A row a card and precision, with the recorded bounds and whether they hold.
std::string kernel_validation_table(const std::vector<GemmScore>& scores);

}  // namespace takt
