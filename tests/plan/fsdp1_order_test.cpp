// The order in which FSDP1 issues its work, and its flat parameters, against data/fsdp1.csv (semantics F3, F10 to F31).
#include "catch.hpp"
#include "csv_rows.hpp"
#include "plan/fsdp1_unit.hpp"
#include "toy.hpp"

#include <map>
#include <string>

using namespace takt;
using toy::label;

namespace {

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

std::string unit_name(const Op& op) {
  return op.unit == no_unit ? "R" : "U" + std::to_string(op.unit);
}

/// The measured iteration of a program of decoder layers and a root, as the tokens of the data file. A free is written
/// where its memory is given back.
class Tokens {
 public:
  explicit Tokens(const Program& program) : program_(program) {
    for (std::size_t i = program.first_measured; i < program.ops.size(); ++i) add(program.ops[i]);
  }
  /// Up to the final callback of the first micro-step.
  std::string first_micro_step() const { return text_.substr(0, text_.find("WAITALL") + 7); }

 private:
  void add(const Op& op) {
    static const std::map<std::string, std::string> words = {
        {"all-gather", "AG"},          {"no all-gather", "NOAG"}, {"pre-forward hook", "WAIT"},
        {"pre-backward hook", "WAIT"}, {"forward", "FWD"},        {"backward", "BWD"},
        {"head forward", "FWD"},       {"reduce-scatter", "RS"},  {"all-reduce", "AR"}};
    const std::string& name = label(program_, op);
    if (const auto word = words.find(name); word != words.end()) token(word->second, unit_name(op));
    if (name == "head backward") token("BWD", "R.head");
    if (name == "embedding backward") token("BWD", "R.embed");
    if (name == "host wait") {
      const Op& awaited = program_.ops[index(std::get<HostWait>(op.work).op)];
      token("CPUSYNC", (awaited.phase == Phase::forward ? "f:" : "b:") + unit_name(awaited));
    }
    if (name == "final callback") text_ += "WAITALL ";
    for (const MemoryEffect& effect : op.effects) {
      if (effect.category == MemoryCategory::gathered && effect.delta < Bytes{}) token("FREE", unit_name(op));
    }
  }
  void token(const std::string& what, const std::string& of) { text_ += what + "(" + of + ") "; }

  const Program& program_;
  std::string text_;
};

Sharding sharding_of(const std::string& name) {
  if (has(name, "_HYBRID_SHARD_ZERO2")) return Sharding::hybrid_grad_op;
  if (has(name, "HYBRID_SHARD")) return Sharding::hybrid;
  if (has(name, "SHARD_GRAD_OP")) return Sharding::grad_op;
  return has(name, "NO_SHARD") ? Sharding::no_shard : Sharding::full;
}

/// The case's settings and the iteration that `key` asks for.
Scenario scenario_of(const std::string& name, const std::string& key) {
  Scenario scenario;
  scenario.finetune.loss_read_back = LossReadBack::none;
  ParallelSettings& parallel = scenario.parallel;
  parallel.strategy = Strategy::fsdp1;
  parallel.sharding = sharding_of(name);
  if (has(name, "BACKWARD_POST")) parallel.fsdp1.backward_prefetch = BackwardPrefetch::post;
  if (has(name, "BACKWARD_None")) parallel.fsdp1.backward_prefetch = BackwardPrefetch::none;
  parallel.fsdp1.forward_prefetch = has(name, "forward_prefetch=True");
  parallel.fsdp1.limit_all_gathers = !has(name, "limit_all_gathers=False");
  if (has(name, "inside no_sync")) {
    parallel.sync_each_micro_step = false;
    scenario.batch.gradient_accumulation = 2;
  }
  scenario.assumptions.iteration = has(key, "iter1") ? 1 : has(key, "iter2") ? 2 : 3;
  return scenario;
}

std::string order(const std::string& name, const std::string& key) {
  const Scenario scenario = scenario_of(name, key);
  const Workload workload = toy::transformer(has(name, "8 units") ? 8 : 3);
  const KernelPricer pricer = toy::pricer();
  const Sharding sharding = scenario.parallel.sharding;
  const bool hybrid = sharding == Sharding::hybrid || sharding == Sharding::hybrid_grad_op;
  const std::int64_t shards = sharding == Sharding::no_shard ? 1 : 2;
  const WrittenStep step = write_fsdp1_step({scenario, workload, pricer, shards, hybrid ? 2 : 2 / shards});
  return Tokens(step.program).first_micro_step();
}

std::string flat(const std::string& name, const std::string& key) {
  const std::vector<std::int64_t> tensors = {7, 16, 33, 5};
  const std::int64_t ranks = has(name, "world=8") ? 8 : has(name, "world=3") ? 3 : 2;
  const FlatLayout layout = has(name, "use_orig_params=True") ? FlatLayout::aligned : FlatLayout::packed;
  const FlatElements elements = flat_elements(tensors, has(name, "bf16") ? 2.0 : 4.0, ranks, layout);
  return std::to_string(key == "flat_numel" ? elements.total : elements.shard);
}

std::string factors(const std::string& name) {
  const ReductionFactors found = reduction_factors(std::stoll(name.substr(name.find('=') + 1)));
  const auto text = [](double value) {
    const auto tenths = static_cast<long>(value * 10.0);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
  };
  return text(found.before) + "/" + text(found.after);
}

}  // namespace

// Units and their order F1, F10, F11, F12, F13, F14, F15, F16, F17; backward F20, F21, F22, F23, F24, F25, in which the
// post-backward of a layer comes before the pre-backward of the next (X6); the end F29; no_sync F30; flat parameters
// F3; factors F27; replicas F28.
TEST_CASE("FSDP1 against an independent program", "[plan]") {
  std::size_t rows = 0;
  for (const std::vector<std::string>& row : test::csv_rows("fsdp1.csv")) {
    const std::string& name = row[0];
    const std::string& key = row[1];
    CAPTURE(name, key);
    if (has(key, "order"))
      CHECK(order(name, key) == row[2]);
    else if (has(key, "numel"))
      CHECK(flat(name, key) == row[2]);
    else
      CHECK(factors(name) == row[2]);
    ++rows;
  }
  REQUIRE(rows == 94);
}
