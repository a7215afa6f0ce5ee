// Cards cut into MIG slices and held to power limits.
#include "config/card_state.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const SourcePlace here{"run.toml", 3, 7, "mig = \"x\""};

/// Eight SMs, 100 TFLOP/s, 1,000 GB/s, 80 GB; quarters; measured at 200 and 300 of 400 W.
CardSpec round_card() {
  CardSpec card;
  card.id = card.name = "Round";
  card.sm_count = 8;
  card.dense_peak[Precision::bf16] = FlopRate(100e12);
  card.memory_bandwidth = Bandwidth(1000e9);
  card.memory_nominal = Bytes(80'000'000'000);
  card.memory_visible = Bytes(84'000'000'000);
  card.l2_cache = Bytes(40'000'000);
  card.tdp = Power(400);
  card.mig_slices = 4;
  card.mig_profiles = {{"1g.20gb", 4, 1, 0.25, Bytes(20'000'000'000), std::nullopt, {}},
                       {"2g.40gb", 2, 2, 0.5, Bytes(40'000'000'000), Bytes(38'000'000'000), {}}};
  card.power_points = {{Power(200), 0.4, 0.8, {}}, {Power(300), 0.8, std::nullopt, {}}};
  return card;
}

double peak(const CardSpec& card) {
  return card.dense_peak.at(Precision::bf16).count() / 1e12;
}

}  // namespace

TEST_CASE("a slice has its share of SMs, rates, cache and memory", "[config]") {
  const CardSpec slice = card_in_state(round_card(), {"1g.20gb", here, std::nullopt, here}).value();
  CHECK(slice.sm_count == 2);
  CHECK(peak(slice) == Approx(25.0));
  CHECK(slice.memory_bandwidth.count() == Approx(250e9));
  CHECK(slice.l2_cache == Bytes(10'000'000));
  CHECK(slice.memory_nominal == Bytes(20'000'000'000));
  CHECK(slice.memory_visible == Bytes(21'000'000'000));
  CHECK(slice.name == "Round 1g.20gb");
}

TEST_CASE("where the usable memory of a slice is stated, it counts", "[config]") {
  CHECK(card_in_state(round_card(), {"2g.40gb", here, std::nullopt, here})->memory_visible == Bytes(38'000'000'000));
}

TEST_CASE("under a power limit speeds follow straight lines between measured points", "[config]") {
  // compute 0.4 at 200 W, 0.8 at 300 W, 1 at 400 W; memory 0.8 at 200 W, 1 at 400 W
  struct Case {
    double watts, compute, memory;
  };
  for (const Case& c :
       {Case{200, 0.4, 0.8}, Case{250, 0.6, 0.85}, Case{300, 0.8, 0.9}, Case{350, 0.9, 0.95}, Case{400, 1.0, 1.0}}) {
    CAPTURE(c.watts);
    const CardSpec card = card_in_state(round_card(), {"", here, Power(c.watts), here}).value();
    CHECK(peak(card) == Approx(100.0 * c.compute));
    CHECK(card.memory_bandwidth.count() == Approx(1000e9 * c.memory));
    CHECK(card.tdp == Power(c.watts));
  }
}

TEST_CASE("states that a card cannot have are refused with a reason", "[config]") {
  const auto says = [](const CardSpec& card, const CardState& state) {
    return render(card_in_state(card, state).diagnostics());
  };
  CardSpec whole = round_card();
  whole.mig_profiles.clear();
  whole.power_points.clear();
  const std::string caret = "    3 | mig = \"x\"\n      |       ^\n";
  CHECK(says(round_card(), {"1g.20g", here, std::nullopt, here}) ==
        "run.toml:3:7: error: Round has no MIG profile \"1g.20g\"\n" + caret + "hint: did you mean \"1g.20gb\"?\n");
  CHECK(says(round_card(), {"half", here, std::nullopt, here}) ==
        "run.toml:3:7: error: Round has no MIG profile \"half\"\n" + caret + "hint: it has 1g.20gb, 2g.40gb\n");
  CHECK(says(whole, {"1g.20gb", here, std::nullopt, here}) ==
        "run.toml:3:7: error: Round cannot be cut into MIG slices\n" + caret +
            "hint: leave the slice out, or use a card that has them\n");
  CHECK(says(round_card(), {"", here, Power(500), here}) ==
        "run.toml:3:7: error: a limit of 500 W is above the 400 W of Round\n" + caret + "hint: use 400 W or less\n");
  CHECK(says(round_card(), {"", here, Power(100), here}) ==
        "run.toml:3:7: error: Round was not measured at 100 W\n" + caret + "hint: its lowest point is 200 W\n");
  CHECK(says(whole, {"", here, Power(300), here}) ==
        "run.toml:3:7: error: nobody measured Round under a power limit\n" + caret +
            "hint: add points to [[power]] of its file, or leave the limit out\n");
}
