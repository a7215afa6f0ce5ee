// What a scenario file says, with every default filled in. A Scenario that exists can run, as far as one file can
// tell; what needs the topology or the model (card numbers, group sizes, fit) is checked when those are known.
//
// The one table of scenario keys (scenario_keys.cpp) describes each field: type, unit, default, range and meaning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "config/hardware_change.hpp"
#include "config/nccl_settings.hpp"
#include "config/platform_settings.hpp"
#include "config/source.hpp"

namespace takt {

enum class Method { full, lora, qlora };
enum class Optimizer { adamw, adamw_8bit, paged_adamw_8bit, sgd };
enum class OptimizerForm { fused, foreach_ };                            ///< semantics O1 / O2
enum class Precision { bf16, fp16, fp32, tf32, fp8, nvfp4, mxfp8 };
enum class Checkpointing { none, selective, full };
enum class AttentionKernel { flash, flash_triton, sdpa_mask, eager };  ///< workload/pricer.hpp
enum class CrossEntropy { eager, compiled, fused, fused_linear };  ///< ditto; how the loss is computed
enum class ElementwiseForm { eager, compiled, fused };      ///< ditto; norms, rotation, activation
enum class LossReadBack { none, step, micro_step };         ///< when the CPU waits for the loss (H7)
enum class Strategy { none, ddp, fsdp1, fsdp2, zero1, zero2, zero3 };
enum class Sharding { full, grad_op, hybrid, hybrid_grad_op, no_shard };  ///< semantics F15, F28
enum class BackwardPrefetch { pre, post, none };                        ///< semantics F22 to F24
enum class WrapPolicy { layer, peft };                                  ///< semantics F1, F43
enum class Offload { none, cpu, nvme };                                 ///< semantics F60, S18, Z14
enum class CommHook { none, bf16, fp16 };                               ///< semantics D16
enum class CollectiveAlgorithm { automatic, ring, tree, nvls, hierarchical };
enum class Fidelity { fluid, chunked };
enum class Chunk { step, nccl };
enum class LinkBasis { measured, nominal };
enum class ComputeBasis { measured, peak, free };

/// At which clock matrix products run: that of a short benchmark, or what a card keeps up for half a minute.
enum class Clocks { burst, sustained };
enum class Overlap { streams, none, perfect };

/// [finetune.lora]
struct LoraSettings {
  std::int64_t rank = 16;
  std::vector<std::string> targets = {"q", "k", "v", "o", "gate", "up", "down"};  ///< "all-linear" expands to these
  double dropout = 0.0;
  Precision adapter_precision = Precision::fp32;  ///< PEFT keeps adapters in fp32 on a 16-bit base (semantics D8)
  bool autocast = true;                           ///< fp32 adapters compute in the base's 16-bit format (semantics C22)

  bool operator==(const LoraSettings&) const = default;
};

/// [finetune]
struct FinetuneSettings {
  Method method = Method::full;
  LoraSettings lora;
  Optimizer optimizer = Optimizer::adamw;
  OptimizerForm optimizer_form = OptimizerForm::fused;
  Precision precision = Precision::bf16;
  Precision master_precision = Precision::fp32;  ///< of weights, gradients and moments that the optimizer works on
  bool fp32_residual = false;  ///< autocast over FP32 weights: residual stream and norms in FP32, linears cast inputs
  std::optional<Precision> reduce_precision;  ///< FSDP's reduce_dtype (semantics F4, S12); unset: reduce_precision()
  Checkpointing activation_checkpointing = Checkpointing::none;
  std::int64_t checkpoint_every = 1;  ///< every how-manieth layer is checkpointed (semantics C18)
  bool checkpoint_reentrant = false;  ///< no early stop of recomputation (semantics C8)
  AttentionKernel attention = AttentionKernel::flash;
  CrossEntropy cross_entropy = CrossEntropy::eager;
  ElementwiseForm elementwise = ElementwiseForm::eager;
  bool gradient_clipping = true;  ///< to a global norm, as Hugging Face's Trainer does (semantics H6)
  LossReadBack loss_read_back = LossReadBack::micro_step;  ///< Hugging Face's Trainer tests every loss for NaN (H7)
  bool double_quantisation = true;  ///< QLoRA: 0.516 B per linear weight, else 0.5625 (semantics C20)

  bool operator==(const FinetuneSettings&) const = default;
};

/// [batch]
struct BatchSettings {
  std::int64_t sequence_length = 4096;     ///< tokens a sequence
  std::int64_t micro_batch = 1;            ///< sequences a rank and micro-step
  std::int64_t gradient_accumulation = 1;  ///< micro-steps a step
  std::vector<std::int64_t> packing = {};  ///< lengths of the documents in a sequence, repeated; empty = one (C3)

  bool operator==(const BatchSettings&) const = default;
};

/// [parallel.ddp]
struct DdpSettings {
  bool find_unused_parameters = false;            ///< semantics D3, D11
  bool static_graph = false;                      ///< semantics D12
  bool broadcast_buffers = true;                  ///< semantics D14
  CommHook comm_hook = CommHook::none;

  bool operator==(const DdpSettings&) const = default;
};

/// [parallel.fsdp1]
struct Fsdp1Settings {
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  bool forward_prefetch = false;                  ///< semantics F14
  bool limit_all_gathers = true;                  ///< semantics F12
  bool use_orig_params = true;                    ///< semantics F2, F3, F42
  WrapPolicy wrap_policy = WrapPolicy::layer;

  bool operator==(const Fsdp1Settings&) const = default;
};

/// [parallel.fsdp2]
struct Fsdp2Settings {
  std::int64_t reshard_group = 0;                 ///< reshard_after_forward = k (semantics S8); 0: the whole shard group
  bool reshard_after_backward = true;             ///< in micro-steps that reduce nothing (semantics S15)
  bool all_reduce_each_micro_step = true;         ///< hybrid: false = set_requires_all_reduce (semantics S13)
  bool wait_each_micro_step = true;               ///< false = set_is_last_backward (semantics S15)
  bool embedding_unit = false;                    ///< fully_shard on the embedding too, as torchtitan has it
  bool unshard_in_backward = true;                ///< of the embedding's unit (semantics S16)

  bool operator==(const Fsdp2Settings&) const = default;
};

/// [parallel.zero]: DeepSpeed's zero_optimization under its names; sizes are elements (semantics Z1)
struct ZeroSettings {
  std::int64_t reduce_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;               ///< unset: stage 3 only
  std::int64_t prefetch_bucket_size = 50'000'000;
  std::int64_t param_persistence_threshold = 100'000;
  std::int64_t max_live_parameters = 1'000'000'000;
  std::int64_t max_reuse_distance = 1'000'000'000;
  std::int64_t sub_group_size = 1'000'000'000;

  bool operator==(const ZeroSettings&) const = default;
};

/// [parallel]
struct ParallelSettings {
  Strategy strategy = Strategy::none;
  Sharding sharding = Sharding::full;
  std::int64_t shard_group = 0;                   ///< ranks a shard group under hybrid; resolved to cards a server when 0
  std::optional<std::int64_t> prefetch;           ///< units gathered ahead; unset: the rules of the strategy
  Bytes bucket_size{26214400};                    ///< DDP bucket_cap_mb (semantics D4)
  bool first_bucket_small = true;                 ///< DDP: the first bucket is 1 MiB unless bucket_cap_mb is given
  bool gradient_as_bucket_view = false;           ///< DDP (semantics D9)
  bool reshard_after_forward = true;              ///< FSDP2 (semantics S8)
  /// Gradients are reduced in every micro-step; false = no_sync (semantics D13, F30, S15). Resolved to false for DDP,
  /// as Hugging Face's Trainer runs it, and to true for the others.
  bool sync_each_micro_step = true;
  DdpSettings ddp;
  Fsdp1Settings fsdp1;
  Fsdp2Settings fsdp2;
  ZeroSettings zero;
  Offload offload_optimizer = Offload::none;      ///< where optimizer states are kept and updated
  Offload offload_params = Offload::none;         ///< where sharded parameters wait to be gathered

  bool operator==(const ParallelSettings&) const = default;
};

/// [collectives]
struct CollectiveSettings {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  Fidelity fidelity = Fidelity::fluid;
  Chunk chunk = Chunk::step;
  std::optional<std::int64_t> channels;           ///< CTAs a collective uses; unset: from the topology
  std::optional<Duration> base_latency;           ///< fixed time of a collective; unset: from the topology's constants
  std::optional<Duration> hop_latency;            ///< added to each hop's link latency; unset: ditto

  bool operator==(const CollectiveSettings&) const = default;
};

/// [assumptions]: what research questions vary; the defaults are the measured behaviour.
struct Assumptions {
  LinkBasis links = LinkBasis::measured;
  ComputeBasis compute = ComputeBasis::measured;
  Clocks clocks = Clocks::burst;  ///< sustained: products at least as slow as the card's `sustained` says
  Overlap overlap = Overlap::streams;
  bool sm_contention = true;  ///< collectives hold SMs (semantics H4)
  /// How much worse GEMMs get than the share of SMs they keep, (N - k) / N, while collectives hold more than 8 SMs: the
  /// geometric mean of cuBLAS under 16, 20 and 32 resident CTAs on H200 NVL and under 24 on H100 (validation/overlap).
  double sm_slowdown = 1.34;
  bool memory_contention = true;              ///< collectives and copies use card memory bandwidth
  double hbm_traffic_factor = 2.0;            ///< bytes of card memory traffic a byte that a collective moves
  Duration kernel_launch{4'000'000};          ///< host time to issue a kernel: 4 us (semantics H1)
  Duration eager_op{8'000'000};               ///< host time of PyTorch to dispatch an eager op: 8 us (semantics H1)
  Duration collective_launch{25'000'000};     ///< host time to issue a collective: 25 us (semantics H1)
  Duration fsdp1_hook{200'000'000};           ///< host time of FSDP1's hooks a unit and direction: 200 us (H1)
  Duration fsdp2_hook{100'000'000};           ///< host time of FSDP2's hooks a unit and direction: 100 us (H1)
  Duration ddp_hook{3'000'000};               ///< host time of DDP's hook a gradient: 3 us (semantics H1)
  double jitter = 0.0;                        ///< each rank is slower by a random part of this fraction
  std::int64_t seed = 1;                      ///< of what is random
  std::map<std::int64_t, double> stragglers;  ///< slowdown of ranks: {3, 1.2} makes kernels of rank 3 take 1.2 times
  /// Bytes of host memory traffic a parameter in DeepSpeed's CPU Adam: reads p, g, m, v and writes p, m, v in FP32 (Z14).
  double cpu_adam_traffic = 28.0;
  double torch_cpu_adam = 5.0;                ///< how many times longer PyTorch's AdamW takes on the CPU (O5: 3 to 7)
  bool in_situ = true;                        ///< kernels are slower within a step than alone, as published steps say
  bool nccl_limits = true;                    ///< CTA caps and lambda of the network study; false: links alone
  bool kernel_by_kernel = false;              ///< no segments: every kernel an op (bounds the error of segments)
  std::int64_t iteration = 0;                 ///< which step since the start is measured, from 1; 0: a steady one

  bool operator==(const Assumptions&) const = default;
};

/// [cost]: amounts of any one currency. Without a price there is no cost.
struct CostSettings {
  std::optional<double> card;           ///< price of a card
  std::optional<double> server;         ///< price of a server without its cards
  std::optional<double> years;          ///< over which both are written off, in use all the time
  std::optional<double> power_price;    ///< of a kWh
  std::optional<Power> server_power;    ///< what a server draws beside its cards

  bool operator==(const CostSettings&) const = default;
};

/// A scenario file.
struct Scenario {
  std::string file;            ///< as the user named it
  std::string name;            ///< the file's stem
  std::string title;
  std::string topology;        ///< hardware.topology
  std::vector<std::int64_t> cards;  ///< hardware.cards: card numbers in rank order; empty = all
  PlatformSettings platform;
  std::string mig;             ///< hardware.mig: the run has one MIG slice of a card; empty = whole cards
  std::optional<Power> power_limit;  ///< hardware.power_limit of each card; unset: its TDP
  std::string model;           ///< model.name
  FinetuneSettings finetune;
  BatchSettings batch;
  ParallelSettings parallel;
  CollectiveSettings collectives;
  NcclEnvironment nccl;
  Assumptions assumptions;
  CostSettings cost;
  HardwareChanges hardware_changes;
  SourcePlaces places;         ///< where each key was set
  std::uint64_t hash = 0;      ///< of all resolved keys, stable over versions
};

}  // namespace takt
