// build_workload: blocks, synthetic models, formats, and every error with its full text.
#include "workload/workload.hpp"

#include "catch.hpp"
#include "fixtures.hpp"
#include "workload/precision.hpp"

using namespace takt;
using namespace takt::test;

namespace {

std::string failure(const ModelSpec& model, const Scenario& scenario, const CardSpec& card = round_card()) {
  const Result<Workload> workload = build_workload(model, scenario, KernelPricer(card, ComputeBasis::measured));
  CHECK_FALSE(workload);
  return render(workload.diagnostics());
}

ModelSpec synthetic() {
  ModelSpec model;
  model.name = "FSDP80";
  model.synthetic = SyntheticShape{.layers = 80,
                                   .layer_bytes = Bytes(1712324608),
                                   .forward = Duration(17'500'000'000),
                                   .backward = Duration(35'000'000'000)};
  return model;
}

SourcePlace at(std::uint32_t line, std::uint32_t column, std::string text) {
  return {.file = "scenario.toml", .line = line, .column = column, .line_text = std::move(text)};
}

}  // namespace

TEST_CASE("blocks are the embedding, the layers and the head; equal layers share a kind") {
  const Workload full = build(llama_3_1_8b(), scenario_of(Method::full));
  REQUIRE(full.blocks.size() == 34);
  CHECK(full.kinds.size() == 3);
  CHECK(full.block(0).name == "embedding");
  CHECK(full.block(1).name == "layer");
  CHECK(full.block(32).name == "layer");
  CHECK(full.block(33).name == "head");
  CHECK(full.tokens == 4096);
  CHECK(full.peak == FlopRate(1000e12));
  CHECK(full.provenance == "roofline with one efficiency a kind of kernel");
  CHECK(build(llama_3_1_8b(), scenario_of(Method::lora)).kinds.size() == 4);  // C7: the first layer differs
}

TEST_CASE("a batch multiplies tokens; attention grows with the sequence squared, not with the batch squared") {
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.micro_batch = 3;
  const Workload three = build(llama_3_1_8b(), scenario);
  const Workload one = build(llama_3_1_8b(), scenario_of(Method::full));
  CHECK(three.tokens == 3 * 4096);
  CHECK(flops(three.block(1).forward) == 3.0 * flops(one.block(1).forward));
  CHECK(three.block(1).memory.kept.count() == 3 * one.block(1).memory.kept.count());
}

TEST_CASE("a synthetic model is layers of one tensor and two kernels of given times") {
  const Result<Workload> workload =
      build_workload(synthetic(), scenario_of(Method::full), KernelPricer(round_card(), ComputeBasis::measured));
  REQUIRE(workload);
  CHECK(workload->blocks.size() == 80);
  CHECK(workload->kinds.size() == 1);
  const BlockKind& layer = workload->block(79);
  REQUIRE(layer.parameters.size() == 1);
  CHECK(layer.parameters[0].elements() * 2 == 1712324608);
  CHECK(layer.parameters[0].elements() % 256 == 0);  // divides over the oracle's ranks
  CHECK(layer.forward.at(0).time == Duration(17'500'000'000));
  CHECK(layer.backward.at(0).time == Duration(35'000'000'000));
  CHECK(layer.forward.at(0).memory == Bytes(0));
  CHECK(workload->reduce_bytes == 2.0);  // the reduce-scatter moves as much as the all-gather
  CHECK(workload->optimizer_traffic == 0.0);
  CHECK(workload->provenance == "layer times as given");
}

TEST_CASE("FP8 prices linear layers in FP8, attention and head in BF16, and says that nobody measured it") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::fp8;
  const Workload fp8 = build(llama_3_1_8b(), scenario);
  const Workload bf16 = build(llama_3_1_8b(), scenario_of(Method::full));
  CHECK(fp8.provenance == "roofline with one efficiency a kind of kernel; fp8 not calibrated");
  CHECK(fp8.peak == FlopRate(2000e12));
  const auto time_of = [](const std::vector<Kernel>& kernels, const std::string& name) {
    for (const Kernel& kernel : kernels)
      if (kernel.name == name) return kernel.time;
    return Duration{};
  };
  CHECK(time_of(fp8.block(1).forward, "up_proj") * 2 >= time_of(bf16.block(1).forward, "up_proj"));
  CHECK(time_of(fp8.block(1).forward, "up_proj") < time_of(bf16.block(1).forward, "up_proj"));
  CHECK(time_of(fp8.block(1).forward, "attention") == time_of(bf16.block(1).forward, "attention"));
  CHECK(time_of(fp8.block(33).forward, "lm_head") == time_of(bf16.block(33).forward, "lm_head"));
  CHECK(fp8.block(1).parameters[0].bytes == 2.0);
}

TEST_CASE("a format that the card lacks is an error where the scenario asks for it") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::nvfp4;
  scenario.places["finetune.precision"] = at(11, 13, "precision = \"nvfp4\"");
  CHECK(failure(model_of("m", llama_3_1_8b()), scenario) ==
        "scenario.toml:11:13: error: Round Card cannot compute in NVFP4: it needs compute capability 10.0, this card "
        "has 9.0\n"
        "   11 | precision = \"nvfp4\"\n"
        "      |             ^\n"
        "hint: this card has bf16, fp16, fp32, tf32, fp8\n");
  CardSpec ampere = round_card();
  ampere.compute_capability = 80;
  ampere.dense_peak.erase(Precision::fp8);
  scenario.finetune.precision = Precision::fp8;
  scenario.places.clear();
  CHECK(failure(model_of("m", llama_3_1_8b()), scenario, ampere) ==
        "scenario.toml: error: Round Card cannot compute in FP8: it needs compute capability 8.9, this card has 8.0\n"
        "hint: this card has bf16, fp16, fp32, tf32\n");
}

TEST_CASE("MXFP8 needs compute capability 10.x: refused below, and on 12.0 (X03)") {
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::mxfp8;
  CHECK(
      failure(model_of("m", llama_3_1_8b()), scenario) ==
      "scenario.toml: error: Round Card cannot compute in MXFP8: it needs compute capability 10.0, this card has 9.0\n"
      "hint: this card has bf16, fp16, fp32, tf32, fp8\n");
  CardSpec workstation = round_card();
  workstation.compute_capability = 120;
  CHECK(failure(model_of("m", llama_3_1_8b()), scenario, workstation) ==
        "scenario.toml: error: Round Card cannot compute in MXFP8: Transformer Engine (2.19, 2.20) does not support it "
        "on compute capability 12.0 and later\n"
        "hint: this card has bf16, fp16, fp32, tf32, fp8\n");
}

TEST_CASE("MXFP8 moves a scale for 32 elements beside FP8's bytes, at the rate of its own") {
  CardSpec blackwell = round_card();
  blackwell.compute_capability = 100;
  blackwell.dense_peak[Precision::mxfp8] = blackwell.dense_peak[Precision::fp8];
  Scenario scenario = scenario_of(Method::full);
  const auto linear = [&](Precision precision) {
    scenario.finetune.precision = precision;
    const Workload workload =
        build_workload(model_of("m", llama_3_1_8b()), scenario, KernelPricer(blackwell, ComputeBasis::measured))
            .value();
    return workload.block(1).forward;
  };
  CHECK(operand_bytes(Precision::mxfp8) == 1.03125);
  CHECK(traffic(linear(Precision::mxfp8), KernelKind::gemm) > traffic(linear(Precision::fp8), KernelKind::gemm));
  CHECK(traffic(linear(Precision::mxfp8), KernelKind::gemm) < traffic(linear(Precision::bf16), KernelKind::gemm));
}

TEST_CASE("FP8 on compute capability 12.0 comes with a note on MXFP8") {
  CardSpec blackwell = round_card();
  blackwell.compute_capability = 120;
  Scenario scenario = scenario_of(Method::full);
  scenario.finetune.precision = Precision::fp8;
  const Result<Workload> workload =
      build_workload(model_of("m", llama_3_1_8b()), scenario, KernelPricer(blackwell, ComputeBasis::measured));
  REQUIRE(workload);
  CHECK(render(workload.diagnostics()) ==
        "scenario.toml: note: fp8 means scaling by tensor here: MXFP8 is not supported on compute capability 12.0\n");
}

TEST_CASE("QLoRA multiplies in 16 bits whatever the card could do") {
  Scenario scenario = scenario_of(Method::qlora);
  scenario.finetune.precision = Precision::fp8;
  CHECK(failure(model_of("m", llama_3_1_8b()), scenario) ==
        "scenario.toml: error: qlora dequantises its weights to 16 bits and multiplies in these, so FP8 has no effect "
        "on it\n"
        "hint: use bf16 or fp16\n");
}

TEST_CASE("targets that a model does not have are named, all of them") {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.targets = {"v", "gate", "upp"};
  scenario.places["finetune.lora"] = at(10, 8, "lora = { rank = 16, targets = [\"v\", \"gate\", \"upp\"] }");
  scenario.batch.sequence_length = 1024;
  const std::string text = failure(model_of("GPT-2", gpt_2()), scenario);
  CHECK(text ==
        "scenario.toml:10:8: error: GPT-2 has no linear layer \"gate\" to adapt\n"
        "   10 | lora = { rank = 16, targets = [\"v\", \"gate\", \"upp\"] }\n"
        "      |        ^\n"
        "hint: it has q, k, v, o, up, down\n"
        "scenario.toml:10:8: error: GPT-2 has no linear layer \"upp\" to adapt\n"
        "   10 | lora = { rank = 16, targets = [\"v\", \"gate\", \"upp\"] }\n"
        "      |        ^\n"
        "hint: did you mean \"up\"?\n");
}

TEST_CASE("a sequence beyond learned positions is refused") {
  CHECK(failure(model_of("GPT-2", gpt_2()), scenario_of(Method::full)) ==
        "scenario.toml: error: GPT-2 has 1024 positions, a sequence of 4096 tokens does not fit\n"
        "hint: use 1024 or less\n");
}

TEST_CASE("an embedding that the head shares cannot be a unit of its own") {
  Scenario scenario = scenario_of(Method::full);
  scenario.batch.sequence_length = 1024;
  scenario.parallel.fsdp2.embedding_unit = true;
  CHECK(failure(model_of("GPT-2", gpt_2()), scenario) ==
        "scenario.toml: error: GPT-2 shares its embedding with the head, so it cannot be a unit of its own\n"
        "hint: leave parallel.fsdp2.embedding_unit out\n");
}

TEST_CASE("a stated parameter count that the shape does not have is an error in the model's file") {
  ModelSpec model = model_of("Llama", llama_3_1_8b());
  model.parameters = 8030261249;
  CHECK(failure(model, scenario_of(Method::full)) ==
        "models/Llama.toml: error: the shape of Llama has 8030261248 parameters, but the file states 8030261249\n"
        "hint: check the dimensions, tied_embeddings, biases and norms\n");
}

TEST_CASE("a rank above every dimension, heads that do not divide, adapters on a synthetic model") {
  Scenario scenario = scenario_of(Method::lora);
  scenario.finetune.lora.rank = 2000;
  CHECK(failure(model_of("toy", toy_4()), scenario) ==
        "scenario.toml: error: a rank of 2000 is more than any linear layer of toy has (1408)\n"
        "hint: ranks of 8 to 64 are usual\n");
  TransformerShape uneven = toy_4();
  uneven.kv_heads = 3;
  CHECK(failure(model_of("toy", uneven), scenario_of(Method::full)) ==
        "models/toy.toml: error: 8 query heads cannot share 3 key and value heads evenly\n"
        "hint: kv_heads must divide query_heads\n");
  CHECK(failure(synthetic(), scenario_of(Method::lora)) ==
        "scenario.toml: error: FSDP80 is a synthetic model of given layer times: it has no linear layers to adapt or "
        "quantise\n"
        "hint: use method = \"full\"\n");
}
