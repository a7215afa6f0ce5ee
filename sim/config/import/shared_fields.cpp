// Fields that several kinds of files share.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/import/kinds.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

/// Names of one thing in several programs, and the word of scenario files.
struct Naming {
  const char* name;
  const char* number;  ///< accelerate's, counted from 1; null: none
  const char* word;
};

constexpr std::array shardings = {Naming{"full_shard", "1", "full"}, Naming{"shard_grad_op", "2", "grad-op"},
                                  Naming{"no_shard", "3", "no-shard"}, Naming{"hybrid_shard", "4", "hybrid"},
                                  Naming{"hybrid_shard_zero2", "5", "hybrid-grad-op"},
                                  Naming{"_hybrid_shard_zero2", nullptr, "hybrid-grad-op"}};

constexpr std::array prefetches = {Naming{"backward_pre", nullptr, "pre"}, Naming{"backward_post", nullptr, "post"},
                                   Naming{"no_prefetch", nullptr, "none"}};

const char* word_of(std::span<const Naming> names, const std::string& text) {
  const std::string wanted = lower_case(text);
  const auto found = std::find_if(names.begin(), names.end(), [&](const Naming& naming) {
    return wanted == naming.name || (naming.number != nullptr && wanted == naming.number);
  });
  return found == names.end() ? nullptr : found->word;
}

std::string names_of(std::span<const Naming> names) {
  std::vector<std::string> all;
  for (const Naming& naming : names) all.emplace_back(naming.name);
  return join(all, ", ");
}

/// The linear layer of a decoder layer that a module of a model's code is, or null.
const char* adapter_target(const std::string& module) {
  constexpr std::array<Naming, 7> modules = {Naming{"q_proj", nullptr, "q"}, Naming{"k_proj", nullptr, "k"},
                                             Naming{"v_proj", nullptr, "v"}, Naming{"o_proj", nullptr, "o"},
                                             Naming{"gate_proj", nullptr, "gate"}, Naming{"up_proj", nullptr, "up"},
                                             Naming{"down_proj", nullptr, "down"}};
  const std::string last = module.substr(module.rfind('.') == std::string::npos ? 0 : module.rfind('.') + 1);
  return word_of(modules, last);
}

void read_target_list(ConfigReader& file, const std::string& name, const Node::Array& modules) {
  std::vector<std::string> targets;
  for (const Node& module : modules) {
    const auto* text = module.as<std::string>();
    if (text != nullptr && modules.size() == 1 && *text == "all-linear") {
      return file.imply(name, "finetune.lora.targets", toml_string("all-linear"));
    }
    const char* target = text ? adapter_target(*text) : nullptr;
    if (target == nullptr) {
      return file.refuse(name, fmt::format("{} is no linear layer of a decoder layer with separate projections",
                                           describe(module)),
                         "known: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, all-linear");
    }
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.emplace_back(target);
  }
  if (targets.empty()) return file.refuse(name, "the list is empty");
  std::string toml;
  for (const std::string& target : targets) toml += (toml.empty() ? "[" : ", ") + toml_string(target);
  file.imply(name, "finetune.lora.targets", toml + "]");
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string first_cards(std::int64_t count) {
  std::string list;
  for (std::int64_t card = 0; card < count; ++card) list += (card == 0 ? "" : ", ") + std::to_string(card);
  return "[" + list + "]";
}

void imply_sharding(ConfigReader& file, const std::string& name, const std::string& strategy) {
  const char* word = word_of(shardings, strategy);
  if (word == nullptr) {
    return file.error(name, fmt::format("'{}' is no sharding strategy of FSDP", strategy),
                      "one of " + names_of(shardings));
  }
  file.imply(name, "parallel.sharding", toml_string(word));
}

void imply_backward_prefetch(ConfigReader& file, const std::string& name, const std::string& policy) {
  const char* word = word_of(prefetches, policy);
  if (word == nullptr) {
    return file.error(name, fmt::format("'{}' is no backward prefetch of FSDP", policy),
                      "one of " + names_of(prefetches));
  }
  file.imply(name, "parallel.fsdp1.backward_prefetch", toml_string(word));
}

void read_wrap_policy(ConfigReader& file, const std::string& name) {
  const std::optional<std::string> policy = file.word(name);
  if (!policy) return;
  if (lower_case(*policy) == "transformer_based_wrap") return file.leave_out(name, "units are decoder layers, as here");
  if (lower_case(*policy) == "size_based_wrap" || lower_case(*policy) == "no_wrap") {
    return file.refuse(name, "units here are decoder layers", "wrap by the decoder layer's class");
  }
  file.error(name, fmt::format("'{}' is no wrap policy", *policy),
             "TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP or NO_WRAP");
}

void imply_offload(ConfigReader& file, const std::string& name, const std::string& key, const std::string& device) {
  const std::string word = lower_case(device);
  if (word != "cpu" && word != "nvme" && word != "none") {
    return file.error(name, fmt::format("'{}' is no place to offload to", device), "cpu, nvme or none");
  }
  if (word == "none") return file.leave_out(name, "nothing is offloaded");
  file.imply(name, key, toml_string(word));
}

void imply_zero_stage(ConfigReader& file, const std::string& name, std::int64_t stage) {
  if (stage == 0) {
    file.imply(name, "parallel.strategy", toml_string("ddp"));
    return;
  }
  file.imply(name, "parallel.strategy", toml_string(fmt::format("zero{}", stage)));
}

void read_lora(ConfigReader& file, const std::string& rank, const std::string& alpha, const std::string& dropout,
               const std::string& targets) {
  if (const auto value = file.whole(rank, 1, 4096)) file.imply(rank, "finetune.lora.rank", std::to_string(*value));
  file.leave_out(alpha, "a factor on the adapters' output; no time of its own");
  if (const auto value = file.number(dropout, 0.0, 0.99)) {
    file.imply(dropout, "finetune.lora.dropout", toml_float(*value));
  }
  const Node* modules = file.field(targets);
  if (modules == nullptr) return;
  if (const auto* list = modules->as<Node::Array>()) return read_target_list(file, targets, *list);
  if (modules->as<std::string>()) return read_target_list(file, targets, {*modules});
  file.error(targets, targets + " must be a list of module names or one name, not " + describe(*modules));
}

}  // namespace takt
