// What a kernel costs on a card when it runs alone.
//
// The first model is a roofline with one efficiency a kind of kernel (card_spec.hpp); a calibrated model of a card
// takes its place behind the same functions, and `provenance()` says which of the two priced.
#pragma once

#include <cstdint>
#include <string>

#include "config/card_spec.hpp"
#include "config/model_spec.hpp"
#include "workload/kernel.hpp"

namespace takt {

enum class AttentionPass { forward, backward };

class KernelPricer {
 public:
  KernelPricer(const CardSpec& card, ComputeBasis basis);

  /// (m x k) times (k x n); operands and result in `precision`. FLOP = 2 m n k.
  Kernel gemm(const char* name, std::int64_t m, std::int64_t n, std::int64_t k, Precision precision,
              KernelKind kind = KernelKind::gemm) const;

  /// Attention over `batch` sequences of `sequence` tokens; causal. FLOP = 2 B S^2 heads head_dim forward, 2.5 times
  /// that backward (semantics C3, C4); less if the shape has a sliding window shorter than the sequence.
  Kernel attention(std::int64_t batch, std::int64_t sequence, const TransformerShape& shape, AttentionKernel kernel,
                   AttentionPass pass, Precision precision) const;

  /// A kernel bound by memory: norms, activations, copies, optimizers.
  Kernel memory(const char* name, Bytes traffic, KernelKind kind = KernelKind::elementwise) const;

  /// NF4 to BF16 of `weights` linear weights (semantics C21).
  Kernel dequantise(std::int64_t weights, double bytes_per_weight) const;

  const CardSpec& card() const { return card_; }
  std::string provenance() const;  ///< "roofline with one efficiency a kind of kernel", ...

 private:
  CardSpec card_;
  ComputeBasis basis_;
};

}  // namespace takt
