// What a kernel costs on a card when it runs alone.
//
// The first model is a roofline with one efficiency a kind of kernel (card_spec.hpp); a calibrated model of a card
// takes its place behind the same functions, and `provenance()` says which of the two priced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/card_spec.hpp"
#include "config/model_spec.hpp"
#include "workload/global_constants.hpp"
#include "workload/kernel.hpp"

namespace takt {

enum class AttentionPass { forward, backward };

/// Equal sequences of a micro-batch, each of documents whose tokens attend to their own document only.
struct AttentionBatch {
  std::int64_t sequences = 1;
  std::vector<std::int64_t> documents;  ///< lengths, tokens; their sum is the sequence's length
};

class KernelPricer {
 public:
  /// `constants` and `clocks` hold under ComputeBasis::measured. The defaults price a short kernel that runs alone.
  /// Clocks::sustained needs a card that states its rate.
  KernelPricer(const CardSpec& card, ComputeBasis basis, const GlobalConstants& constants = kernels_alone(),
               Clocks clocks = Clocks::burst);

  /// (m x k) times (k x n); operands and result in `precision`. FLOP = 2 m n k.
  Kernel gemm(const char* name, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
              KernelKind kind = KernelKind::gemm) const;

  /// Causal attention. FLOP = 2 B heads head_dim times the sum of the squares of the documents' lengths forward, 2.5
  /// times that backward (semantics C3, C4); less if the shape has a sliding window shorter than a document. Kernels
  /// that take a mask compute the whole square of the sequence.
  Kernel attention(const AttentionBatch& batch, const TransformerShape& shape, AttentionKernel kernel,
                   AttentionPass pass, Precision precision) const;

  /// A kernel bound by memory: norms, activations, copies, optimizers.
  Kernel memory(const char* name, Bytes traffic, KernelKind kind = KernelKind::elementwise) const;

  /// NF4 to BF16 of `weights` linear weights (semantics C21).
  Kernel dequantise(std::int64_t weights, double bytes_per_weight) const;

  /// `elements` activations from 16 bits to `precision`, as before a product in it; no time where its products need
  /// none.
  Kernel cast(std::int64_t elements, Precision precision) const;

  const CardSpec& card() const { return card_; }
  std::string provenance() const;  ///< "roofline with one efficiency a kind of kernel", ...

 private:
  CardSpec card_;
  ComputeBasis basis_;
  GlobalConstants constants_;  ///< all 1 unless measured
  double gemm_slowdown_;       ///< of products, by the constants or by the clock that the card keeps up
};

/// What prices kernels of `card` within a scenario's step.
KernelPricer step_pricer(const Assumptions& assumptions, const CardSpec& card,
                         const GlobalConstants& constants = recorded_global_constants());

}  // namespace takt
