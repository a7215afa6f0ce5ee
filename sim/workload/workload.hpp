// A model and a method as blocks of parameters and priced kernels: what one rank computes, before any strategy.
//
// Blocks are in forward order: the embedding, the decoder layers, the head (final norm, lm_head, loss). Equal layers
// share one BlockKind. A strategy turns blocks into units and buckets and writes the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model_spec.hpp"
#include "config/scenario.hpp"
#include "workload/pricer.hpp"

namespace takt {

/// A parameter tensor in registration order. Sharding is over `rows` (dim 0), semantics S4.
struct Parameter {
  std::string name;             ///< "q.w", "gate.lora_A", "ln1.w", ...
  std::int64_t rows = 0;
  std::int64_t columns = 1;     ///< product of the other dimensions
  bool trainable = true;
  double bytes = 2.0;           ///< stored bytes an element when gathered for compute (bf16 2, NF4 0.516, fp32 4)
  double gradient_bytes = 2.0;  ///< bytes an element of its gradient as communicated; 0 if frozen
  /// Place in the block's forward pass. Gradients arrive in the reverse order (semantics D5, D8): last used first.
  std::uint32_t used = 0;

  std::int64_t elements() const { return rows * columns; }
};

/// What a block does to memory, per micro-batch on one rank (semantics section 7, C14 to C17).
struct BlockMemory {
  Bytes kept{};                 ///< from its forward to its backward (the checkpoint, or all saved activations)
  Bytes recomputed{};           ///< saved activations that live only during its backward (checkpointing), else 0
  Bytes forward_transient{};    ///< during its forward only
  Bytes backward_transient{};   ///< during its backward only (dequantised weights, gradients of activations)
  Bytes input{};                ///< of a decoder layer: what goes in; its gradient takes as much
};

struct BlockKind {
  std::string name;             ///< "embedding", "layer", "head"
  std::vector<Parameter> parameters;
  std::vector<Kernel> forward;
  std::vector<Kernel> recompute;       ///< before the backward, with checkpointing; else empty
  std::vector<Kernel> backward;
  BlockMemory memory;
  bool inputs_need_gradient = true;    ///< false: its post-backward comes only at the end (semantics S11)
  bool has_backward = true;            ///< false: nothing in it or before it trains (frozen embedding)
};

/// Bytes of one rank's model states if nothing is sharded, by part.
struct ModelStates {
  Bytes frozen_weights{};
  Bytes trainable_weights{};    ///< as stored (master copy and 16-bit copy)
  Bytes gradients{};
  Bytes optimizer{};

  Bytes total() const { return frozen_weights + trainable_weights + gradients + optimizer; }
};

struct Workload {
  std::string model;
  std::vector<BlockKind> kinds;
  std::vector<std::uint32_t> blocks;   ///< kind of each block, forward order
  std::int64_t tokens = 0;             ///< per rank and micro-batch
  std::int64_t parameters = 0;         ///< all, tied ones once, adapters not counted
  std::int64_t trainable_parameters = 0;
  Flops model_flops{};                 ///< of a rank's micro-batch without recomputation (MFU)
  Flops hardware_flops{};              ///< with recomputation (HFU)
  FlopRate peak{};                     ///< the card's dense peak in the compute precision, for MFU
  ModelStates states;                  ///< unsharded; the sizing guides' 16 (10, 2 + 16) bytes a parameter
  double optimizer_traffic = 28.0;     ///< card memory bytes an element in the optimizer step (semantics O1 to O3)
  double stored_bytes_trainable = 4.0; ///< bytes an element of the stored (master) trainable weights
  double optimizer_bytes = 8.0;        ///< optimizer state bytes a trainable element
  double optimizer_temporary = 0.0;    ///< bytes a trainable element alive only during the optimizer step (O2, M5)
  double gradient_state_bytes = 4.0;   ///< stored gradient bytes a trainable element
  double reduce_bytes = 4.0;           ///< bytes an element of a gradient as it is reduced
  Bytes buffers{};                     ///< module buffers, which DDP broadcasts (semantics D14)
  std::string provenance;              ///< of the kernel prices

  const BlockKind& block(std::size_t position) const { return kinds[blocks[position]]; }
};

/// Errors: a precision the card does not have, targets the model does not have, a kind of model the method cannot use.
Result<Workload> build_workload(const ModelSpec& model, const Scenario& scenario, const KernelPricer& pricer);

/// Indices of a block's trainable parameters in the order in which their gradients arrive in backward (semantics D5).
std::vector<std::size_t> gradient_arrival(const BlockKind& block);

/// Exact parameter count of a transformer (facts/models.csv).
std::int64_t parameter_count(const TransformerShape& shape);
/// Trainable elements of a LoRA over `targets`: rank * (in + out) each, all layers.
std::int64_t lora_parameter_count(const TransformerShape& shape, const LoraSettings& lora);

}  // namespace takt
