// Number formats: how many bytes an element takes, and in what a kernel computes.
#pragma once

#include "config/scenario.hpp"

#include <optional>
#include <string_view>

namespace takt {

/// The name a scenario uses: "bf16", "nvfp4", ...
std::string_view name_of(Precision precision);

/// The precision of that name, or nothing.
std::optional<Precision> precision_named(std::string_view name);

/// FP8, MXFP8 and NVFP4: formats of fewer than 16 bits.
bool is_narrow(Precision precision);

/// Bytes of a GEMM operand. NVFP4: 4 bits and an FP8 scale for 16 elements; MXFP8: 8 bits and an 8-bit scale for 32.
double operand_bytes(Precision precision);

/// The format of activations, norms, attention and the head when linear layers compute in `precision`: FP8 and NVFP4
/// recipes quantise the operands of linear layers only and keep everything else in BF16.
Precision activation_precision(Precision precision);

/// The format in which FSDP reduces gradients: what the scenario says, else FP32 for a full fine-tune and the adapters'
/// own for adapters.
Precision reduce_precision(const FinetuneSettings& finetune);

/// Bytes of an activation: 2 or 4.
double activation_bytes(Precision precision);

}  // namespace takt
