// Every model file: it reads without a message, and its counts are the exact ones.
#include "catch.hpp"
#include "config/reader.hpp"
#include "fixtures.hpp"
#include "support/source_dir.hpp"
#include "workload/shape.hpp"

#include <algorithm>
#include <filesystem>

using namespace takt;
using namespace takt::test;

namespace {

const std::string models = takt::test::source_dir() + "/models/";

ModelSpec read(const std::string& id) {
  const Result<SourceText> text = read_text_file(models + id + ".toml");
  REQUIRE(text);
  const Result<ModelSpec> model = read_model(*text);
  INFO(render(model.diagnostics()));
  REQUIRE(model);
  CHECK(model.diagnostics().empty());
  return *model;
}

}  // namespace

TEST_CASE("parameters, linear weights, embeddings and LoRA elements of 32 dense models are exact") {
  const std::vector<std::vector<std::string>> rows = csv_rows("models.csv");
  REQUIRE(rows.size() == 33);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    INFO(row[0]);
    const ModelSpec model = read(row[0]);
    REQUIRE(model.transformer);
    const TransformerShape& shape = *model.transformer;
    CHECK(parameter_count(shape) == std::stoll(row[1]));
    CHECK(model.parameters == std::stoll(row[1]));
    CHECK(shape.layers * linear_weights(shape) == std::stoll(row[2]));
    const std::int64_t embedding = shape.vocabulary * shape.hidden;
    const std::int64_t positions = shape.learned_positions * shape.hidden;
    CHECK((shape.tied_embeddings ? 1 : 2) * embedding + positions == std::stoll(row[3]));
    CHECK(lora_parameter_count(shape, LoraSettings{}) == std::stoll(row[4]));
  }
}

TEST_CASE("every file under models/ builds a workload") {
  std::vector<std::string> ids;
  for (const auto& entry : std::filesystem::directory_iterator(models)) ids.push_back(entry.path().stem());
  std::sort(ids.begin(), ids.end());
  CHECK(ids.size() >= 33);
  for (const std::string& id : ids) {
    Scenario scenario = scenario_of(Method::full);
    scenario.batch.sequence_length = 1024;
    const KernelPricer pricer(round_card(), ComputeBasis::measured);
    const Result<Workload> workload = build_workload(read(id), scenario, pricer);
    INFO(id << render(workload.diagnostics()));
    REQUIRE(workload);
    CHECK(workload->parameters > 0);
  }
}
