// Measured kernels against the kernel model: `takt validate --kernels`.
#pragma once

#include "calibration/efficiency_fit.hpp"
#include "calibration/gemm_score.hpp"

#include <optional>
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

/// What kernels of a card come to, by kind and form; empty if there are none.
struct CardKernels {
  std::string card;
  std::vector<KernelErrors> kernels;
};
std::string kernel_errors_table(const std::vector<CardKernels>& cards);

/// Columns of the rows of `takt validate --kernels --csv`; `numbers` as `takt kernel` takes them.
inline constexpr const char* kernel_row_columns =
    "card,kernel,precision,numbers,measured,unit,predicted,error,held_out_error,excluded,source\n";

/// Each product as such a row, in ms.
std::string product_rows_csv(const std::vector<ProductOutcome>& outcomes);

/// A measured kernel other than a product as such a row, in ms; `predicted_s` is empty for a form without a price.
std::string kernel_row_csv(const Measurement& one, std::optional<double> predicted_s);

}  // namespace takt
