// How far the fluid form of a collective is from message by message, on every topology: one call alone, and two calls
// of half the cards each at once. Prints a table; errors are fluid over chunked less one.
#include "collective/lowering.hpp"
#include "config/library.hpp"
#include "engine/plans.hpp"
#include "engine/simulate.hpp"
#include "named_topology.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <span>

namespace {

using namespace takt;
using namespace takt::test;

/// Time until all calls are done that start at once.
double together_us(std::span<const LoweredCollective> calls, const Topology& topology) {
  Plan plan;
  ResourceTable resources = topology.resources();
  for (const LoweredCollective& call : calls) {
    Script script;
    script.call(script.stream("comm"), script.comm({CollectiveCall{}}), 0);
    add_communicator(plan, {add_rank(plan, resources, script, 1e12)}, {call});
  }
  return to_seconds(simulate(plan, resources)->end) * 1e6;
}

LoweredCollective lowered(const CollectiveCall& call, std::span<const VertexId> members, const Topology& topology,
                          Fidelity fidelity, Chunk chunk) {
  CollectiveOptions options;
  options.settings.fidelity = fidelity;
  options.settings.chunk = chunk;
  return lower_collective(call, members, topology, options).value();
}

struct Errors {
  double step = 0.0, chunks = 0.0;
};

/// The call over each of `groups` at once.
Errors errors_of(const CollectiveCall& call, const std::vector<std::vector<VertexId>>& groups,
                 const Topology& topology) {
  const auto time = [&](Fidelity fidelity, Chunk chunk) {
    std::vector<LoweredCollective> calls;
    for (const auto& group : groups) calls.push_back(lowered(call, group, topology, fidelity, chunk));
    return together_us(calls, topology);
  };
  const double fluid = time(Fidelity::fluid, Chunk::step);
  return {fluid / time(Fidelity::chunked, Chunk::step) - 1.0, fluid / time(Fidelity::chunked, Chunk::nccl) - 1.0};
}

void report(const Topology& topology, const CollectiveCall& call, const char* name) {
  std::vector<VertexId> all;
  for (const CardInstance& card : topology.cards()) all.push_back(card.vertex);
  const Errors alone = errors_of(call, {all}, topology);
  std::string text = fmt::format("{:44} {:14} {:>6} MiB  alone {:+6.2f} % {:+6.2f} %", topology.id(), name,
                                 call.bytes.count() >> 20, 100 * alone.step, 100 * alone.chunks);
  if (all.size() >= 4) {
    std::vector<std::vector<VertexId>> halves(2);
    for (std::size_t i = 0; i < all.size(); ++i) halves[i % 2].push_back(all[i]);
    const Errors shared = errors_of(call, halves, topology);
    text += fmt::format("  two halves at once {:+6.2f} % {:+6.2f} %", 100 * shared.step, 100 * shared.chunks);
  }
  std::puts(text.c_str());
}

}  // namespace

int main() {
  std::puts("fluid against chunked by step, and by NCCL's pipeline chunks");
  Library library(search_path(nullptr));
  constexpr std::size_t most_cards = 64;  // messages of a ring grow with the square of its cards
  for (const std::string& name : library.topology_names()) {
    const Result<Topology> topology = named_topology(name, {}, {}, library);
    if (!topology || topology->cards().size() < 2 || topology->cards().size() > most_cards) continue;
    for (const std::int64_t mebibytes : {16, 256}) {
      const Bytes size(mebibytes << 20);
      report(*topology, {CollectiveKind::all_gather, size}, "all-gather");
      report(*topology, {CollectiveKind::all_reduce, size}, "all-reduce");
    }
  }
}
