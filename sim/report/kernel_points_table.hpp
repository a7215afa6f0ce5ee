// Published kernels against the kernel model, by card and kind of price: `takt validate --kernels`.
#pragma once

#include "calibration/kernel_points.hpp"

#include <string>
#include <vector>

namespace takt {

/// Rows in, scored and left out by rule; errors by card and kind; coverage of intervals by kind, with their bounds.
std::string kernel_points_table(const std::vector<KernelPoint>& points, const std::vector<PointScore>& scores);

/// Each point as a row of `takt validate --kernels --csv` (kernel_row_columns), its rate in TFLOP/s or GB/s.
std::string point_rows_csv(const std::vector<KernelPoint>& points, const std::vector<PointScore>& scores);

/// Recorded bounds that the scores leave, in words.
std::vector<std::string> left_point_bounds(const std::vector<PointScore>& scores);

}  // namespace takt
