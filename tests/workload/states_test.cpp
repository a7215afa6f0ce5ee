// Model states by the conventions of the field's sizing guides: a row is a guide's printed figure. GB are 1e9 bytes.
#include <cmath>

#include "catch.hpp"
#include "fixtures.hpp"

using namespace takt;
using namespace takt::test;

namespace {

struct Claim {
  const char* id;
  TransformerShape shape;
  Method method;
  Optimizer optimizer;
  int cards;           ///< states are divided by it
  double printed;      ///< GB a card
  int decimals;        ///< the guide prints
};

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

Scenario with(Method method, Optimizer optimizer) {
  Scenario scenario = scenario_of(method);
  scenario.finetune.optimizer = optimizer;
  return scenario;
}

}  // namespace

TEST_CASE("M01 to M03: parameters in billions") {
  CHECK(rounded(static_cast<double>(parameter_count(llama_3_1_8b())) / 1e9, 2) == 8.03);
  CHECK(rounded(static_cast<double>(parameter_count(qwen_3_32b())) / 1e9, 2) == 32.76);
  CHECK(rounded(static_cast<double>(parameter_count(llama_3_70b())) / 1e9, 2) == 70.55);
}

TEST_CASE("M04 to M18: model states of guides") {
  constexpr Optimizer adam = Optimizer::adamw;
  constexpr Optimizer adam_8bit = Optimizer::adamw_8bit;
  const TransformerShape b8 = llama_3_1_8b();
  const TransformerShape b32 = qwen_3_32b();
  const TransformerShape b70 = llama_3_70b();
  const std::vector<Claim> claims = {
      {"M04", b70, Method::full, adam, 1, 1129, 0},    {"M05", b70, Method::lora, adam, 1, 144.4, 1},
      {"M06", b70, Method::qlora, adam, 1, 42.8, 1},   {"M07", b8, Method::qlora, adam, 1, 6.4, 1},
      {"M08", b8, Method::lora, adam, 1, 16.7, 1},     {"M09", b32, Method::lora, adam, 1, 67.7, 1},
      {"M09b", b32, Method::qlora, adam, 1, 21.36, 2}, {"M10", b8, Method::full, adam, 1, 128.5, 1},
      {"M10b", b8, Method::full, adam, 1, 128, 0},     {"M11", b8, Method::full, adam_8bit, 1, 80, 0},
      {"M12", b8, Method::full, adam, 2, 64.2, 1},     {"M13", b70, Method::lora, adam, 2, 72.2, 1},
      {"M14", b70, Method::lora, adam, 4, 36.1, 1},    {"M15", b32, Method::full, adam, 8, 65.5, 1},
      {"M16", b70, Method::full, adam, 8, 141.1, 1},   {"M17", b70, Method::full, adam_8bit, 8, 88.2, 1},
      {"M18", b70, Method::qlora, adam, 2, 21.4, 1}};
  for (const Claim& claim : claims) {
    const Workload workload = build(claim.shape, with(claim.method, claim.optimizer));
    INFO(claim.id);
    const double gigabytes = static_cast<double>(workload.states.total().count()) / 1e9 / claim.cards;
    CHECK(rounded(gigabytes, claim.decimals) == claim.printed);
  }
}

TEST_CASE("full fine-tuning: 16-bit weights, 16-bit gradients, FP32 master, two FP32 moments") {
  const Workload workload = build(llama_3_1_8b(), scenario_of(Method::full));
  const std::int64_t parameters = 8030261248;
  CHECK(workload.parameters == parameters);
  CHECK(workload.trainable_parameters == parameters);
  CHECK(workload.states.frozen_weights == Bytes(0));
  CHECK(workload.states.trainable_weights == Bytes(6 * parameters));
  CHECK(workload.states.gradients == Bytes(2 * parameters));
  CHECK(workload.states.optimizer == Bytes(8 * parameters));
  // As a sharded strategy stores them: FP32 weights, FP32 gradients, moments. The same 16 bytes.
  CHECK(workload.stored_bytes_trainable + workload.gradient_state_bytes + workload.optimizer_bytes == 16.0);
  CHECK(workload.reduce_bytes == 4.0);
  CHECK(workload.optimizer_traffic == 28.0);  // O1
}

TEST_CASE("FP32 weights need no master copy, so they take 16 bytes too") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::fp32;
  const Workload workload = build(llama_3_2_1b(), scenario);
  CHECK(workload.states.total() == Bytes(16 * workload.parameters));
  CHECK(workload.block(0).parameters[0].bytes == 4.0);
  CHECK(workload.block(0).parameters[0].gradient_bytes == 4.0);
}

TEST_CASE("optimizers: states, traffic and what lives during the step") {
  const Workload sgd = build(llama_3_2_1b(), with(Method::full, Optimizer::sgd));
  CHECK(sgd.states.total() == Bytes(8 * sgd.parameters));
  const Workload paged = build(llama_3_2_1b(), with(Method::full, Optimizer::paged_adamw_8bit));
  CHECK(paged.states.total() == Bytes(10 * paged.parameters));
  CHECK(paged.optimizer_traffic == 16.0625);  // O3
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.optimizer_form = OptimizerForm::foreach_;
  const Workload passes = build(llama_3_2_1b(), scenario);
  CHECK(passes.optimizer_traffic == 80.0);  // O2
  CHECK(passes.optimizer_temporary == 4.0);  // M5
}

TEST_CASE("pure bf16: weights, gradients and moments of 2 bytes; at a foreach step 10 bytes a parameter (M5)") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.master_precision = Precision::bf16;
  scenario.finetune.optimizer_form = OptimizerForm::foreach_;
  const Workload workload = build(llama_3_2_1b(), scenario);
  CHECK(workload.states.total() == Bytes(8 * workload.parameters));
  CHECK(workload.stored_bytes_trainable == 2.0);
  CHECK(workload.gradient_state_bytes == 2.0);
  CHECK(workload.optimizer_bytes == 4.0);
  CHECK(workload.optimizer_temporary == 2.0);
  CHECK(workload.optimizer_traffic == 40.0);  // O2 at half the width
}

TEST_CASE("C20: an NF4 weight takes 4.127 bits with double quantisation, 4.5 without") {
  Scenario scenario = scenario_of(Method::qlora);
  const Workload twice = build(llama_3_1_8b(), scenario);
  scenario.finetune.double_quantisation = false;
  const Workload once = build(llama_3_1_8b(), scenario);
  const Parameter& q = twice.block(1).parameters[0];
  CHECK(q.name == "q.w");
  CHECK(q.bytes == 4.126953125 / 8.0);
  CHECK(once.block(1).parameters[0].bytes == 0.5625);
  // Embedding, head and norms stay in 16 bits.
  CHECK(twice.block(0).parameters[0].bytes == 2.0);
  CHECK(twice.block(33).parameters[1].bytes == 2.0);
  // 8B: linear weights 6,979,321,856, the others 1,050,939,392.
  const double expected = 6979321856.0 * 4.126953125 / 8.0 + 2.0 * 1050939392.0;
  CHECK(static_cast<double>(twice.states.frozen_weights.count()) == Approx(expected).epsilon(1e-12));
}
