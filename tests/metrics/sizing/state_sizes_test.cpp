// The guides' bytes a parameter, in round figures: 1,000 parameters that train.
#include "metrics/sizing/state_sizes.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

/// Full fine-tune under 32-bit AdamW: 2 + 2 + 4 + 8 bytes a parameter.
const StateSizes full = {.frozen_weights = {},
                         .weights = Bytes(2000),
                         .gradients = Bytes(2000),
                         .master = Bytes(4000),
                         .optimizer = Bytes(8000)};

/// A frozen base of 1,000,000 bytes beside it.
StateSizes adapter() {
  StateSizes states = full;
  states.frozen_weights = Bytes(1'000'000);
  return states;
}

}  // namespace

TEST_CASE("each ZeRO stage divides more of the states by the cards", "[metrics][sizing]") {
  // of 4 cards: 2 + 2 + 4 + 8; 2 + 2 + 12/4; 2 + 14/4; 16/4 kB
  const auto total = [](Strategy strategy) { return states_per_card(full, strategy, 4).total(); };
  CHECK(total(Strategy::ddp) == Bytes(16000));
  CHECK(total(Strategy::zero1) == Bytes(7000));
  CHECK(total(Strategy::zero2) == Bytes(5500));
  CHECK(total(Strategy::zero3) == Bytes(4000));
  CHECK(total(Strategy::fsdp1) == Bytes(4000));
  CHECK(total(Strategy::fsdp2) == Bytes(4000));
}

TEST_CASE("only full sharding divides frozen weights", "[metrics][sizing]") {
  CHECK(states_per_card(adapter(), Strategy::zero2, 4).frozen_weights == Bytes(1'000'000));
  CHECK(states_per_card(adapter(), Strategy::fsdp2, 4).frozen_weights == Bytes(250'000));
}

TEST_CASE("a part that does not divide is rounded up", "[metrics][sizing]") {
  CHECK(states_per_card(full, Strategy::fsdp2, 3).weights == Bytes(667));
}

TEST_CASE("ZeRO-Offload leaves the weights and moves 14 bytes a parameter", "[metrics][sizing]") {
  CHECK(states_beside_offload(adapter()).total() == Bytes(1'002'000));
  CHECK(offloaded_size(1000) == Bytes(14'000));
}

TEST_CASE("checkpoints: 2, 14 and 16 bytes a parameter", "[metrics][sizing]") {
  const CheckpointSizes sizes = checkpoint_sizes(full, 1000);
  CHECK(sizes.weights == Bytes(2000));
  CHECK(sizes.resumable == Bytes(14'000));
  CHECK(sizes.training_state == Bytes(16'000));
}

TEST_CASE("traffic as guides count it", "[metrics][sizing]") {
  const GuideTraffic of_adapter = guide_traffic(adapter(), 1000, 4);
  CHECK(of_adapter.gradients == Bytes(2000));
  CHECK(of_adapter.all_reduce == Bytes(4000));
  CHECK(of_adapter.gathered == Bytes(1'500'000));  // 2 x 3/4 of the frozen base
  CHECK(guide_traffic(full, 1000, 4).gathered == Bytes(3000));
}
