// What a card holds beyond what is allocated, as a range.
//
// The allocator rounds and fragments (semantics H2, M8), CUDA and its libraries take a context (M7), NCCL takes buffers
// (N70). How much the allocator holds beyond what it gave out depends on the order of sizes and cannot be predicted to
// a few percent, so a range is told: the rules' own, widened by what published runs show between allocated bytes and
// nvidia-smi (fms-acceleration, A100: fused losses 0.06 to 0.14 on one card and 0.18 to 0.54 under FSDP; whole logits
// 0.04 to 0.62 and 0.16 to 0.85; full fine-tuning 0.06 to 0.92). No step can reserve more than the card has: the
// allocator gives cached blocks back first (H2).
#pragma once

#include "config/scenario.hpp"
#include "metrics/step_metrics.hpp"

namespace takt {

/// (nvidia-smi - allocated) / allocated, least and most.
struct OverheadRange {
  double low = 0.0;
  double high = 0.0;
};

OverheadRange measured_overhead(const Scenario& scenario, std::int64_t ranks);

CardUse card_use(OverheadRange measured, Bytes allocated, Bytes nccl, Bytes capacity);

}  // namespace takt
