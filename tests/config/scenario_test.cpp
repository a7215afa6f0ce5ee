// Scenario files: keys, defaults, overrides, and read(write(s)) = s.
#include <algorithm>
#include <random>

#include "catch.hpp"
#include "config/reader.hpp"
#include "config/scenario_document.hpp"
#include "config/words.hpp"

using namespace takt;

namespace {

const std::string smallest = "[hardware]\ntopology = \"box\"\n[model]\nname = \"m\"\n";

Scenario scenario(const std::string& more, const Overrides& overrides = {}) {
  const Result<Scenario> read = read_scenario({"dir/small.toml", smallest + more}, overrides);
  INFO(render(read.diagnostics()));
  REQUIRE(read.has_value());
  return *read;
}

std::string messages(const std::string& more, const Overrides& overrides = {}) {
  return render(read_scenario({"small.toml", smallest + more}, overrides).diagnostics());
}

bool same_content(const Scenario& a, const Scenario& b) {
  return a.title == b.title && a.topology == b.topology && a.cards == b.cards && a.model == b.model &&
         a.finetune == b.finetune && a.batch == b.batch && a.parallel == b.parallel && a.collectives == b.collectives &&
         a.assumptions == b.assumptions && a.hash == b.hash;
}

/// Draws values for a scenario; every member that has a key gets one.
class RandomScenario {
 public:
  explicit RandomScenario(std::uint64_t seed) : random_(seed) {}

  Scenario draw() {
    Scenario s;
    s.title = pick<std::string>({"plain", "quotes \" and \\ and\ttab\nline", "M\u00fcller \u00b5s", "a#b = c"});
    s.topology = "box";
    s.model = pick<std::string>({"m", "models/m.toml"});
    draw_finetune(s.finetune);
    s.batch = {integer(1, 1 << 20), integer(1, 64), integer(1, 64), {}};
    for (std::int64_t i = integer(0, 3), room = s.batch.sequence_length; i > 0 && room > 0; --i) {
      s.batch.packing.push_back(integer(1, room));
      room -= s.batch.packing.back();
    }
    draw_parallel(s.parallel);
    const std::int64_t most = s.parallel.strategy == Strategy::none ? 1 : 8;
    for (std::int64_t i = integer(0, most); i > 0; --i) s.cards.push_back(i * 3);
    draw_collectives(s.collectives);
    draw_assumptions(s.assumptions);
    return s;
  }

 private:
  template <class T>
  T pick(std::vector<T> from) {
    return from[random_() % from.size()];
  }
  std::int64_t integer(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool flag() { return random_() % 2 == 0; }
  double real(double least, double most) {
    return least + (most - least) * static_cast<double>(random_() >> 11) / 9007199254740992.0;  // 2^53
  }
  Duration time() { return Duration(integer(0, 1) == 0 ? integer(0, 1'000'000'000'000) : integer(0, 90) * 1'000'000); }

  void draw_finetune(FinetuneSettings& f) {
    f.method = pick<Method>({Method::full, Method::lora, Method::qlora});
    f.lora.rank = integer(1, 4096);
    f.lora.targets.clear();
    for (const char* target : {"q", "k", "v", "o", "gate", "up", "down"}) {
      if (flag() || std::string(target) == "down") f.lora.targets.emplace_back(target);
    }
    f.lora.dropout = real(0, 0.9);
    f.lora.adapter_precision = pick<Precision>({Precision::fp32, Precision::bf16, Precision::fp16});
    f.optimizer = pick<Optimizer>(
        {Optimizer::adamw, Optimizer::adamw_8bit, Optimizer::paged_adamw_8bit, Optimizer::sgd});
    f.optimizer_form = pick<OptimizerForm>({OptimizerForm::fused, OptimizerForm::foreach_});
    f.precision = pick<Precision>({Precision::bf16, Precision::fp16, Precision::fp32, Precision::tf32});
    if (f.precision == Precision::bf16) f.master_precision = pick<Precision>({Precision::fp32, Precision::bf16});
    f.activation_checkpointing =
        pick<Checkpointing>({Checkpointing::none, Checkpointing::selective, Checkpointing::full});
    f.attention = pick<AttentionKernel>({AttentionKernel::flash, AttentionKernel::flash_triton, AttentionKernel::sdpa_mask,
                                          AttentionKernel::eager});
    f.double_quantisation = flag();
    f.lora.autocast = flag();
    f.checkpoint_every = integer(1, 4096);
    f.checkpoint_reentrant = flag();
    f.cross_entropy = pick<CrossEntropy>(
        {CrossEntropy::eager, CrossEntropy::compiled, CrossEntropy::fused, CrossEntropy::fused_linear});
    f.elementwise = pick<ElementwiseForm>({ElementwiseForm::eager, ElementwiseForm::compiled, ElementwiseForm::fused});
    f.gradient_clipping = flag();
    f.loss_read_back = pick<LossReadBack>({LossReadBack::none, LossReadBack::step, LossReadBack::micro_step});
  }

  void draw_parallel(ParallelSettings& p) {
    p.strategy = pick<Strategy>({Strategy::none, Strategy::ddp, Strategy::fsdp1, Strategy::fsdp2, Strategy::zero1,
                                 Strategy::zero2, Strategy::zero3});
    const bool fsdp = p.strategy == Strategy::fsdp1 || p.strategy == Strategy::fsdp2;
    if (fsdp) p.sharding = pick<Sharding>({Sharding::full, Sharding::grad_op, Sharding::hybrid, Sharding::hybrid_grad_op});
    if (p.strategy == Strategy::fsdp1 && flag()) p.sharding = Sharding::no_shard;
    p.ddp = {flag(), flag(), flag(), pick<CommHook>({CommHook::none, CommHook::bf16, CommHook::fp16})};
    // any other wrapping asks for adapters in the base's format
    p.fsdp1 = {pick<BackwardPrefetch>({BackwardPrefetch::pre, BackwardPrefetch::post, BackwardPrefetch::none}), flag(),
               flag(), flag(), WrapPolicy::peft};
    p.fsdp2 = {integer(0, 8), flag(), flag()};
    p.shard_group = integer(0, 8);
    if (flag()) p.prefetch = integer(0, 4);
    p.bucket_size = Bytes(integer(1, 1'000'000'000));
    p.first_bucket_small = flag();
    p.gradient_as_bucket_view = flag();
    // grad-op and resharding after forward contradict each other under FSDP2
    const bool keeps = p.sharding == Sharding::grad_op || p.sharding == Sharding::hybrid_grad_op;
    p.reshard_after_forward = !(p.strategy == Strategy::fsdp2 && keeps) && flag();
    p.sync_each_micro_step = flag();
  }

  void draw_collectives(CollectiveSettings& c) {
    c.algorithm = pick<CollectiveAlgorithm>({CollectiveAlgorithm::automatic, CollectiveAlgorithm::ring,
                                             CollectiveAlgorithm::tree, CollectiveAlgorithm::nvls,
                                             CollectiveAlgorithm::hierarchical});
    c.fidelity = pick<Fidelity>({Fidelity::fluid, Fidelity::chunked});
    c.chunk = pick<Chunk>({Chunk::step, Chunk::nccl});
    if (flag()) c.channels = integer(1, 64);
    if (flag()) c.base_latency = time();
    if (flag()) c.hop_latency = time();
  }

  void draw_assumptions(Assumptions& a) {
    a.links = pick<LinkBasis>({LinkBasis::measured, LinkBasis::nominal});
    a.compute = pick<ComputeBasis>({ComputeBasis::measured, ComputeBasis::peak, ComputeBasis::free});
    a.overlap = pick<Overlap>({Overlap::streams, Overlap::none, Overlap::perfect});
    a.sm_contention = flag();
    a.sm_slowdown = real(1, 10);
    a.memory_contention = flag();
    a.hbm_traffic_factor = real(0, 16);
    a.kernel_launch = time();
    a.collective_launch = time();
    a.eager_op = time();
    a.fsdp1_hook = time();
    a.fsdp2_hook = time();
    a.ddp_hook = time();
    a.jitter = real(0, 10);
    a.seed = integer(0, 1000);
    for (std::int64_t i = integer(0, 2); i > 0; --i) a.stragglers[integer(0, 7)] = real(1, 1000);
    a.nccl_limits = flag();
    a.in_situ = flag();
    a.kernel_by_kernel = flag();
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("a scenario with only what is required has every default", "[config]") {
  const Scenario s = scenario("");
  REQUIRE(s.file == "dir/small.toml");
  REQUIRE(s.name == "small");
  REQUIRE(s.title == "small");  // the file's name where it asks no question
  REQUIRE(s.topology == "box");
  REQUIRE(s.cards.empty());
  REQUIRE(s.finetune == FinetuneSettings{});
  REQUIRE(s.batch == BatchSettings{});
  REQUIRE(s.parallel == ParallelSettings{});
  REQUIRE(s.collectives == CollectiveSettings{});
  REQUIRE(s.assumptions == Assumptions{});
}

TEST_CASE("keys fill their members, and their places are kept", "[config]") {
  const Scenario s = scenario(R"([finetune]
method = "qlora"
lora = { rank = 8, targets = "qv", dropout = 0.05 }
optimizer = "paged-adamw-8bit"
[parallel]
strategy = "fsdp2"
prefetch = 2
[collectives]
base_latency = "20 us"
[assumptions]
compute = "free"
sm_slowdown = 2
)");
  REQUIRE(s.finetune.method == Method::qlora);
  REQUIRE(s.finetune.lora.rank == 8);
  REQUIRE(s.finetune.lora.targets == std::vector<std::string>{"q", "v"});
  REQUIRE(s.finetune.optimizer == Optimizer::paged_adamw_8bit);
  REQUIRE(s.parallel.prefetch == 2);
  REQUIRE(s.collectives.base_latency == std::chrono::microseconds(20));
  REQUIRE(s.assumptions.compute == ComputeBasis::free);
  REQUIRE(s.assumptions.sm_slowdown == 2.0);
  REQUIRE(s.places.at("finetune.lora.rank").line == 7);
  REQUIRE(s.places.at("finetune.lora.rank").column == 17);
  REQUIRE(s.places.at("parallel.prefetch").line_text == "prefetch = 2");
  REQUIRE(s.places.count("parallel.sharding") == 0);
}

TEST_CASE("adapter targets are a set with one order, by list or by name", "[config]") {
  const auto targets = [](const std::string& value) {
    return scenario("[finetune]\nmethod = \"lora\"\nlora.targets = " + value + "\n").finetune.lora.targets;
  };
  REQUIRE(targets("[\"v\", \"q\"]") == targets("\"qv\""));
  REQUIRE(targets("\"attention\"") == std::vector<std::string>{"q", "k", "v", "o"});
  REQUIRE(targets("\"all-linear\"") == LoraSettings{}.targets);
}

TEST_CASE("an explicit bucket size holds for DDP's first bucket too (D4)", "[config]") {
  REQUIRE(scenario("[parallel]\nstrategy = \"ddp\"\n").parallel.first_bucket_small);
  REQUIRE_FALSE(scenario("[parallel]\nstrategy = \"ddp\"\nbucket_size = \"25 MiB\"\n").parallel.first_bucket_small);
  REQUIRE(scenario("[parallel]\nstrategy = \"ddp\"\nbucket_size = \"25 MiB\"\nfirst_bucket_small = true\n")
              .parallel.first_bucket_small);
}

TEST_CASE("grad-op sharding under FSDP2 means no resharding after forward (S8)", "[config]") {
  REQUIRE_FALSE(scenario("[parallel]\nstrategy = \"fsdp2\"\nsharding = \"grad-op\"\n").parallel.reshard_after_forward);
  REQUIRE(scenario("[parallel]\nstrategy = \"fsdp2\"\nsharding = \"hybrid\"\n").parallel.reshard_after_forward);
}

TEST_CASE("overrides take the place of keys, add keys and sections, and need no quotes", "[config]") {
  const Scenario s = scenario("[batch]\nmicro_batch = 1\n", {{"batch.micro_batch", "2"},
                                                              {"finetune.method", "lora"},
                                                              {"finetune.lora.rank", "64"},
                                                              {"hardware.topology", "4x-h200-nvl"},
                                                              {"hardware.cards", "[0, 2]"},
                                                              {"parallel.strategy", "\"ddp\""},
                                                              {"collectives.hop_latency", "2 us"}});
  REQUIRE(s.batch.micro_batch == 2);
  REQUIRE(s.finetune.method == Method::lora);
  REQUIRE(s.finetune.lora.rank == 64);
  REQUIRE(s.topology == "4x-h200-nvl");
  REQUIRE(s.cards == std::vector<std::int64_t>{0, 2});
  REQUIRE(s.parallel.strategy == Strategy::ddp);
  REQUIRE(s.collectives.hop_latency == std::chrono::microseconds(2));
  REQUIRE(s.places.at("batch.micro_batch").file == "command line");
  REQUIRE(s.places.at("batch.micro_batch").line_text == "batch.micro_batch=2");
}

TEST_CASE("the last of two overrides of a key holds", "[config]") {
  REQUIRE(scenario("", {{"batch.micro_batch", "2"}, {"batch.micro_batch", "3"}}).batch.micro_batch == 3);
}

TEST_CASE("one document serves many overrides", "[config]") {
  const Result<Document> document = parse_scenario({"small.toml", smallest});
  REQUIRE(document.has_value());
  REQUIRE(scenario_from(*document, {{"batch.micro_batch", "4"}})->batch.micro_batch == 4);
  REQUIRE(scenario_from(*document)->batch.micro_batch == 1);
}

TEST_CASE("an override that is wrong is shown as it was typed, the caret under the value", "[config]") {
  REQUIRE(messages("", {{"batch.micro_batch", "two"}}) ==
          "command line: error: batch.micro_batch needs a whole number, not the text \"two\"\n"
          "      | batch.micro_batch=two\n"
          "      |                   ^\n");
}

TEST_CASE("the hash is of what decides a result", "[config]") {
  const std::uint64_t plain = scenario("").hash;
  REQUIRE(scenario("", {{"title", "another"}}).hash == plain);
  REQUIRE(scenario("", {{"batch.micro_batch", "1"}}).hash == plain);  // its default
  REQUIRE(scenario("", {{"batch.micro_batch", "2"}}).hash != plain);
  REQUIRE(scenario("", {{"assumptions.kernel_launch", "4001 ns"}}).hash != plain);
}

TEST_CASE("a [sweep] table is noted and left out", "[config]") {
  REQUIRE(scenario("[sweep]\n\"batch.micro_batch\" = [1, 2]\n").batch.micro_batch == 1);
  REQUIRE(messages("[sweep]\n\"batch.micro_batch\" = [1, 2]\n").find("small.toml:5:1: note: the axes of [sweep]") == 0);
}

TEST_CASE("every row of the key reference is complete, and its default can be written in a file", "[config]") {
  std::string text;
  for (const KeyDescription& row : scenario_key_reference()) {
    INFO(row.path);
    REQUIRE_FALSE(row.path.empty());
    REQUIRE_FALSE(row.type.empty());
    REQUIRE_FALSE(row.meaning.empty());
    if (row.default_.empty()) REQUIRE((row.path == "title" || row.path == "sweep"));
    if (row.default_.empty() || row.default_ == "required") continue;
    if (row.path == "parallel.bucket_size") continue;  // naming it decides first_bucket_small
    REQUIRE(scenario("", {{row.path, row.default_}}).hash == scenario("").hash);
  }
  REQUIRE(card_key_reference().size() > 20);
  REQUIRE(server_key_reference().size() > 30);
  REQUIRE(cluster_key_reference().size() >= 8);
  REQUIRE(model_key_reference().size() > 15);
  REQUIRE(link_key_reference().size() >= 9);
}

TEST_CASE("property: what is written reads back as the same scenario", "[config][property]") {
  constexpr std::uint64_t seed = 4711;
  INFO("seed " << seed);
  RandomScenario source(seed);
  for (int i = 0; i < 300; ++i) {
    const Scenario drawn = source.draw();
    const std::string text = write_scenario(drawn);
    INFO("draw " << i << "\n" << text);
    const Result<Scenario> read = read_scenario(SourceText{"drawn.toml", text});
    INFO(render(read.diagnostics()));
    REQUIRE(read.has_value());
    Scenario expected = drawn;
    expected.hash = read->hash;
    REQUIRE(same_content(*read, expected));
    REQUIRE(write_scenario(*read) == text);
    const Result<Scenario> again = read_scenario(SourceText{"again.toml", write_scenario(*read)});
    REQUIRE(same_content(*again, *read));
  }
}

TEST_CASE("choices have words", "[config]") {
  REQUIRE(word(Optimizer::paged_adamw_8bit) == "paged-adamw-8bit");
  REQUIRE(word(Sharding::grad_op) == "grad-op");
  REQUIRE(word(CollectiveAlgorithm::automatic) == "auto");
}
