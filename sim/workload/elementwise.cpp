// Traffic, bytes a token and layer in 16 bits (compute study, section 2; q = query and key heads, I = MLP):
//
//     eager      forward 84h + 20q + 10I    backward 174h + 24q + 18I
//     fused              20h +  4q +  6I             46h +  4q + 10I
//     compiled           16h +  4q +  6I             36h +  4q + 10I
//     LayerNorm, GELU    20h       +  4I             28h       +  6I      (one kernel each)
//
// A layer has two norms and two residual additions. An addition reads two values and writes one, 6h (semantics C9);
// compiled, it is part of the norm's kernel, which saves reading the sum again, 4h forward. Norms share the rest.
//
// Launches, counted in the sources of Hugging Face's Llama: its RMSNorm casts, squares, averages, adds epsilon, takes
// the root, multiplies twice and casts back, 8 kernels; autograd runs 14 for it. Rotation multiplies, negates, joins,
// multiplies and adds queries and keys, 10; backward 18. SiLU and product 2 and 3. Fused kernels (Liger) are one each,
// the norm's backward two (input, then weight).
//
// With an FP32 residual stream (autocast over FP32 weights) a norm reads and writes 4h more, backward 6h (two gradients
// and the input), an addition reads one value and writes one in FP32, backward all three. The eager RMSNorm then has no
// cast before and behind, but multiplies by its weight in FP32: 8h and 2 kernels fewer forward, 4h and 2 backward.
//
// Models without a gate (GPT-2, Phi-2) have `gelu_new`, x/2 (1 + tanh(c (x + k x^3))), which the library computes op by
// op. Forward 8 kernels: six read one value and write one (4I each), two read two (6I): 36I. Backward 11: the last
// product gives two gradients (6I each), x/2 one (4I), tanh (6I), c and k (4I each), the cube three (4 + 4 + 6I), and
// x's three gradients are added up by two (6I each): 56I. Compiled or fused it is one kernel each way.
#include "workload/elementwise.hpp"

namespace takt {
namespace {

constexpr ElementwiseParts rms_eager{
    {{36.0, 8}, {81.0, 14}}, {{20.0, 10}, {24.0, 18}}, {{10.0, 2}, {18.0, 3}}, {{6.0, 1}, {6.0, 1}}};
constexpr ElementwiseParts rms_fused{
    {{4.0, 1}, {17.0, 2}}, {{4.0, 1}, {4.0, 1}}, {{6.0, 1}, {10.0, 1}}, {{6.0, 1}, {6.0, 1}}};
constexpr ElementwiseParts rms_compiled{
    {{4.0, 1}, {12.0, 2}}, {{4.0, 1}, {4.0, 1}}, {{6.0, 1}, {10.0, 1}}, {{4.0, 0}, {6.0, 0}}};

const ElementwiseParts& rms_parts(ElementwiseForm form) {
  switch (form) {
    case ElementwiseForm::eager:
      return rms_eager;
    case ElementwiseForm::compiled:
      return rms_compiled;
    case ElementwiseForm::fused:
      return rms_fused;
  }
  return rms_eager;
}

constexpr ElementwisePart layer_norm{{4.0, 1}, {8.0, 2}};
constexpr ElementwisePart rms_eager_fp32{{28.0, 6}, {77.0, 12}};

void widen(ElementwisePart& part) {
  part.forward.traffic += 4.0;
  part.backward.traffic += 6.0;
}

constexpr ElementwisePart gelu{{4.0, 1}, {6.0, 1}};
constexpr ElementwisePart gelu_op_by_op{{36.0, 8}, {56.0, 11}};

}  // namespace

ElementwiseParts elementwise_parts(const TransformerShape& shape, ElementwiseForm form, bool fp32_stream) {
  ElementwiseParts parts = rms_parts(form);
  if (fp32_stream && form == ElementwiseForm::eager) parts.norm = rms_eager_fp32;
  if (shape.layer_norm) parts.norm = layer_norm;
  if (fp32_stream) {
    if (shape.layer_norm || form != ElementwiseForm::eager) widen(parts.norm);
    widen(parts.residual);
  }
  if (!shape.gated_mlp) parts.activation = form == ElementwiseForm::eager ? gelu_op_by_op : gelu;
  return parts;
}

std::uint16_t dispatches_of(ElementwiseForm form, std::uint16_t launches) {
  return form == ElementwiseForm::compiled ? std::uint16_t{0} : launches;
}

}  // namespace takt
