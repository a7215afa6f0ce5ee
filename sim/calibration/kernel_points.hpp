// Single kernels that others published, one by one, against what Takt prices: validation/kernels/published.csv.
//
// Rows count by rules that name their reason; every row of the file is scored or left out by one of them. A row that a
// constant of its card's file was read from is in-sample and says which constant; the rest is held out.
#pragma once

#include "config/library.hpp"
#include "workload/kernel_interval.hpp"
#include "workload/pricer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

struct KernelPoint {
  std::string device;  ///< as published
  std::string card;    ///< id of a card file; empty where there is none
  std::string kernel;  ///< "gemm", "gemm-cast-before", "attention", "attention-backward", "memory", "power", "copy"
  std::string precision;
  std::vector<std::int64_t> numbers;  ///< M N K; batch, sequence, heads, key heads, width; watts
  double rate = 0.0;                  ///< TFLOP/s, for memory GB/s
  Clocks clocks = Clocks::burst;
  std::string in_sample;  ///< the constant that was read from it
  std::string left_out;   ///< the rule
  std::string source;
};

/// Errors: another header, numbers or clocks of another form, a rule that is not one of point_rules().
Result<std::vector<KernelPoint>> read_kernel_points(const SourceText& source);

struct PointRule {
  const char* name;
  const char* reason;
};
const std::vector<PointRule>& point_rules();

/// What decides how far a price may be off.
enum class PriceKind {
  product_by_table,
  product_by_number,
  product_without,
  attention_measured,
  attention_taken_over,
  memory_measured,
  memory_taken_over,
  power
};
const char* name_of(PriceKind kind);

struct PointScore {
  KernelPoint point;
  PriceKind kind = PriceKind::power;
  double predicted = 0.0;      ///< rate, as the point's
  double interval = 0.0;       ///< relative; 0: none
  bool small = false;          ///< a product of fewer than 2^31 multiplications, which launching dominates
  bool as_unmeasured = false;  ///< priced as if nobody had measured the card: then no row is in-sample

  /// Predicted time over measured, less one.
  double error() const { return point.rate / predicted - 1.0; }
  bool held_out() const { return as_unmeasured || point.in_sample.empty(); }
  bool is_within() const;
};

/// Scores of the points that no rule leaves out. Attention and memory on measured chips are scored a second time,
/// priced as a card that nobody measured would be: with A100's fractions of the peak and 0.85 of the bandwidth. Errors:
/// a card that is not in the library, a precision it lacks.
Result<std::vector<PointScore>> score_points(const std::vector<KernelPoint>& points, Library& library);

}  // namespace takt
