// How long it takes to build and to look at large machines.
#include "support/hardware.hpp"
#include "topology/bisection.hpp"

#include <benchmark/benchmark.h>

using namespace takt;

namespace {

struct Parts {
  ClusterSpec cluster;
  ServerSpec server;
  std::map<std::string, CardSpec> cards;
};

/// 128 servers of eight cards.
Parts thousand_cards() {
  Parts parts;
  parts.cluster = read_cluster(test::text_of("topologies/clusters/128x-8x-rtx-pro-6000-400g.toml")).value();
  const auto types = read_link_types(test::text_of("topologies/links.toml")).value();
  parts.server = read_server(test::text_of("topologies/servers/" + parts.cluster.server + ".toml"), types).value();
  for (const DeviceSpec& device : parts.server.devices) {
    if (device.kind == DeviceKind::card) parts.cards.emplace(device.card, test::card(device.card));
  }
  return parts;
}

void build_1024_cards(benchmark::State& state) {
  const Parts parts = thousand_cards();
  for (auto _ : state) {
    benchmark::DoNotOptimize(build_topology(parts.cluster, parts.server, parts.cards, LinkBasis::measured).value());
  }
}

/// The route of every card to the next one, as a ring asks for them.
void build_and_route_1024_cards(benchmark::State& state) {
  const Parts parts = thousand_cards();
  for (auto _ : state) {
    const Topology topology = build_topology(parts.cluster, parts.server, parts.cards, LinkBasis::measured).value();
    const std::vector<CardInstance>& cards = topology.cards();
    for (std::size_t card = 0; card < cards.size(); ++card) {
      benchmark::DoNotOptimize(topology.card_route(cards[card].vertex, cards[(card + 1) % cards.size()].vertex));
    }
  }
}

void bisection_of(benchmark::State& state, const char* server) {
  const Topology topology = test::server(server, LinkBasis::measured);
  for (auto _ : state) benchmark::DoNotOptimize(bisection(topology));
}

}  // namespace

BENCHMARK(build_1024_cards)->Unit(benchmark::kMillisecond);
BENCHMARK(build_and_route_1024_cards)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bisection_of, eight_cards, "8x-rtx-pro-6000-server-4-switches")->Unit(benchmark::kMillisecond);
