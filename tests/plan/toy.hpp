// Small workloads of round numbers, and views of programs, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "plan/step.hpp"

namespace takt::toy {

inline Duration ms(std::int64_t milliseconds) { return std::chrono::milliseconds(milliseconds); }
inline Duration us(std::int64_t microseconds) { return std::chrono::microseconds(microseconds); }

inline Kernel kernel(const char* name, Duration time, Bytes memory = {}) {
  return {KernelKind::gemm, time, memory, Flops{}, name};
}

/// A card that moves 1 byte a nanosecond: copies of 1 GB take 1 s.
inline CardSpec card() {
  CardSpec spec;
  spec.memory_bandwidth = Bandwidth(1e9);
  spec.efficiency.memory = 1.0;
  spec.sm_count = 100;
  return spec;
}

inline KernelPricer pricer() { return KernelPricer(card(), ComputeBasis::measured); }

/// 16-bit parameters, gradients of the same format. `used`: place in the block's forward.
inline Parameter parameter(std::string name, std::int64_t rows, std::int64_t columns = 1, std::uint32_t used = 0) {
  Parameter p;
  p.used = used;
  p.name = std::move(name);
  p.rows = rows;
  p.columns = columns;
  return p;
}

inline BlockKind block(std::string name, std::vector<Parameter> parameters) {
  BlockKind kind;
  kind.name = std::move(name);
  kind.parameters = std::move(parameters);
  kind.forward = {kernel("forward kernel", ms(10))};
  kind.backward = {kernel("backward kernel", ms(20))};
  return kind;
}

/// Embedding, `layers` decoder layers, head; everything trains.
inline Workload transformer(std::size_t layers) {
  Workload workload;
  workload.kinds = {block("embedding", {parameter("embed", 64, 16)}), block("layer", {parameter("q.w", 16, 16)}),
                    block("head", {parameter("norm", 16), parameter("lm_head", 64, 16)})};
  workload.kinds[0].inputs_need_gradient = false;
  workload.blocks.assign(layers + 2, 1);
  workload.blocks.front() = 0;
  workload.blocks.back() = 2;
  workload.reduce_bytes = 2.0;
  return workload;
}

/// Decoder layers alone.
inline Workload layers_only(std::size_t layers) {
  Workload workload = transformer(layers);
  workload.blocks.assign(layers, 1);
  return workload;
}

inline const std::string& label(const Program& program, const Op& op) { return program.labels[op.label]; }

/// Positions of the ops with a label.
inline std::vector<std::size_t> find(const Program& program, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (label(program, program.ops[i]) == text) found.push_back(i);
  }
  return found;
}

inline bool waits_for(const Op& op, std::size_t other) {
  for (const OpId wait : op.waits) {
    if (index(wait) == other) return true;
  }
  return false;
}

}  // namespace takt::toy
