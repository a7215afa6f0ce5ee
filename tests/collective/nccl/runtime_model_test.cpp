// The runtime model: hand-solved cases.
#include "collective/nccl/runtime_model.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace takt;

TEST_CASE("A CTA that runs its steps one after another", "[nccl]") {
  // All-gather of 1 GiB (10^9 bytes for round numbers) over n cards on PCIe generation 5, P2P, c CTAs of 27 GB/s.
  //   links: V (h + 0.4) / B with B = 0.78 x 63 = 49.14;  CTAs: V (h + 1) / 27 c;  V = 10^9 / n
  RuntimeQuery query{.call = {CollectiveKind::all_gather, Bytes(1'000'000'000)},
                     .ctas = 4,
                     .ranks = 2,
                     .hops = {.p2p = 2},
                     .edge_rate = 49.14,
                     .compute_capability = 120};
  SECTION("two cards, one CTA: it binds. 4.2 + 8 + 2.7 + 5e8 x 2 / 27e3 = 37051.9 us") {
    query.ctas = 1;
    const RuntimeEstimate estimate = estimate_runtime(query);
    CHECK(estimate.limit == RuntimeLimit::ctas);
    CHECK(estimate.time_us() == Approx(4.2 + 8 + 2.7 + 5e8 * 2 / 27e3));
  }
  SECTION("two cards, four CTAs: links bind. 4.2 + 8 + 2.7 + 5e8 x 1.4 / 49.14e3 = 14259.9 us") {
    const RuntimeEstimate estimate = estimate_runtime(query);
    CHECK(estimate.limit == RuntimeLimit::links);
    CHECK(estimate.time_us() == Approx(4.2 + 8 + 2.7 + 5e8 * 1.4 / 49.14e3));
  }
  SECTION("eight cards: 4.2 + 8 + 7 x 2.7 + 1.25e8 x 7.4 / 49.14e3") {
    query.ranks = 8;
    query.hops = {.p2p = 8};
    const RuntimeEstimate estimate = estimate_runtime(query);
    CHECK(estimate.limit == RuntimeLimit::links);
    CHECK(estimate.time_us() == Approx(4.2 + 8 + 18.9 + 1.25e8 * 7.4 / 49.14e3));
  }
  SECTION("eight cards staged by the host with 2 CTAs of 13: 4.2 + 8 + 7 x 2.7 + 1.25e8 x 8 / 26e3") {
    query.ranks = 8;
    query.ctas = 2;
    query.hops = {.shm = 8};
    query.edge_rate = 37.8;
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 8 + 18.9 + 1.25e8 * 8 / 26e3));
  }
  SECTION("one hop of SHM among seven of P2P: its CTA rate counts, LL's step times by share") {
    query.ranks = 8;
    query.hops = {.p2p = 7, .shm = 1};
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 8 + 7 * 2.7 + 1.25e8 * 8 / (4 * 13.0e3)));
    query.protocol = NcclProtocol::ll;
    CHECK(estimate_runtime(query).steps_us == Approx(7 * (7 * 1.2 + 1.3) / 8));
  }
}

TEST_CASE("Rings on NVLink, low-latency protocols, trees and switches", "[nccl]") {
  RuntimeQuery query{.call = {CollectiveKind::all_reduce, Bytes(1 << 20)},
                     .ctas = 24,
                     .ranks = 8,
                     .hops = {.nvlink = 8},
                     .edge_rate = 370.8,
                     .compute_capability = 90};
  const double share = (1 << 20) / 8.0;
  SECTION("Simple: the ring's overlap loss of 0.4 steps") {
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 10.7 + 14 * 2.8 + share * 14.4 / 370.8e3));
  }
  SECTION("LL: 14 x 0.84 + V x max(16.8 / (24 x 12.6), 28 / 370.8)") {
    query.protocol = NcclProtocol::ll;
    CHECK(estimate_runtime(query).time_us() ==
          Approx(4.2 + 14 * 0.84 + share * std::max(16.8 / (24 * 12.6), 28 / 370.8) / 1e3));
  }
  SECTION("tree in LL: up and down the chain of eight") {
    query.algorithm = NcclAlgorithm::tree;
    query.protocol = NcclProtocol::ll;
    query.edge_rate = 370.8 / 2;
    CHECK(estimate_runtime(query).time_us() ==
          Approx(4.2 + 2 * 7 * 0.84 + (1 << 20) * std::max(2 / (24 * 12.6), 2 / 185.4) / 1e3));
  }
  SECTION("NVLS: each card's links carry the buffer and an eighth") {
    query.algorithm = NcclAlgorithm::nvls;
    query.ctas = 16;
    query.call.bytes = Bytes(1 << 30);
    const double fill = 1.6 * (1 << 20) / 33e3;
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 24 + fill + (1 << 30) * 1.125 / (0.82 * 370.8e3)));
  }
  SECTION("two nodes: two crossings each way round") {
    query.ranks = 16;
    query.nodes = 2;
    query.ctas = 16;
    query.hops = {.nvlink = 14, .net = 2};
    query.edge_rate = 364.0;
    CHECK(estimate_runtime(query).fixed_us() == Approx(4.2 + 10.7 + 28 * 2.8 + 2 * 17.0));
  }
}
