// What norms, rotation, activation and residual additions move and launch, by the form in which they run.
#pragma once

#include "config/model_spec.hpp"
#include "config/scenario.hpp"

#include <cstdint>

namespace takt {

/// An elementwise part of a layer in one pass.
struct ElementwisePass {
  double traffic = 0.0;        ///< bytes a token and element of width, in 16 bits
  std::uint16_t launches = 1;  ///< CUDA kernels; 0: part of a kernel beside it
};

struct ElementwisePart {
  ElementwisePass forward, backward;
};

/// The parts of a decoder layer; widths: hidden, query and key heads together, intermediate, hidden.
struct ElementwiseParts {
  ElementwisePart norm, rope, activation, residual;
};

/// With an FP32 residual stream norms and additions move it in FP32; casts of linears' inputs are not among the parts.
ElementwiseParts elementwise_parts(const TransformerShape& shape, ElementwiseForm form, bool fp32_stream = false);

/// A cast between the FP32 stream and 16 bits.
inline constexpr ElementwisePass stream_cast{6.0, 1};

/// Eager PyTorch ops among `launches` kernels of a layer: none where torch.compile's graph launches them itself.
std::uint16_t dispatches_of(ElementwiseForm form, std::uint16_t launches);

}  // namespace takt
