// How a run is described in a few words.
#pragma once

#include "metrics/step_metrics.hpp"

#include <string>

namespace takt {

/// "LoRA rank 16, bf16, adamw, full checkpointing".
std::string describe_method(const Scenario& scenario);

/// "LoRA rank 16, bf16, AdamW": what model states depend on.
std::string describe_states(const Scenario& scenario);

/// "full checkpointing".
std::string describe_checkpointing(const Scenario& scenario);

/// "fsdp2 full shard over 8 ranks", "ddp over 4 ranks", "one card".
std::string describe_strategy(const RunResult& result);

/// "1 x 4,096 tokens a micro-batch, 8 micro-batches a step".
std::string describe_batch(const Scenario& scenario);

/// "8x NVIDIA H200 NVL".
std::string describe_cards(const RunResult& result);

/// "compute (61.2 %), sw0 -> cpu0 (20.1 %)": the causes that together make up most of the critical path.
std::string describe_limits(const StepMetrics& metrics);

/// The title, or the name of a scenario without one.
const std::string& title_of(const Scenario& scenario);

}  // namespace takt
