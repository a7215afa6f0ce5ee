// The words that stand for choices in scenario files, for reports and messages.
#pragma once

#include <string>

#include "config/scenario.hpp"

namespace takt {

std::string word(Method method);                       ///< "full", "lora", "qlora"
std::string word(Optimizer optimizer);                 ///< "adamw", "adamw-8bit", ...
std::string word(OptimizerForm form);
std::string word(Precision precision);                 ///< "bf16", ...
std::string word(Checkpointing checkpointing);
std::string word(AttentionKernel attention);
std::string word(CrossEntropy form);
std::string word(ElementwiseForm form);
std::string word(Strategy strategy);                   ///< "none", "ddp", "fsdp2", ...
std::string word(Sharding sharding);                   ///< "full", "grad-op", "hybrid"
std::string word(BackwardPrefetch prefetch);
std::string word(WrapPolicy policy);
std::string word(Offload place);                       ///< "none", "cpu", "nvme"
std::string word(CommHook hook);
std::string word(CollectiveAlgorithm algorithm);       ///< "auto", "ring", ...
std::string word(Fidelity fidelity);
std::string word(Chunk chunk);
std::string word(LinkBasis basis);
std::string word(ComputeBasis basis);
std::string word(Overlap overlap);

}  // namespace takt
