// Published steps become scenarios that run.
#include "report/step_cases.hpp"

#include "catch.hpp"
#include "config/reader.hpp"

using namespace takt;

namespace {

StepLegend legend() {
  return {{{"box-x2", {{"hardware.topology", "box"}, {"hardware.cards", "[0, 1]"}}}},
          {{"peft", {{"finetune.method", "qlora"}, {"finetune.lora.rank", "8"}, {"parallel.strategy", "ddp"}}}},
          {},
          {{"box-x2", "no fan"}},
          {{"peft", "rank"}}};
}

StepCase row() {
  StepCase one;
  one.row = "R1";
  one.publisher = "p";
  one.family = "f";
  one.machine = "box-x2";
  one.model = "m";
  one.stack = "peft";
  one.method = "lora";
  one.sequence = 2048;
  one.micro_batch = 4;
  one.accumulation = 2;
  one.measured_s = 1.5;
  one.source = "somewhere";
  return one;
}

SourceText table(const std::string& line) {
  return {"rows.csv", std::string(step_columns) + "\n" + line + "\n"};
}

}  // namespace

TEST_CASE("a row's scenario has the machine's keys, the stack's and its own, which win", "[report]") {
  const Result<SourceText> text = step_scenario(row(), legend(), "R1.toml");
  REQUIRE(text);
  const Result<Scenario> scenario = read_scenario(*text);
  REQUIRE(scenario);
  CHECK(scenario->topology == "box");
  CHECK(scenario->cards == std::vector<std::int64_t>{0, 1});
  CHECK(scenario->finetune.method == Method::lora);
  CHECK(scenario->finetune.lora.rank == 8);
  CHECK(scenario->batch.sequence_length == 2048);
  CHECK(scenario->batch.micro_batch == 4);
  CHECK(scenario->batch.gradient_accumulation == 2);
  CHECK(text->text ==
        "# How long does a step of m take on box-x2, as p ran it (f)?\n# Published: 1.5 s (somewhere).\n"
        "# Of the software, assumed where nobody says it: rank.\n# Of the machine: no fan.\ntitle = \"f, row R1\"\n\n"
        "[model]\nname = \"m\"\n\n[hardware]\ntopology = \"box\"\ncards = [0, 1]\n\n"
        "[finetune]\nmethod = \"lora\"\nlora.rank = 8\n\n[parallel]\nstrategy = \"ddp\"\n\n"
        "[batch]\nsequence_length = 2048\nmicro_batch = 4\ngradient_accumulation = 2\n");
}

TEST_CASE("a machine without a row is a topology, a stack with an equals sign is keys", "[report]") {
  StepCase one = row();
  one.machine = "2x-rtx-4090";
  one.stack = "parallel.strategy=ddp;finetune.attention=eager";
  const Result<SourceText> text = step_scenario(one, legend(), "R1.toml");
  REQUIRE(text);
  const Result<Scenario> scenario = read_scenario(*text);
  REQUIRE(scenario);
  CHECK(scenario->topology == "2x-rtx-4090");
  CHECK(scenario->parallel.strategy == Strategy::ddp);
  CHECK(scenario->finetune.attention == AttentionKernel::eager);
}

TEST_CASE("an unknown stack is an error that says what to write", "[report]") {
  StepCase one = row();
  one.stack = "pft";
  const Result<SourceText> text = step_scenario(one, legend(), "R1.toml");
  REQUIRE(!text);
  CHECK(render(text.diagnostics()) ==
        "error: row R1 has an unknown stack \"pft\"\n"
        "hint: name one of stacks.csv, or write keys: parallel.strategy=fsdp2;finetune.method=lora\n");
}

TEST_CASE("rows of steps: numbers must be numbers", "[report]") {
  const auto cases = read_step_cases(table("R1,p,f,box-x2,m,peft,lora,2048,4,2,1.5,,,,,s"));
  REQUIRE(cases);
  CHECK(cases->front().measured_s == 1.5);
  CHECK(!read_step_cases(table("R1,p,f,box-x2,m,peft,lora,2048,0,2,1.5,,,,,s")));
  CHECK(!read_step_cases(table("R1,p,f,box-x2,m,peft,lora,2048,4,2,-1.5,,,,,s")));
  CHECK(!read_step_cases(table("R1,p,f,box-x2,m,peft,lora,2048,4,2,nan,,,,,s")));
  CHECK(!read_step_cases({"rows.csv", "row,step\nR1,2\n"}));
}
