#include "config/scenario_keys.hpp"

#include "config/list_kinds.hpp"
#include "config/nccl_keys.hpp"
#include "config/platform_keys.hpp"
#include "config/words.hpp"

namespace takt {
namespace {

using std::chrono::seconds;

constexpr KeyMaker<Scenario> key;

const Choice<Method> methods{{{"full", Method::full}, {"lora", Method::lora}, {"qlora", Method::qlora}}};
const Choice<Optimizer> optimizers{{{"adamw", Optimizer::adamw},
                                    {"adamw-8bit", Optimizer::adamw_8bit},
                                    {"paged-adamw-8bit", Optimizer::paged_adamw_8bit},
                                    {"sgd", Optimizer::sgd}}};
const Choice<OptimizerForm> optimizer_forms{{{"fused", OptimizerForm::fused}, {"foreach", OptimizerForm::foreach_}}};
const Choice<Precision> precisions{{{"bf16", Precision::bf16},
                                    {"fp16", Precision::fp16},
                                    {"fp32", Precision::fp32},
                                    {"tf32", Precision::tf32},
                                    {"fp8", Precision::fp8},
                                    {"nvfp4", Precision::nvfp4},
                                    {"mxfp8", Precision::mxfp8}}};
const Choice<Precision> unscaled_precisions{
    {{"fp32", Precision::fp32}, {"bf16", Precision::bf16}, {"fp16", Precision::fp16}}};
const Choice<Precision> master_precisions{{{"fp32", Precision::fp32}, {"bf16", Precision::bf16}}};
const Choice<Checkpointing> checkpointings{
    {{"none", Checkpointing::none}, {"selective", Checkpointing::selective}, {"full", Checkpointing::full}}};
const Choice<AttentionKernel> attention_kernels{
    {{"flash", AttentionKernel::flash},
     {"flash-triton", AttentionKernel::flash_triton},
     {"sdpa-mask", AttentionKernel::sdpa_mask},
     {"eager", AttentionKernel::eager}}};
const Choice<CrossEntropy> cross_entropies{{{"eager", CrossEntropy::eager},
                                            {"compiled", CrossEntropy::compiled},
                                            {"fused", CrossEntropy::fused},
                                            {"fused-linear", CrossEntropy::fused_linear}}};
const Choice<ElementwiseForm> elementwise_forms{
    {{"eager", ElementwiseForm::eager}, {"compiled", ElementwiseForm::compiled}, {"fused", ElementwiseForm::fused}}};
const Choice<LossReadBack> loss_read_backs{
    {{"none", LossReadBack::none}, {"step", LossReadBack::step}, {"micro-step", LossReadBack::micro_step}}};
const Choice<Strategy> strategies{{{"none", Strategy::none},
                                   {"ddp", Strategy::ddp},
                                   {"fsdp1", Strategy::fsdp1},
                                   {"fsdp2", Strategy::fsdp2},
                                   {"zero1", Strategy::zero1},
                                   {"zero2", Strategy::zero2},
                                   {"zero3", Strategy::zero3}}};
const Choice<Sharding> shardings{{{"full", Sharding::full},
                                  {"grad-op", Sharding::grad_op},
                                  {"hybrid", Sharding::hybrid},
                                  {"hybrid-grad-op", Sharding::hybrid_grad_op},
                                  {"no-shard", Sharding::no_shard}}};
const Choice<BackwardPrefetch> backward_prefetches{
    {{"pre", BackwardPrefetch::pre}, {"post", BackwardPrefetch::post}, {"none", BackwardPrefetch::none}}};
const Choice<WrapPolicy> wrap_policies{{{"layer", WrapPolicy::layer}, {"peft", WrapPolicy::peft}}};
const Choice<Offload> offloads{{{"none", Offload::none}, {"cpu", Offload::cpu}, {"nvme", Offload::nvme}}};
const Choice<CommHook> comm_hooks{{{"none", CommHook::none}, {"bf16", CommHook::bf16}, {"fp16", CommHook::fp16}}};
const Choice<CollectiveAlgorithm> algorithms{{{"auto", CollectiveAlgorithm::automatic},
                                              {"ring", CollectiveAlgorithm::ring},
                                              {"tree", CollectiveAlgorithm::tree},
                                              {"nvls", CollectiveAlgorithm::nvls},
                                              {"hierarchical", CollectiveAlgorithm::hierarchical}}};
const Choice<Fidelity> fidelities{{{"fluid", Fidelity::fluid}, {"chunked", Fidelity::chunked}}};
const Choice<Chunk> chunks{{{"step", Chunk::step}, {"nccl", Chunk::nccl}}};
const Choice<LinkBasis> link_bases{{{"measured", LinkBasis::measured}, {"nominal", LinkBasis::nominal}}};
const Choice<ComputeBasis> compute_bases{
    {{"measured", ComputeBasis::measured}, {"peak", ComputeBasis::peak}, {"free", ComputeBasis::free}}};
const Choice<Clocks> clock_kinds{{{"burst", Clocks::burst}, {"sustained", Clocks::sustained}}};
const Choice<Overlap> overlaps{
    {{"streams", Overlap::streams}, {"none", Overlap::none}, {"perfect", Overlap::perfect}}};

/// The linear layers of a decoder layer that adapters can sit on, and the sets people use.
const WordSet adapter_targets{{"q", "k", "v", "o", "gate", "up", "down"},
                              {{"all-linear", {"q", "k", "v", "o", "gate", "up", "down"}},
                               {"attention", {"q", "k", "v", "o"}},
                               {"mlp", {"gate", "up", "down"}},
                               {"qv", {"q", "v"}}}};

/// [sweep] belongs to `takt sweep`; a plain reading says so and goes on.
Key<Scenario> sweep_key() {
  return {{"sweep", Presence::optional, "table", "", "axes of a sweep: \"batch.micro_batch\" = [1, 2, 4]"},
          [](const Node& node, const std::string& path, Scenario&, Reading& reading) {
            if (!node.as<Node::Table>()) {
              return reading.error(node.place, path + " must be a table, not " + describe(node), "write [sweep]");
            }
            reading.note(node.place, "the axes of [sweep] are left out: this runs the file's own values once",
                         "takt sweep FILE --out points.csv runs every point");
          },
          [](const Scenario&) { return std::string(); },
          {}};
}

/// A part of the hardware with other values than its data file's, for this run.
Key<Scenario> hardware_key(const char* section, NodeChanges HardwareChanges::*part, std::size_t names,
                           const char* meaning) {
  const auto read = [part, names](const Node& node, const std::string& path, Scenario& scenario, Reading& reading) {
    NodeChanges changes = leaves_of(node);
    if (!node.as<Node::Table>()) {
      return reading.error(node.place, path + " must be a table, not " + describe(node), "write [" + path + "]");
    }
    for (const NodeChange& change : changes) {
      if (names == 0 || change.key.find('.') != std::string::npos) continue;
      reading.error(change.key_place, path + '.' + change.key + " needs a name and a key below it",
                    "for example " + path + ".NAME.KEY");
    }
    scenario.hardware_changes.*part = std::move(changes);
  };
  return {{section, Presence::optional, "table", "", meaning},
          read,
          [part](const Scenario& scenario) { return inline_table(scenario.hardware_changes.*part); },
          {}};
}

auto finetune(auto... members) { return at(&Scenario::finetune, members...); }
auto batch(auto member) { return at(&Scenario::batch, member); }
auto parallel(auto... members) { return at(&Scenario::parallel, members...); }
auto collectives(auto member) { return at(&Scenario::collectives, member); }
auto cost(auto member) { return at(&Scenario::cost, member); }
auto assumptions(auto member) { return at(&Scenario::assumptions, member); }

using Rows = std::vector<Key<Scenario>>;

Rows what_and_where() {
  return {
      key.optional("title", at(&Scenario::title), Text{}, "the question the scenario asks; default: the file's name"),
      key.required("hardware.topology", at(&Scenario::topology), Text{},
                   "a file of topologies/servers or topologies/clusters by its name, or a path"),
      key.optional("hardware.cards", at(&Scenario::cards), IntegerList{{0, 1'000'000}},
                   "numbers of the cards that take part, in rank order"),
      key.optional("hardware.mig", at(&Scenario::mig), TextOrWord{"none"},
                   "a MIG profile of the card, e.g. 1g.18gb: one rank on one slice"),
      key.optional("hardware.power_limit", at(&Scenario::power_limit),
                   Optional<Amount<Power>>{{Power(1), Power(10'000)}, "tdp"},
                   "of each card; slows kernels by the card's measured curve"),
      hardware_key("hardware.link", &HardwareChanges::links, 1,
                   "changed keys of kinds of links: hardware.link.pcie5-x16.effective = \"40 GB/s\""),
      hardware_key("hardware.card", &HardwareChanges::cards, 1,
                   "changed keys of cards: hardware.card.h200-nvl.memory.bandwidth = \"4 TB/s\""),
      hardware_key("hardware.server", &HardwareChanges::server, 0,
                   "changed keys of the server's file: hardware.server.peer_to_peer.enabled = false"),
      hardware_key("hardware.cluster", &HardwareChanges::cluster, 0,
                   "changed keys of the cluster's file: hardware.cluster.oversubscription = 2"),
      key.required("model.name", at(&Scenario::model), Text{}, "a file of models by its name, or a path"),
  };
}

Rows finetune_rows() {
  return {
      key.optional("finetune.method", finetune(&FinetuneSettings::method), methods,
                   "what is trained: all weights, adapters, or adapters on a 4-bit base"),
      key.optional("finetune.optimizer", finetune(&FinetuneSettings::optimizer), optimizers,
                   "decides the optimizer's state and its kernels"),
      key.optional("finetune.optimizer_form", finetune(&FinetuneSettings::optimizer_form), optimizer_forms,
                   "one kernel for all parameters, or PyTorch's foreach passes"),
      key.optional("finetune.precision", finetune(&FinetuneSettings::precision), precisions,
                   "of matrix products and of what is communicated"),
      key.optional("finetune.master_precision", finetune(&FinetuneSettings::master_precision), master_precisions,
                   "full fine-tune: of the weights, gradients and moments that the optimizer works on; bf16 = a model "
                   "loaded and trained in pure bf16, without master weights"),
      key.optional("finetune.fp32_residual", finetune(&FinetuneSettings::fp32_residual), Flag{},
                   "autocast over fp32 weights or norms: the residual stream is in fp32, and each linear layer casts "
                   "its input"),
      key.optional("finetune.reduce_precision", finetune(&FinetuneSettings::reduce_precision),
                   Optional<Choice<Precision>>{unscaled_precisions, "default"},
                   "FSDP: gradients are cast to it for their reduction (reduce_dtype); default = fp32 for a full "
                   "fine-tune, adapters as they are"),
      key.optional("finetune.activation_checkpointing", finetune(&FinetuneSettings::activation_checkpointing),
                   checkpointings, "which activations backward computes again"),
      key.optional("finetune.attention", finetune(&FinetuneSettings::attention), attention_kernels,
                   "attention kernel: FlashAttention-2, Triton's of 2023, SDPA with a mask, or eager"),
      key.optional("finetune.checkpoint_every", finetune(&FinetuneSettings::checkpoint_every), Integer{1, 4096},
                   "checkpoints every how-manieth layer; the others keep their activations"),
      key.optional("finetune.checkpoint_reentrant", finetune(&FinetuneSettings::checkpoint_reentrant), Flag{},
                   "recomputes whole layers, without the early stop before the last GEMM"),
      key.optional("finetune.cross_entropy", finetune(&FinetuneSettings::cross_entropy), cross_entropies,
                   "loss kernel: as the library runs it, torch.compile, one kernel, or fused with the head in chunks"),
      key.optional("finetune.elementwise", finetune(&FinetuneSettings::elementwise), elementwise_forms,
                   "norms, rotation and activation: op by op, torch.compile of layers, or fused kernels (Liger)"),
      key.optional("finetune.gradient_clipping", finetune(&FinetuneSettings::gradient_clipping), Flag{},
                   "scales gradients by their global norm before the optimizer, which waits for all of them"),
      key.optional("finetune.loss_read_back", finetune(&FinetuneSettings::loss_read_back), loss_read_backs,
                   "when the CPU waits for the loss: never, at the step's end, or after every micro-step"),
      key.optional("finetune.double_quantisation", finetune(&FinetuneSettings::double_quantisation), Flag{},
                   "QLoRA: quantise the scales too, 0.516 B instead of 0.5625 B a weight"),
      key.optional("finetune.lora.rank", finetune(&FinetuneSettings::lora, &LoraSettings::rank), Integer{1, 4096},
                   "rank of the adapters"),
      key.optional("finetune.lora.targets", finetune(&FinetuneSettings::lora, &LoraSettings::targets), adapter_targets,
                   "linear layers that get an adapter"),
      key.optional("finetune.lora.dropout", finetune(&FinetuneSettings::lora, &LoraSettings::dropout), Real{0, 0.99},
                   "dropout before the adapters; above 0 it costs a mask and a copy"),
      key.optional("finetune.lora.adapter_precision",
                   finetune(&FinetuneSettings::lora, &LoraSettings::adapter_precision), unscaled_precisions,
                   "of the adapters' weights and gradients; PEFT keeps fp32 on a 16-bit base"),
      key.optional("finetune.lora.autocast", finetune(&FinetuneSettings::lora, &LoraSettings::autocast), Flag{},
                   "fp32 adapters compute in the base's 16-bit format; false: in fp32"),
  };
}

Rows batch_rows() {
  return {
      key.optional("batch.sequence_length", batch(&BatchSettings::sequence_length), Integer{1, 16'777'216},
                   "tokens a sequence"),
      key.optional("batch.micro_batch", batch(&BatchSettings::micro_batch), Integer{1, 65'536},
                   "sequences a rank and micro-step"),
      key.optional("batch.gradient_accumulation", batch(&BatchSettings::gradient_accumulation), Integer{1, 65'536},
                   "micro-steps a step"),
      key.optional("batch.packing", batch(&BatchSettings::packing), Lengths{{1, 16'777'216}},
                   "lengths of the documents in a sequence, in order, repeated until it is full"),
  };
}

Rows parallel_rows() {
  const Amount<Bytes> bucket{Bytes(1), Bytes(1'000'000'000'000)};
  return {
      key.optional("parallel.strategy", parallel(&ParallelSettings::strategy), strategies,
                   "how ranks share the work; none = one card"),
      key.optional("parallel.sharding", parallel(&ParallelSettings::sharding), shardings,
                   "FSDP: shard everything, keep parameters after forward, shard within groups, both, or nothing"),
      key.optional("parallel.shard_group", parallel(&ParallelSettings::shard_group),
                   IntegerOrWord{{1, 1'000'000}, 0, "server"}, "hybrid: ranks that hold one copy; server = its cards"),
      key.optional("parallel.prefetch", parallel(&ParallelSettings::prefetch),
                   Optional<Integer>{{0, 1024}, "default"}, "units gathered ahead; default = the strategy's rules"),
      key.optional("parallel.bucket_size", parallel(&ParallelSettings::bucket_size), bucket,
                   "DDP: gradients of a bucket (bucket_cap_mb)"),
      key.optional("parallel.first_bucket_small", parallel(&ParallelSettings::first_bucket_small), Flag{},
                   "DDP: the first bucket is 1 MiB; false where the file sets bucket_size"),
      key.optional("parallel.gradient_as_bucket_view", parallel(&ParallelSettings::gradient_as_bucket_view), Flag{},
                   "DDP: gradients live in the buckets, no copies"),
      key.optional("parallel.reshard_after_forward", parallel(&ParallelSettings::reshard_after_forward), Flag{},
                   "FSDP2: free gathered parameters after forward; false where sharding is grad-op"),
      key.optional("parallel.sync_each_micro_step", parallel(&ParallelSettings::sync_each_micro_step), Flag{},
                   "reduce gradients in every micro-step; false = no_sync, where the file says nothing so for ddp"),
      key.optional("parallel.offload_optimizer", parallel(&ParallelSettings::offload_optimizer), offloads,
                   "ZeRO: optimizer states in host memory or on NVMe, updated by the CPU"),
      key.optional("parallel.offload_params", parallel(&ParallelSettings::offload_params), offloads,
                   "ZeRO-3 and FSDP: shards wait in host memory; with FSDP the CPU also runs the optimizer"),
  };
}

Rows strategy_rows() {
  const auto ddp = [](auto member) { return parallel(&ParallelSettings::ddp, member); };
  const auto fsdp1 = [](auto member) { return parallel(&ParallelSettings::fsdp1, member); };
  const auto fsdp2 = [](auto member) { return parallel(&ParallelSettings::fsdp2, member); };
  return {
      key.optional("parallel.ddp.find_unused_parameters", ddp(&DdpSettings::find_unused_parameters), Flag{},
                   "buckets in registration order for ever, and one more all-reduce"),
      key.optional("parallel.ddp.static_graph", ddp(&DdpSettings::static_graph), Flag{},
                   "the first step reduces after its backward"),
      key.optional("parallel.ddp.broadcast_buffers", ddp(&DdpSettings::broadcast_buffers), Flag{},
                   "rank 0's buffers go to all before a forward"),
      key.optional("parallel.ddp.comm_hook", ddp(&DdpSettings::comm_hook), comm_hooks,
                   "gradients are cast to it for the all-reduce"),
      key.optional("parallel.fsdp1.backward_prefetch", fsdp1(&Fsdp1Settings::backward_prefetch), backward_prefetches,
                   "the next unit is gathered before a unit's backward, after it, or when its own comes"),
      key.optional("parallel.fsdp1.forward_prefetch", fsdp1(&Fsdp1Settings::forward_prefetch), Flag{},
                   "issue the next unit's all-gather before a unit's forward"),
      key.optional("parallel.fsdp1.limit_all_gathers", fsdp1(&Fsdp1Settings::limit_all_gathers), Flag{},
                   "the CPU waits until earlier units are free"),
      key.optional("parallel.fsdp1.use_orig_params", fsdp1(&Fsdp1Settings::use_orig_params), Flag{},
                   "parameters keep their identity: aligned in the flat parameter, frozen beside trainable ones"),
      key.optional("parallel.fsdp1.wrap_policy", fsdp1(&Fsdp1Settings::wrap_policy), wrap_policies,
                   "units: decoder layers, or also each adapter matrix"),
      key.optional("parallel.fsdp2.reshard_group", fsdp2(&Fsdp2Settings::reshard_group),
                   IntegerOrWord{{1, 1'000'000}, 0, "all"},
                   "ranks that share the parameters between forward and backward (reshard_after_forward = k)"),
      key.optional("parallel.fsdp2.reshard_after_backward", fsdp2(&Fsdp2Settings::reshard_after_backward), Flag{},
                   "free parameters after the backward of micro-steps that reduce nothing"),
      key.optional("parallel.fsdp2.all_reduce_each_micro_step", fsdp2(&Fsdp2Settings::all_reduce_each_micro_step),
                   Flag{}, "hybrid: false = all-reduce over the replicas in the last micro-step only"),
      key.optional("parallel.fsdp2.wait_each_micro_step", fsdp2(&Fsdp2Settings::wait_each_micro_step), Flag{},
                   "false = compute waits for reductions after the last micro-step only (set_is_last_backward)"),
      key.optional("parallel.fsdp2.embedding_unit", fsdp2(&Fsdp2Settings::embedding_unit), Flag{},
                   "the embedding is a unit of its own, not a part of the root"),
      key.optional("parallel.fsdp2.unshard_in_backward", fsdp2(&Fsdp2Settings::unshard_in_backward), Flag{},
                   "false = the embedding's unit is not gathered for its backward, which needs no weights"),
  };
}

Rows zero_rows() {
  const auto zero = [](auto member) { return parallel(&ParallelSettings::zero, member); };
  const Integer elements{0, 1'000'000'000'000'000};
  return {
      key.optional("parallel.zero.reduce_bucket_size", zero(&ZeroSettings::reduce_bucket_size),
                   Integer{1, 1'000'000'000'000}, "elements of gradients that are reduced together"),
      key.optional("parallel.zero.overlap_comm", zero(&ZeroSettings::overlap_comm), Optional<Flag>{{}, "default"},
                   "reductions on a stream of their own; default = stage 3 only"),
      key.optional("parallel.zero.prefetch_bucket_size", zero(&ZeroSettings::prefetch_bucket_size), elements,
                   "stage 3: elements gathered ahead of a module; 0 = none"),
      key.optional("parallel.zero.param_persistence_threshold", zero(&ZeroSettings::param_persistence_threshold), elements,
                   "stage 3: parameters of at most so many elements stay gathered"),
      key.optional("parallel.zero.max_live_parameters", zero(&ZeroSettings::max_live_parameters), elements,
                   "stage 3: elements that prefetching may hold gathered"),
      key.optional("parallel.zero.max_reuse_distance", zero(&ZeroSettings::max_reuse_distance), elements,
                   "stage 3: parameters needed again within so many elements stay gathered"),
      key.optional("parallel.zero.sub_group_size", zero(&ZeroSettings::sub_group_size), Integer{1, 1'000'000'000'000'000},
                   "stage 3: elements that the optimizer updates at a time, which bounds its FP32 gradients"),
  };
}

Rows collective_rows() {
  const Optional<Amount<Duration>> latency{{Duration(0), seconds(1)}, "default"};
  return {
      key.optional("collectives.algorithm", collectives(&CollectiveSettings::algorithm), algorithms,
                   "auto = what NCCL would choose; hierarchical = inside NVLink islands, then between"),
      key.optional("collectives.fidelity", collectives(&CollectiveSettings::fidelity), fidelities,
                   "fluid rates, or every message"),
      key.optional("collectives.chunk", collectives(&CollectiveSettings::chunk), chunks,
                   "chunked: a ring step is one message, or NCCL's pipeline chunks"),
      key.optional("collectives.channels", collectives(&CollectiveSettings::channels),
                   Optional<Integer>{{1, 64}, "default"}, "thread blocks a collective uses; default = as NCCL chooses"),
      key.optional("collectives.base_latency", collectives(&CollectiveSettings::base_latency), latency,
                   "fixed time of a collective; default = by NCCL's protocol"),
      key.optional("collectives.hop_latency", collectives(&CollectiveSettings::hop_latency), latency,
                   "time of a step; default = by protocol and kind of link"),
  };
}

Rows assumption_rows() {
  const Amount<Duration> launch{Duration(0), seconds(1)};
  return {
      key.optional("assumptions.links", assumptions(&Assumptions::links), link_bases,
                   "measured rates, or those of sizing guides"),
      key.optional("assumptions.compute", assumptions(&Assumptions::compute), compute_bases,
                   "kernels as measured, at dense peak, or taking no time"),
      key.optional("assumptions.clocks", assumptions(&Assumptions::clocks), clock_kinds,
                   "matrix products at the clock of short benchmarks, or at the one that the card keeps up"),
      key.optional("assumptions.overlap", assumptions(&Assumptions::overlap), overlaps,
                   "as streams allow, no communication beside compute, or all of it hidden"),
      key.optional("assumptions.sm_contention", assumptions(&Assumptions::sm_contention), Flag{},
                   "collectives take SMs from kernels"),
      key.optional("assumptions.sm_slowdown", assumptions(&Assumptions::sm_slowdown), Real{1, 10},
                   "how much worse kernels get than the share of SMs they keep"),
      key.optional("assumptions.memory_contention", assumptions(&Assumptions::memory_contention), Flag{},
                   "collectives and copies take memory bandwidth from kernels"),
      key.optional("assumptions.hbm_traffic_factor", assumptions(&Assumptions::hbm_traffic_factor), Real{0, 16},
                   "bytes of card memory traffic for each byte a collective moves"),
      key.optional("assumptions.kernel_launch", assumptions(&Assumptions::kernel_launch), launch,
                   "host time to issue a kernel"),
      key.optional("assumptions.eager_op", assumptions(&Assumptions::eager_op), launch,
                   "host time of PyTorch for each kernel that it launches eagerly, besides the launch"),
      key.optional("assumptions.collective_launch", assumptions(&Assumptions::collective_launch), launch,
                   "host time to issue a collective"),
      key.optional("assumptions.fsdp1_hook", assumptions(&Assumptions::fsdp1_hook), launch,
                   "host time of FSDP1's hooks for a unit and direction"),
      key.optional("assumptions.fsdp2_hook", assumptions(&Assumptions::fsdp2_hook), launch,
                   "host time of FSDP2's hooks for a unit and direction"),
      key.optional("assumptions.ddp_hook", assumptions(&Assumptions::ddp_hook), launch,
                   "host time of DDP's hook for a gradient"),
      key.optional("assumptions.jitter", assumptions(&Assumptions::jitter), Real{0, 10},
                   "each rank's kernels are slower by a random part of this fraction"),
      key.optional("assumptions.seed", assumptions(&Assumptions::seed), Integer{0, 2'147'483'647},
                   "of the random numbers of jitter"),
      key.optional("assumptions.stragglers", assumptions(&Assumptions::stragglers),
                   RankFactors{{0, 1'000'000}, {1, 1000}}, "ranks whose kernels take longer, by factor: { 3 = 1.2 }"),
      key.optional("assumptions.cpu_adam_traffic", assumptions(&Assumptions::cpu_adam_traffic), Real{0, 1000},
                   "bytes of host memory traffic a parameter that the CPU's Adam updates"),
      key.optional("assumptions.torch_cpu_adam", assumptions(&Assumptions::torch_cpu_adam), Real{1, 100},
                   "how many times longer PyTorch's AdamW takes on the CPU than DeepSpeed's (FSDP)"),
      key.optional("assumptions.in_situ", assumptions(&Assumptions::in_situ), Flag{},
                   "kernels are slower within a step than alone, by the constants fitted to published steps"),
      key.optional("assumptions.nccl_limits", assumptions(&Assumptions::nccl_limits), Flag{},
                   "NCCL's own limits; false = links alone bound a collective"),
      key.optional("assumptions.kernel_by_kernel", assumptions(&Assumptions::kernel_by_kernel), Flag{},
                   "simulate each kernel instead of segments (slow, bounds the error of segments)"),
      key.optional("assumptions.iteration", assumptions(&Assumptions::iteration),
                   IntegerOrWord{{1, 1'000'000}, 0, "steady"}, "which step since the start of training is measured"),
  };
}

Rows cost_rows() {
  const Optional<Real> price{{0, 1e12}, "none"};
  return {
      key.optional("cost.card", cost(&CostSettings::card), price, "price of a card, in any currency"),
      key.optional("cost.server", cost(&CostSettings::server), price, "price of a server without its cards"),
      key.optional("cost.years", cost(&CostSettings::years), Optional<Real>{{0.1, 100}, "none"},
                   "years over which both are written off, in use all the time"),
      key.optional("cost.power_price", cost(&CostSettings::power_price), price,
                   "price of a kWh; cards are counted at their power limit"),
      key.optional("cost.server_power", cost(&CostSettings::server_power),
                   Optional<Amount<Power>>{{Power(0), Power(1e5)}, "none"}, "what a server draws beside its cards"),
  };
}

}  // namespace

const KeyTable<Scenario>& scenario_keys() {
  static const KeyTable<Scenario> table([] {
    Rows all;
    for (Rows rows : {what_and_where(), finetune_rows(), batch_rows(), parallel_rows(), strategy_rows(), zero_rows(),
                      collective_rows(), nccl_rows(), platform_rows(), assumption_rows(), cost_rows(),
                      Rows{sweep_key()}}) {
      for (Key<Scenario>& row : rows) all.push_back(std::move(row));
    }
    return all;
  }());
  return table;
}

namespace {

template <class T>
std::string word_in(const Choice<T>& choices, T value) {
  for (const auto& [text, chosen] : choices.choices) {
    if (chosen == value) return text;
  }
  unreachable("every choice has a word");
}

}  // namespace

std::string word(Method method) { return word_in(methods, method); }
std::string word(Optimizer optimizer) { return word_in(optimizers, optimizer); }
std::string word(OptimizerForm form) { return word_in(optimizer_forms, form); }
std::string word(Precision precision) { return word_in(precisions, precision); }
std::string word(Checkpointing checkpointing) { return word_in(checkpointings, checkpointing); }
std::string word(AttentionKernel attention) { return word_in(attention_kernels, attention); }
std::string word(CrossEntropy form) { return word_in(cross_entropies, form); }
std::string word(ElementwiseForm form) { return word_in(elementwise_forms, form); }
std::string word(Strategy strategy) { return word_in(strategies, strategy); }
std::string word(Sharding sharding) { return word_in(shardings, sharding); }
std::string word(BackwardPrefetch prefetch) { return word_in(backward_prefetches, prefetch); }
std::string word(WrapPolicy policy) { return word_in(wrap_policies, policy); }
std::string word(Offload place) { return word_in(offloads, place); }
std::string word(CommHook hook) { return word_in(comm_hooks, hook); }
std::string word(CollectiveAlgorithm algorithm) { return word_in(algorithms, algorithm); }
std::string word(Fidelity fidelity) { return word_in(fidelities, fidelity); }
std::string word(Chunk chunk) { return word_in(chunks, chunk); }
std::string word(LinkBasis basis) { return word_in(link_bases, basis); }
std::string word(ComputeBasis basis) { return word_in(compute_bases, basis); }
std::string word(Overlap overlap) { return word_in(overlaps, overlap); }

std::vector<KeyDescription> scenario_key_reference() { return scenario_keys().describe(); }

}  // namespace takt
