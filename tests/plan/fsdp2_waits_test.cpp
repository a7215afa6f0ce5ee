// What waits for what in an FSDP2 step (semantics X2, S5, S6, S9, S10, S13, S14, S16, S20), and what its collectives
// carry.
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "plan/fsdp_unit.hpp"
#include "toy.hpp"

using namespace takt;
using toy::find;
using toy::label;
using toy::waits_for;

namespace {

struct Written {
  explicit Written(const Workload& workload, Scenario scenario = {}, std::int64_t shards = 2, std::int64_t replicas = 1)
      : pricer(toy::pricer()), step(write_fsdp2_step({scenario, workload, pricer, shards, replicas})) {}

  const Program& program() const { return step.program; }
  const Op& op(std::size_t position) const { return step.program.ops[position]; }
  /// Position of the n-th op with a label.
  std::size_t at(const std::string& text, std::size_t n) const { return find(program(), text).at(n); }
  const CollectiveCall& call(const Op& op) const {
    const auto& collective = std::get<Collective>(op.work);
    return program().comms[index(collective.comm)].calls[collective.call];
  }

  KernelPricer pricer;
  WrittenStep step;
};

}  // namespace

TEST_CASE("forward: all-gather i+1 waits for copy-out i-1, not for copy-out i (S6)", "[plan]") {
  const Written w(toy::layers_only(4));   // gathers and copy-outs 0..3 are the forward's
  for (std::size_t i = 1; i + 1 < 4; ++i) {
    const Op& copy_in = w.op(w.at("all-gather copy-in", i + 1));
    const Op& gather = w.op(w.at("all-gather", i + 1));
    REQUIRE(waits_for(copy_in, w.at("all-gather copy-out", i - 1)));
    REQUIRE(waits_for(gather, w.at("all-gather copy-out", i - 1)));
    REQUIRE_FALSE(waits_for(gather, w.at("all-gather copy-out", i)));
    REQUIRE(waits_for(gather, w.at("all-gather copy-in", i + 1)));
  }
  REQUIRE(w.op(w.at("all-gather", 1)).waits == std::vector<OpId>{id_at<OpId>(w.at("all-gather copy-in", 1))});
}

TEST_CASE("each copy-out waits for its all-gather (S5)", "[plan]") {
  const Written w(toy::transformer(3));
  for (std::size_t i = 0; i < find(w.program(), "all-gather").size(); ++i) {
    REQUIRE(waits_for(w.op(w.at("all-gather copy-out", i)), w.at("all-gather", i)));
  }
}

TEST_CASE("backward: all-gather i-1 waits for copy-out i (S9)", "[plan]") {
  const Written w(toy::layers_only(4));   // gathers 4..7 are the backward's, of layers 3..0
  for (std::size_t i = 5; i < 8; ++i) {
    REQUIRE(waits_for(w.op(w.at("all-gather", i)), w.at("all-gather copy-out", i - 1)));
    REQUIRE(w.at("all-gather", i) > w.at("all-gather copy-out", i - 1));
  }
  // The first gather of the backward waits for the last copy-out of the forward: its buffer is dropped there.
  REQUIRE(waits_for(w.op(w.at("all-gather", 4)), w.at("all-gather copy-out", 3)));
}

TEST_CASE("at most one reduce-scatter is in flight: compute waits for the one before (S10)", "[plan]") {
  const Written w(toy::layers_only(3));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t copy_in = w.at("reduce-scatter copy-in", i);
    REQUIRE(waits_for(w.op(w.at("reduce-scatter", i)), copy_in));
    if (i > 0) REQUIRE(w.op(copy_in).waits == std::vector<OpId>{id_at<OpId>(w.at("reduce-scatter", i - 1))});
  }
}

TEST_CASE("the optimizer waits for the last reductions (S14)", "[plan]") {
  const Written sharded(toy::transformer(2));
  REQUIRE(waits_for(sharded.op(sharded.at("gradient clipping", 0)), sharded.at("reduce-scatter", 2)));
  const Written hybrid(toy::transformer(2), {}, 2, 2);
  REQUIRE(waits_for(hybrid.op(hybrid.at("gradient clipping", 0)), hybrid.at("reduce-scatter", 2)));
  REQUIRE(waits_for(hybrid.op(hybrid.at("gradient clipping", 0)), hybrid.at("all-reduce", 2)));
}

TEST_CASE("all-gathers and reduce-scatters share a communicator, the all-reduce has its own (S3, S13)", "[plan]") {
  const Written w(toy::transformer(2), {}, 2, 3);
  REQUIRE(w.step.comm_groups == std::vector<RankGroup>{RankGroup::shard, RankGroup::replicate});
  for (const Op& op : w.program().ops) {
    const auto* collective = std::get_if<Collective>(&op.work);
    if (collective == nullptr) continue;
    REQUIRE(w.program().comms[index(collective->comm)].name ==
            (label(w.program(), op) == "all-reduce" ? "replicate" : "shard"));
  }
  // An all-reduce carries the shard: 16 x 16 elements of 2 bytes among 2 ranks.
  REQUIRE(w.call(w.op(w.at("all-reduce", 0))).bytes == Bytes(16 * 16 * 2 / 2));
  REQUIRE(waits_for(w.op(w.at("all-reduce", 0)), w.at("reduce-scatter", 0)));
}

TEST_CASE("frozen parameters are gathered but not reduced (S16)", "[plan]") {
  Workload workload = toy::transformer(2);
  for (BlockKind& kind : workload.kinds) {
    for (Parameter& parameter : kind.parameters) parameter.trainable = false;
  }
  workload.kinds[0].has_backward = false;
  Parameter adapter = toy::parameter("q.lora_A", 4, 16);
  adapter.bytes = adapter.gradient_bytes = workload.reduce_bytes = 4.0;
  workload.kinds[1].parameters.push_back(adapter);
  const Written w(workload);
  // Layers twice and the root once are gathered; a layer is 16 x 16 x 2 + 4 x 16 x 4 bytes.
  REQUIRE(find(w.program(), "all-gather").size() == 2 * 2 + 1);
  REQUIRE(w.call(w.op(w.at("all-gather", 1))).bytes == Bytes(512 + 256));
  // Only the adapters of the two layers are reduced, in their own format. Nothing of the root.
  REQUIRE(find(w.program(), "reduce-scatter").size() == 2);
  REQUIRE(w.call(w.op(w.at("reduce-scatter", 0))).bytes == Bytes(256));
  REQUIRE(find(w.program(), "embedding backward").empty());
}

TEST_CASE("a copy-in copies the shard, after a cast where masters have another format (S5)", "[plan]") {
  // Layers of 16 x 16 elements among 2 ranks: 128 elements, gathered as 2 bytes each. Masters of 4 bytes: read, written
  // as 2; read, written as 2.
  const auto copy_in = [](const Workload& workload) {
    const Written w(workload);
    const auto& segment = std::get<Segment>(w.op(w.at("all-gather copy-in", 0)).work);
    return segment.memory_bytes;
  };
  Workload workload = toy::layers_only(1);
  REQUIRE(copy_in(workload) == 128 * (4 + 2 + 2 + 2));
  workload.stored_bytes_trainable = 2.0;
  REQUIRE(copy_in(workload) == 128 * (2 + 2));
}

TEST_CASE("one rank communicates nothing and still copies (S20)", "[plan]") {
  const Written w(toy::transformer(2), {}, 1, 1);
  REQUIRE(w.program().comms.empty());
  REQUIRE(find(w.program(), "all-gather").empty());
  REQUIRE(find(w.program(), "all-gather copy-out").size() == 5);
  REQUIRE(find(w.program(), "reduce-scatter copy-in").size() == 3);
  REQUIRE(waits_for(w.op(w.at("all-gather copy-out", 0)), w.at("all-gather copy-in", 0)));
}

TEST_CASE("checkpointing recomputes inside the backward, with one gather (S19)", "[plan]") {
  Workload workload = toy::layers_only(2);
  workload.kinds[1].recompute = {toy::kernel("again", toy::ms(9))};
  const Written w(workload);
  REQUIRE(find(w.program(), "all-gather").size() == 4);
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(w.at("recompute", i) + 1 == w.at("backward", i));
    REQUIRE(w.op(w.at("recompute", i)).phase == Phase::recompute);
    REQUIRE(w.at("all-gather copy-out", 2 + i) < w.at("recompute", i));
  }
}

TEST_CASE("prefetch 0: nothing is gathered before compute needs it", "[plan]") {
  Scenario scenario;
  scenario.parallel.prefetch = 0;
  const Written w(toy::layers_only(3), scenario);
  REQUIRE(waits_for(w.op(w.at("all-gather", 1)), w.at("forward", 0)));
  REQUIRE(waits_for(w.op(w.at("all-gather", 2)), w.at("forward", 1)));
  REQUIRE(waits_for(w.op(w.at("all-gather", 4)), w.at("reduce-scatter copy-in", 0)));   // after backward of layer 2
}

TEST_CASE("prefetch 2: two units are issued ahead, forward and backward (S7, S9)", "[plan]") {
  Scenario scenario;
  scenario.parallel.prefetch = 2;
  const Written w(toy::layers_only(4), scenario);
  REQUIRE(w.at("all-gather", 2) < w.at("forward", 0));
  REQUIRE(w.at("all-gather", 3) > w.at("forward", 0));
  REQUIRE(w.at("all-gather", 6) < w.at("backward", 0));
  REQUIRE(w.at("all-gather", 7) > w.at("backward", 0));
}

TEST_CASE("FSDP80: 240 collectives, in backward AG79 AG78 RS79 AG77 RS78 ... RS0", "[plan]") {
  const Written w(toy::layers_only(80));
  std::vector<std::string> order;
  for (const Op& op : w.program().ops) {
    if (!std::holds_alternative<Collective>(op.work) || op.unit == no_unit) continue;   // not the norm's (H6)
    order.push_back((label(w.program(), op) == "all-gather" ? "AG" : "RS") + std::to_string(op.unit));
  }
  std::vector<std::string> expected;
  for (int i = 0; i < 80; ++i) expected.push_back("AG" + std::to_string(i));
  expected.push_back("AG79");
  for (int i = 79; i > 0; --i) {
    expected.push_back("AG" + std::to_string(i - 1));
    expected.push_back("RS" + std::to_string(i));
  }
  expected.push_back("RS0");
  REQUIRE(expected.size() == 240);
  REQUIRE(order == expected);
}

TEST_CASE("overlap perfect: no compute op waits for a collective; overlap none: one serial order", "[plan]") {
  Scenario scenario;
  scenario.assumptions.overlap = Overlap::perfect;
  const Written perfect(toy::transformer(3), scenario);
  for (const Op& op : perfect.program().ops) {
    if (perfect.program().streams[index(op.stream)].kind != StreamKind::compute) continue;
    for (const OpId wait : op.waits) {
      REQUIRE_FALSE(std::holds_alternative<Collective>(perfect.program().ops[index(wait)].work));
    }
  }
  scenario.assumptions.overlap = Overlap::none;
  const Written serial(toy::transformer(3), scenario);
  std::optional<std::size_t> before;   // the last op on a stream; the CPU's own waits stand between
  for (std::size_t i = 0; i < serial.program().ops.size(); ++i) {
    const Op& op = serial.program().ops[i];
    if (std::holds_alternative<HostWait>(op.work)) continue;
    if (before) REQUIRE((op.stream == serial.program().ops[*before].stream || waits_for(op, *before)));
    before = i;
  }
}
