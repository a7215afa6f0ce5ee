// The scenarios of scenarios/validation/: gradients all-reduced with nothing else on the way, against what was
// measured.
#include "catch.hpp"
#include "report/step_interval.hpp"
#include "support/scenarios.hpp"

using namespace takt;

TEST_CASE("steps with parameters and optimizer in host memory, against what was measured", "[scenarios][offload]") {
  // AnswerDotAI/fsdp_qlora, benchmarks_03_2024.md. With kernels as they run alone the two short ones on 4090 land within 7 %;
  // the constants of whole steps, fitted to A100, H100 and H200, make them 24 and 31 % too slow. The long sequence is too
  // fast (its number of samples is inferred by the table's author, and which attention kernel it ran is not said), and so
  // is 70B on 3090 without them (their slots are narrower than x16 by an amount that is not said).
  struct Measured {
    const char* scenario;
    double seconds;
    double alone, in_situ;  // predicted over measured
  };
  for (const Measured& row : {Measured{"offload-llama-2-7b-lora-fsdp1-2x-rtx-4090", 9.414, 1.00, 1.24},
                              Measured{"offload-llama-2-7b-qlora-fsdp1-2x-rtx-4090", 10.875, 1.06, 1.31},
                              Measured{"offload-mistral-7b-qlora-fsdp1-2x-rtx-4090", 30.504, 0.65, 0.74},
                              Measured{"offload-llama-2-70b-qlora-fsdp1-2x-rtx-3090", 46.074, 0.785, 0.835}}) {
    const std::string name = std::string("validation/") + row.scenario;
    const double alone = to_seconds(
        test::finished(name, {{"assumptions.in_situ", "false"}}).result.metrics.step_time);
    const double in_situ = to_seconds(test::finished(name).result.metrics.step_time);
    INFO(row.scenario << ": " << alone << " s, in situ " << in_situ << " s");
    CHECK(alone / row.seconds == Approx(row.alone).margin(0.04));
    CHECK(in_situ / row.seconds == Approx(row.in_situ).margin(0.04));
    CHECK(step_interval(test::finished(name).result).holds(row.seconds / in_situ));
  }
}

TEST_CASE("machines all-reduce as fast as was measured", "[scenarios]") {
  // Bus bandwidth = bytes that each card receives (2 (n - 1) / n of the gradients) over the time that communication
  // runs.
  struct Measured {
    const char* scenario;
    double gigabytes_per_second;
    double tolerance;
  };
  // Of the network study, section 3. Six NVLinks: the fill lambda is that of smaller messages, 4 to 8 % too slow at 1
  // GiB and more. Four cards: quoted as 300 to 337 without a log.
  for (const Measured& row :
       {Measured{"all-reduce-8x-rtx-pro-6000-dual-turin", 22.2, 0.10},
        Measured{"all-reduce-8x-rtx-pro-6000-dual-turin-8-channels", 37.6, 0.05},
        Measured{"all-reduce-8x-rtx-pro-6000-spr", 24.7, 0.05},
        Measured{"all-reduce-8x-rtx-pro-6000-switches-p2p", 46.4, 0.05},
        Measured{"all-reduce-2x-h200-nvl", 109.4, 0.12}, Measured{"all-reduce-4x-h200-nvl", 337.0, 0.10},
        Measured{"all-reduce-8x-h200-nvl", 68.7, 0.05}}) {
    const auto& communication = test::finished(std::string("validation/") + row.scenario).result.metrics.communication;
    const double received = static_cast<double>(communication.received_per_card.count());
    INFO(row.scenario);
    CHECK(received / to_seconds(communication.busy) / 1e9 == Approx(row.gigabytes_per_second).epsilon(row.tolerance));
  }
}
