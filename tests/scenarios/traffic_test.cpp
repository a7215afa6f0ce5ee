// What a card receives in one forward and backward of the sharded 70B LoRA.
//
// Sizing guides count two gathers of all 16-bit weights: 2 x 141.1 GB x (N - 1) / N = 141, 212, 247 GB on 2, 4, 8
// cards. FSDP2 differs in two ways:
// - the root unit (embedding, final norm, head) stays gathered from forward to backward (semantics S9): it is gathered
// once;
// - adapters are trained: they are gathered twice as they are stored, in fp32, and their gradients are reduced in fp32:
//   (2 x 4 + 4) bytes an adapter element.
// Rows divide by N, so nothing is padded (semantics S4).
#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

constexpr std::int64_t hidden = 8192, intermediate = 28672, layers = 80, key_value = 8 * 128, vocabulary = 128256;
constexpr std::int64_t all_weights = 70'553'706'496;
constexpr std::int64_t root_weights = 2 * vocabulary * hidden + hidden;
constexpr std::int64_t rank = 16;

/// rank x (in + out) of q, o; k, v; gate, up, down.
constexpr std::int64_t adapters =
    layers * rank * (2 * (hidden + hidden) + 2 * (hidden + key_value) + 3 * (hidden + intermediate));

}  // namespace

TEST_CASE("bytes received per forward and backward, and their difference to the sizing guides", "[scenarios]") {
  struct Case {
    const char* name;
    std::int64_t cards;
    std::int64_t guide_gb;  ///< rounded as the guides print it
  };
  for (const Case& c : {Case{"llama-3.3-70b-lora-2x-h200-nvl", 2, 141}, Case{"llama-3.3-70b-lora-4x-h200-nvl", 4, 212},
                        Case{"llama-3.3-70b-lora-8x-h200-nvl", 8, 247}}) {
    CAPTURE(c.name);
    const std::int64_t received =
        test::finished(c.name, {test::one_micro_step, {"finetune.gradient_clipping", "false"}}).result.metrics.communication.received_per_card.count();
    const auto of_others = [&](std::int64_t bytes) { return bytes / c.cards * (c.cards - 1); };
    const std::int64_t guide = of_others(2 * 2 * all_weights);
    REQUIRE((guide + 500'000'000) / 1'000'000'000 == c.guide_gb);
    REQUIRE(received - guide == of_others(adapters * (2 * 4 + 4)) - of_others(root_weights * 2));
  }
}

TEST_CASE("without sharding only adapter gradients travel", "[scenarios]") {
  const FinishedRun run = test::finished("llama-3.3-70b-qlora-ddp-4x-h200-nvl", {test::one_micro_step});
  // a ring all-reduce of fp32 gradients: 2 (N - 1) / N x 4 B
  REQUIRE(run.result.metrics.communication.received_per_card.count() ==
          Approx(2.0 * 3.0 / 4.0 * 4.0 * static_cast<double>(adapters)).epsilon(1e-6));
}
