// A method's decisions for one shape, taken once: what trains, in which formats, what is kept. The files beside this
// one (layer.cpp, ends.cpp, activations.cpp, parameters.cpp) read it and decide nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "config/scenario.hpp"
#include "workload/shape.hpp"

namespace takt {

/// Bytes of an NF4 weight. Four bits, one 32-bit constant a block of 64; with double quantisation 8 bits a block of 64
/// and 32 bits for 256 of these (semantics C20). Sizing guides round to 0.516 and 0.5625.
inline constexpr double nf4_bytes = (4.0 + 32.0 / 64.0) / 8.0;
inline constexpr double nf4_double_quantised_bytes = (4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0)) / 8.0;

struct Recipe {
  TransformerShape shape;
  std::vector<Linear> linears;        ///< of a decoder layer
  std::vector<bool> adapted;          ///< which of them carry an adapter
  Method method = Method::full;
  Checkpointing checkpointing = Checkpointing::none;
  std::int64_t checkpoint_every = 1;  ///< every how-manieth layer, the first included
  bool early_stop = true;             ///< of recomputation; not when checkpointing is reentrant (semantics C8)
  AttentionKernel attention = AttentionKernel::flash;
  ElementwiseForm elementwise = ElementwiseForm::eager;
  CrossEntropy cross_entropy = CrossEntropy::eager;
  Precision compute = Precision::bf16;     ///< of the base linear layers
  Precision activation = Precision::bf16;  ///< of everything else
  double weight_bytes = 2.0;          ///< of an unquantised weight as gathered for compute
  double linear_bytes = 2.0;          ///< of a base linear weight: weight_bytes or NF4
  double activation_bytes = 2.0;
  double residual_bytes = 2.0;          ///< of the residual stream: FP32 under autocast over FP32 weights
  std::int64_t rank = 0;                ///< of the adapters; 0 without
  Precision adapter = Precision::fp32;  ///< as stored
  double adapter_bytes = 4.0;
  Precision adapter_compute = Precision::fp32;  ///< of the adapters' matrix products: another one under autocast
  double adapter_compute_bytes = 4.0;
  double dropout = 0.0;
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  std::int64_t tokens = 1;
  std::vector<std::int64_t> documents = {1};  ///< lengths, tokens, that attention keeps apart in a sequence (C3)

  bool base_trains() const { return method == Method::full; }
  /// Linears cast what norms give them.
  bool stream_casts() const { return residual_bytes != activation_bytes; }
  bool quantised() const { return method == Method::qlora; }
  /// The base's activations are cast to the adapter's format before A (semantics C22).
  bool adapter_casts() const { return adapter_bytes != activation_bytes; }
  /// Autocast casts the adapter's input and weights once more, to the format it computes in.
  bool adapter_autocasts() const { return adapter_compute_bytes != adapter_bytes; }
  /// Adapted or trained: its weight gradient is computed.
  bool trains(std::size_t linear) const { return base_trains() || adapted[linear]; }
};

Recipe make_recipe(const TransformerShape& shape, const Scenario& scenario);

/// Lengths of the documents in a sequence: the given ones, repeated until it is full, the last one cut; or the sequence
/// itself.
std::vector<std::int64_t> document_lengths(const BatchSettings& batch);

/// Whether the first decoder layer's input needs a gradient: it does when the embedding trains, and when checkpointing
/// meets frozen embeddings, because the library then makes embedding outputs require one (semantics C7).
bool first_layer_input_needs_gradient(const Recipe& recipe);

}  // namespace takt
