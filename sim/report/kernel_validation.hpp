// Measured kernels against the kernel model: `takt validate --kernels`.
#pragma once

#include "calibration/gemm_score.hpp"

#include <string>
#include <vector>

namespace takt {

/// A row a card and precision, with the recorded bounds and whether they hold.
std::string kernel_validation_table(const std::vector<GemmScore>& scores);

/// A measured product and what the file of its card says.
struct ProductOutcome {
  GemmPoint point;
  double predicted_s = 0.0;
  double interval = 0.0;    ///< relative, of the card's file; 0: not known
  double held_out_s = 0.0;  ///< fitted without its weight shape; 0: not asked for

  double error() const { return predicted_s / point.seconds - 1.0; }
};

/// Errors of products as the cards' files predict them, by card and precision.
std::string product_table(const std::vector<ProductOutcome>& outcomes);

/// Columns of the rows of `takt validate --kernels --csv`; `numbers` as `takt kernel` takes them.
inline constexpr const char* kernel_row_columns =
    "card,kernel,precision,numbers,measured,unit,predicted,error,held_out_error,excluded,source\n";

/// Each product as such a row, in ms.
std::string product_rows_csv(const std::vector<ProductOutcome>& outcomes);

}  // namespace takt
