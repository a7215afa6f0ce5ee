// Results written by hand: what a metrics floor could have said about two machines.
#pragma once

#include "metrics/step_metrics.hpp"

namespace takt::hand_made {

/// Four cards on a bridge: 131,072 tokens in 20 s, limited by compute.
inline RunResult bridge() {
  using std::chrono::milliseconds;
  RunResult run;
  run.scenario.name = "bridge";
  run.scenario.file = "scenarios/bridge.toml";
  run.scenario.title = "70B LoRA on 4x H200 NVL";
  run.scenario.hash = 0xabcdef;
  run.scenario.finetune.method = Method::lora;
  run.scenario.finetune.activation_checkpointing = Checkpointing::full;
  run.scenario.batch.gradient_accumulation = 8;
  run.scenario.parallel.strategy = Strategy::fsdp2;
  run.topology_title = "4x H200 NVL, one 4-way bridge";
  run.model_name = "Llama 3.3 70B";
  run.card_name = "NVIDIA H200 NVL";
  run.compute_provenance = "roofline with one efficiency a kind of kernel";
  run.link_provenance = "measured";
  run.checkpoint_bytes = Bytes(828'375'040);

  StepMetrics& metrics = run.metrics;
  metrics.step_time = milliseconds(20'000);
  metrics.ranks = 4;
  metrics.tokens_per_step = 131'072;
  metrics.tokens_per_second = 6553.6;
  metrics.tokens_per_second_per_card = 1638.4;
  metrics.mfu = 0.5;
  metrics.hfu = 0.75;
  metrics.breakdown = {milliseconds(18'000), milliseconds(1'000), milliseconds(900), milliseconds(100)};
  metrics.communication.busy = milliseconds(10'000);
  metrics.communication.hidden = milliseconds(9'000);
  metrics.communication.overlap_ratio = 0.9;
  metrics.communication.received_per_card = Bytes(212'000'000'000);
  metrics.communication.sent_per_card = Bytes(212'000'000'000);
  metrics.communication.longest = "all-gather: ring over 4 cards, 24 CTAs; alone limited by gpu0 -> gpu1";
  metrics.communication.exposed_by_kind = {{"all-gather", milliseconds(600)}, {"reduce-scatter", milliseconds(400)}};
  metrics.links = {{"gpu0 -> gpu1", "gpu0", "gpu1", ResourceKind::link, Bandwidth(150e9), Bytes(70'000'000'000),
                    milliseconds(9'500), 0.25, 1.0}};
  MemoryMetrics& memory = metrics.memory;
  memory.capacity = Bytes(150'754'820'096);
  memory.nominal = Bytes(141'000'000'000);
  memory.peak = Bytes(60'000'000'000);
  memory.states = Bytes(36'000'000'000);
  memory.components = {{"activations", Bytes(24'000'000'000)}, {"weights", Bytes(36'000'000'000)}};
  memory.peak_op = "backward, unit 79";
  metrics.blame = {{"compute", milliseconds(18'000), 0.9}, {"gpu0 -> gpu1", milliseconds(2'000), 0.1}};
  PowerMetrics power;
  power.limit = Power(600.0);
  power.idle = Power(69.0);
  power.idle_is_published = true;
  power.watts_per_card = {350.0, 590.0};
  power.joules_per_step = {28'000.0, 47'200.0};
  power.joules_per_token = {0.2136, 0.3601};
  run.power = power;
  return run;
}

/// Eight cards on PCIe: 262,144 tokens in 64 s, limited by an uplink.
inline RunResult pcie() {
  using std::chrono::milliseconds;
  RunResult run = bridge();
  run.scenario.name = "pcie";
  run.scenario.file = "scenarios/pcie.toml";
  run.scenario.title = "70B LoRA on 8x RTX PRO 6000 Server";
  run.topology_title = "8x RTX PRO 6000 Server behind four PCIe switches on two sockets";
  run.card_name = "NVIDIA RTX PRO 6000 Server";
  StepMetrics& metrics = run.metrics;
  metrics.step_time = milliseconds(64'000);
  metrics.ranks = 8;
  metrics.tokens_per_step = 262'144;
  metrics.tokens_per_second = 4096.0;
  metrics.tokens_per_second_per_card = 512.0;
  metrics.mfu = 0.28;
  metrics.hfu = 0.37;
  metrics.breakdown = {milliseconds(32'000), milliseconds(31'000), milliseconds(900), milliseconds(100)};
  metrics.communication.busy = milliseconds(60'000);
  metrics.communication.hidden = milliseconds(29'000);
  metrics.communication.overlap_ratio = 29.0 / 60.0;
  metrics.links[0] = {
      "sw1 -> cpu0",        "sw1", "cpu0", ResourceKind::link, Bandwidth(56.3e9), Bytes(1'600'000'000'000),
      milliseconds(60'000), 0.444, 0.9};
  metrics.memory.capacity = Bytes(102'640'000'000);
  metrics.memory.nominal = Bytes(96'000'000'000);
  metrics.blame = {{"sw1 -> cpu0", milliseconds(40'000), 0.625}, {"compute", milliseconds(24'000), 0.375}};
  return run;
}

}  // namespace takt::hand_made
