// Steps that the CPU bounds, against what published ones come to a layer (compute study, section 2: forward and
// backward together, no checkpointing). Tokens are too few to keep a card busy.
#include "catch.hpp"
#include "pipeline.hpp"

#include <string>

using namespace takt;

namespace {

/// Milliseconds a decoder layer of a step without its optimizer.
double layer_ms(const std::string& model, std::int64_t layers, const std::string& cards, const std::string& rest) {
  const std::string text = "[hardware]\ntopology = \"8x-a100-sxm-80-dgx\"\ncards = " + cards + "\n[model]\nname = \"" +
                           model + "\"\n[batch]\nsequence_length = 64\n" + rest;
  Library library(search_path(nullptr));
  const StepMetrics metrics = run({"short.toml", text}, {}, library, {})->result.metrics;
  return to_seconds(metrics.step_time - metrics.breakdown.optimizer) * 1e3 / static_cast<double>(layers);
}

}  // namespace

TEST_CASE("H1, F43: units for each adapter make FSDP1 wait for the CPU, 9.5 to 11 ms a layer as published",
          "[scenarios]") {
  const double found = layer_ms("llama-2-7b", 32, "[0, 1]",
                                "[finetune]\nmethod = \"lora\"\n"
                                "[parallel]\nstrategy = \"fsdp1\"\nfsdp1 = { wrap_policy = \"peft\" }\n");
  CHECK(found > 9.5);
  CHECK(found < 11.0);
}

TEST_CASE("H1: eager adapters take the CPU nearly the published 2.8 to 4.7 ms a layer", "[scenarios]") {
  const double found = layer_ms("llama-2-7b", 32, "[0]", "[finetune]\nmethod = \"lora\"\n");
  CHECK(found > 2.5);
  CHECK(found < 4.7);
}

TEST_CASE("H1: GPT-2 stays below its published 1.0 ms a layer: dropout and autocast's casts are not launched",
          "[scenarios]") {
  // 62 ms a step of one sequence, of which foreach AdamW moves 80 bytes for each of 774 million parameters: 25 ms.
  const double found = layer_ms("gpt2-large", 36, "[0]", "");
  CHECK(found > 0.5);
  CHECK(found < 1.0);
}
