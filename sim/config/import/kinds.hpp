// The four kinds of files that import_config knows; each reads the mapping at the root of its file.
#pragma once

#include <cstdint>

#include "config/import/config_reader.hpp"

namespace takt {

void import_accelerate(ConfigReader& file);
void import_deepspeed(ConfigReader& file);
void import_peft(ConfigReader& file);
void import_training_arguments(ConfigReader& file);

/// Whether a mapping's fields are those of the kind.
bool is_accelerate(const Node::Table& file);
bool is_deepspeed(const Node::Table& file);
bool is_peft(const Node::Table& file);
bool is_training_arguments(const Node::Table& file);

// What several kinds share.

/// hardware.cards = [0, 1, ..., count - 1].
std::string first_cards(std::int64_t count);

/// FSDP's strategy under whichever of its names: "FULL_SHARD", "full_shard" or accelerate's number 1. An error at `name`
/// if it is none of them.
void imply_sharding(ConfigReader& file, const std::string& name, const std::string& strategy);

/// "BACKWARD_PRE", "backward_pre", "NO_PREFETCH", ...
void imply_backward_prefetch(ConfigReader& file, const std::string& name, const std::string& policy);

/// The layers that become units. Size-based wrapping makes units that no key describes: refused.
void read_wrap_policy(ConfigReader& file, const std::string& name);

/// Where states stay that are not needed on the card: "cpu", "nvme" or "none".
void imply_offload(ConfigReader& file, const std::string& name, const std::string& key, const std::string& device);

/// DeepSpeed's ZeRO stage 0 to 3 as a strategy.
void imply_zero_stage(ConfigReader& file, const std::string& name, std::int64_t stage);

/// lora_dropout, r and target modules, under the names that PEFT and TRL give them.
void read_lora(ConfigReader& file, const std::string& rank, const std::string& alpha, const std::string& dropout,
               const std::string& targets);

/// Lower-case letters.
std::string lower_case(std::string text);

}  // namespace takt
