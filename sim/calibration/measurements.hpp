// What tools/calibrate/measure.py writes: one measurement a row, of kernels, of the host and of what joins cards.
//
// Columns kind, card, what, precision, shape, value, unit, spread; the script's head says what each kind calls its
// rows. Times are in ms, us or s; rates of kernels in TFLOP/s (causal attention counts half of its square, backward 2.5
// times that) or GB/s (10^9 bytes read and written), of transfers in GB/s of all together.
#pragma once

#include "base/result.hpp"
#include "calibration/gemm_fit.hpp"
#include "config/source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace takt {

enum class MeasuredKind : std::uint8_t {
  gemm,
  memory,
  attention,
  elementwise,
  optimizer,
  dequantise,
  sustained,  ///< a product that has run for so long that the card keeps its clock
  launch,
  copy,    ///< directly between cards, or between a card and its host
  staged,  ///< between cards through host memory
  collective
};
const char* name_of(MeasuredKind kind);

struct Measurement {
  MeasuredKind kind = MeasuredKind::gemm;
  std::string card;  ///< a card's id
  std::string what;  ///< "product", "copy", "flash forward", "0>1 1>0", "all_gather"
  Precision precision = Precision::bf16;
  std::vector<std::int64_t> shape;  ///< as many numbers as the kind has
  double seconds = 0.0;             ///< of one run
  SourcePlace place;

  /// Bytes that a kernel reads and writes, or that each transfer moves.
  double bytes() const { return static_cast<double>(shape.back()); }
};

inline constexpr const char* measurement_columns = "kind,card,what,precision,shape,value,unit,spread";

/// Also reads tables of products alone (columns card, precision, m, n, k, ms). Errors, each with its place: other
/// columns, a kind or a precision that is none, a shape with another count of numbers, a value that is not positive, a
/// unit that the kind does not have.
Result<std::vector<Measurement>> read_measurements(const SourceText& source);

/// Of a kind and card.
std::vector<Measurement> of_kind(const std::vector<Measurement>& all, MeasuredKind kind, const std::string& card);

/// What kinds there are, each once and in the order of MeasuredKind: "gemm, memory and copy"; "no" without rows.
std::string kinds_in(const std::vector<Measurement>& measured);

/// A product as the GEMM model's fit takes it.
GemmPoint gemm_point(const Measurement& product);

}  // namespace takt
