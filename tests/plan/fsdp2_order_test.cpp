// The order in which FSDP2 issues its work, against orders worked out by hand from torch/distributed/fsdp/_fully_shard
// (_fsdp_param_group.py@002a76fb, _fsdp_state.py@01c9f4fc, _fsdp_collectives.py@010ae4a8).
#include <string>

#include "catch.hpp"
#include "plan/fsdp_unit.hpp"
#include "toy.hpp"

using namespace takt;
using toy::label;

namespace {

std::string unit_name(const Op& op) { return op.unit == no_unit ? "R" : "U" + std::to_string(op.unit); }

/// The tokens of a program of three layers and a root whose gathered sizes differ from all other sizes:
/// CI+AG copy-in and all-gather, CO copy-out, FWD, BWD, FREE parameters, RSCI reduce-scatter copy-in, RS, AR. A free is
/// written where the CPU comes to it: after the reduction that its op belongs to.
class Tokens {
 public:
  Tokens(const Program& program, const FsdpModel& model) : program_(program) {
    for (const Op& op : program.ops) add(op, model);
    flush_frees();
    text_ += "WAITALL";
  }
  const std::string& text() const { return text_; }

 private:
  void add(const Op& op, const FsdpModel& model) {
    const std::string& name = label(program_, op);
    const bool reduction = name == "reduce-scatter" || name == "all-reduce";
    if (!reduction) flush_frees();
    const std::string unit = unit_name(op);
    if (name == "all-gather copy-in") text_ += "CI+";
    if (name == "all-gather") token("AG", unit);
    if (name == "all-gather copy-out") token("CO", unit);
    if (name == "forward") token("FWD", unit);
    if (name == "head forward") token("FWD", "R");
    if (name == "backward") token("BWD", unit);
    if (name == "head backward") token("BWD", "R.head");
    if (name == "embedding backward") token("BWD", "R.embed");
    if (name == "reduce-scatter copy-in") {
      for (const OpId wait : op.waits) token("COMPUTEWAIT", "RS(" + unit_name(program_.ops[index(wait)]) + ")");
      token("RSCI", unit);
    }
    if (name == "reduce-scatter") token("RS", unit);
    if (name == "all-reduce") token("AR", unit);
    for (const MemoryEffect& effect : op.effects) {
      if (effect.category != MemoryCategory::gathered || effect.delta > Bytes{}) continue;
      const bool root = Bytes{} - effect.delta == model.root.gathered;
      frees_ += "FREE(" + (root ? "R" : "U" + std::to_string(freed_layer(op))) + ") ";
    }
  }
  /// The unit of the op, but for U0 without input gradients, which is freed after the root's reduction.
  static std::uint32_t freed_layer(const Op& op) { return op.unit == no_unit ? 0 : op.unit; }
  void token(const std::string& what, const std::string& of) { text_ += what + "(" + of + ") "; }
  void flush_frees() {
    text_ += frees_;
    frees_.clear();
  }

  const Program& program_;
  std::string text_, frees_;
};

Scenario fsdp2() {
  Scenario scenario;
  scenario.parallel.strategy = Strategy::fsdp2;
  return scenario;
}

WrittenStep step_of(const Scenario& scenario, const Workload& workload, std::int64_t shards, std::int64_t replicas) {
  const KernelPricer pricer = toy::pricer();
  return write_fsdp2_step({scenario, workload, pricer, shards, replicas});
}

std::string tokens(const Scenario& scenario, const Workload& workload, std::int64_t replicas = 1) {
  return Tokens(step_of(scenario, workload, 2, replicas).program, fsdp_model(workload, 2)).text();
}

}  // namespace

TEST_CASE("FSDP2 order: the default reshards after forward and gathers one ahead in backward (S6, S9, S10)", "[plan]") {
  REQUIRE(tokens(fsdp2(), toy::transformer(3)) ==
          "CI+AG(R) CO(R) CI+AG(U0) CO(U0) FWD(U0) FREE(U0) CI+AG(U1) CO(U1) FWD(U1) FREE(U1) CI+AG(U2) CO(U2) FWD(U2) "
          "FREE(U2) FWD(R) CI+AG(U2) BWD(R.head) CO(U2) CI+AG(U1) BWD(U2) FREE(U2) RSCI(U2) RS(U2) CO(U1) CI+AG(U0) "
          "BWD(U1) FREE(U1) COMPUTEWAIT(RS(U2)) RSCI(U1) RS(U1) CO(U0) BWD(U0) FREE(U0) COMPUTEWAIT(RS(U1)) RSCI(U0) "
          "RS(U0) BWD(R.embed) FREE(R) COMPUTEWAIT(RS(U0)) RSCI(R) RS(R) WAITALL");
}

TEST_CASE("FSDP2 order: reshard_after_forward=False gathers nothing in backward (S8)", "[plan]") {
  const std::string expected =
      "CI+AG(R) CO(R) CI+AG(U0) CO(U0) FWD(U0) CI+AG(U1) CO(U1) FWD(U1) CI+AG(U2) CO(U2) FWD(U2) FWD(R) BWD(R.head) "
      "BWD(U2) FREE(U2) RSCI(U2) RS(U2) BWD(U1) FREE(U1) COMPUTEWAIT(RS(U2)) RSCI(U1) RS(U1) BWD(U0) FREE(U0) "
      "COMPUTEWAIT(RS(U1)) RSCI(U0) RS(U0) BWD(R.embed) FREE(R) COMPUTEWAIT(RS(U0)) RSCI(R) RS(R) WAITALL";
  Scenario scenario = fsdp2();
  scenario.parallel.reshard_after_forward = false;
  REQUIRE(tokens(scenario, toy::transformer(3)) == expected);
  scenario = fsdp2();
  scenario.parallel.sharding = Sharding::grad_op;
  REQUIRE(tokens(scenario, toy::transformer(3)) == expected);
}

TEST_CASE("FSDP2 order: explicit forward prefetch of one unit (S7)", "[plan]") {
  Scenario scenario = fsdp2();
  scenario.parallel.prefetch = 1;
  REQUIRE(tokens(scenario, toy::transformer(3)) ==
          "CI+AG(R) CO(R) CI+AG(U0) CO(U0) CI+AG(U1) FWD(U0) FREE(U0) CO(U1) CI+AG(U2) FWD(U1) FREE(U1) CO(U2) FWD(U2) "
          "FREE(U2) FWD(R) CI+AG(U2) BWD(R.head) CO(U2) CI+AG(U1) BWD(U2) FREE(U2) RSCI(U2) RS(U2) CO(U1) CI+AG(U0) "
          "BWD(U1) FREE(U1) COMPUTEWAIT(RS(U2)) RSCI(U1) RS(U1) CO(U0) BWD(U0) FREE(U0) COMPUTEWAIT(RS(U1)) RSCI(U0) "
          "RS(U0) BWD(R.embed) FREE(R) COMPUTEWAIT(RS(U0)) RSCI(R) RS(R) WAITALL");
}

TEST_CASE("FSDP2 order: a layer whose inputs need no gradient reduces at the end, after the root (S11)", "[plan]") {
  Workload workload = toy::transformer(3);
  BlockKind first = workload.kinds[1];
  first.inputs_need_gradient = false;
  workload.kinds.push_back(first);
  workload.blocks[1] = 3;
  REQUIRE(tokens(fsdp2(), workload) ==
          "CI+AG(R) CO(R) CI+AG(U0) CO(U0) FWD(U0) FREE(U0) CI+AG(U1) CO(U1) FWD(U1) FREE(U1) CI+AG(U2) CO(U2) FWD(U2) "
          "FREE(U2) FWD(R) CI+AG(U2) BWD(R.head) CO(U2) CI+AG(U1) BWD(U2) FREE(U2) RSCI(U2) RS(U2) CO(U1) CI+AG(U0) "
          "BWD(U1) FREE(U1) COMPUTEWAIT(RS(U2)) RSCI(U1) RS(U1) CO(U0) BWD(U0) BWD(R.embed) FREE(R) "
          "COMPUTEWAIT(RS(U1)) RSCI(R) RS(R) FREE(U0) COMPUTEWAIT(RS(R)) RSCI(U0) RS(U0) WAITALL");
}

TEST_CASE("FSDP2 order: hybrid sharding all-reduces each shard over the replicas (S13)", "[plan]") {
  REQUIRE(tokens(fsdp2(), toy::transformer(3), 2) ==
          "CI+AG(R) CO(R) CI+AG(U0) CO(U0) FWD(U0) FREE(U0) CI+AG(U1) CO(U1) FWD(U1) FREE(U1) CI+AG(U2) CO(U2) FWD(U2) "
          "FREE(U2) FWD(R) CI+AG(U2) BWD(R.head) CO(U2) CI+AG(U1) BWD(U2) FREE(U2) RSCI(U2) RS(U2) AR(U2) CO(U1) "
          "CI+AG(U0) BWD(U1) FREE(U1) COMPUTEWAIT(RS(U2)) RSCI(U1) RS(U1) AR(U1) CO(U0) BWD(U0) FREE(U0) "
          "COMPUTEWAIT(RS(U1)) RSCI(U0) RS(U0) AR(U0) BWD(R.embed) FREE(R) COMPUTEWAIT(RS(U0)) RSCI(R) RS(R) AR(R) "
          "WAITALL");
}

TEST_CASE("FSDP2 order: a micro-step without gradient sync reduces nothing (S15)", "[plan]") {
  const std::string quiet =
      "CI+AG(R) CO(R) CI+AG(U0) CO(U0) FWD(U0) FREE(U0) CI+AG(U1) CO(U1) FWD(U1) FREE(U1) CI+AG(U2) CO(U2) FWD(U2) "
      "FREE(U2) FWD(R) CI+AG(U2) BWD(R.head) CO(U2) CI+AG(U1) BWD(U2) FREE(U2) CO(U1) CI+AG(U0) BWD(U1) FREE(U1) "
      "CO(U0) BWD(U0) FREE(U0) BWD(R.embed) FREE(R) ";
  Scenario scenario = fsdp2();
  scenario.parallel.sync_each_micro_step = false;
  scenario.batch.gradient_accumulation = 2;
  const std::string both = tokens(scenario, toy::transformer(3));
  REQUIRE(both == quiet + tokens(fsdp2(), toy::transformer(3)));
}
