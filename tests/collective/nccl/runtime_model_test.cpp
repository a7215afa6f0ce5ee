// The runtime model: hand-solved cases, then the measured rows.
#include "collective/nccl/runtime_model.hpp"

#include "cases.hpp"
#include "catch.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

using namespace takt;
using namespace takt::test;

namespace {

/// What a machine of the rows offers. Links in GB/s of one direction: NVLinks of a card, or the PCIe slot.
struct Machine {
  std::int64_t capability;
  double links;
  double harness_us = 0.0;  ///< what the benchmark program itself adds; no part of a collective
  std::int64_t nodes = 1;
  NcclFabric fabric = NcclFabric::rdma;
  double network = 0.0;  ///< GB/s of a node's NICs, nominal
};

constexpr double h100 = 18 * 20.6, h200_nv6 = 6 * 20.6, a100 = 12 * 20.0, b200 = 18 * 40.1;
constexpr double gen5 = 63.0, gen4 = 31.5, gen3 = 15.75;

const std::map<std::string, Machine>& machines() {
  static const std::map<std::string, Machine> known{
      {"aic_h200", {90, h100}},
      {"aic_h100", {90, h100}},
      {"aic_a100", {80, a100}},
      {"h100_h100sxm_", {90, h100}},
      {"h100_aws_p5_b", {90, h100}},
      {"h200_gcp", {90, h100}},
      {"h200_128M", {90, h100}},
      {"h100_oci", {90, h100}},
      {"h100_smc", {90, h100}},
      {"h200_stas", {90, h100, 25.0}},
      {"b200_stas", {100, b200, 25.0}},
      {"b200_smc", {100, b200}},
      {"a100_stas", {80, a100, 25.0}},
      {"a100_vtrain", {80, a100, 19.5}},
      {"a100_superbench", {80, a100, 21.0}},
      {"a100pcie_pair", {80, a100}},
      {"h200nvl_nv6", {90, h200_nv6}},
      {"2080ti_bridge", {75, 2 * 20.6}},
      {"aic_rtxpro", {120, gen5}},
      {"aic_l40s", {89, gen4}},
      {"rtxpro_groupA", {120, gen5}},
      {"rtxpro_cpayne", {120, gen5, 19.5}},
      {"rtxpro_asus", {120, gen5}},
      {"rtxpro_turin", {120, gen5}},
      {"rtxpro_purple", {120, gen5}},
      {"4090_p2p", {89, gen4}},
      {"4090_tiny", {89, gen4}},
      {"h100nvl_pcie", {90, gen5}},
      {"5090_nop2p", {120, gen5}},
      {"2080ti_nop2p", {75, gen3 / 2}},  // both cards on one uplink
      {"aws_p5_2n", {90, h100, 0.0, 2, NcclFabric::efa, 400.0}},
      {"h200_stas_4n", {90, h100, 25.0, 4, NcclFabric::efa, 400.0}},
      {"h100_2n_b", {90, h100, 0.0, 2, NcclFabric::rdma, 400.0}},
      {"h100_4n_vm", {90, h100, 0.0, 4, NcclFabric::rdma, 400.0}},
      {"h200_gke", {90, h100, 0.0, 2, NcclFabric::cloud_roce, 400.0}},
      {"h200_dell", {90, h100, 0.0, 2, NcclFabric::rdma, 400.0}},
      {"a3mega", {90, h100, 0.0, 2, NcclFabric::tcpx, 200.0}},
      {"a100_oke", {80, a100, 0.0, 2, NcclFabric::rdma, 200.0}},
      {"a100_oci", {80, a100, 0.0, 2, NcclFabric::rdma, 200.0}},
      {"gb300_2n", {100, b200, 0.0, 2, NcclFabric::rdma, 400.0}},
      // The NIC rate of these is their own plateau.
      {"3090_2n", {86, gen4, 0.0, 2, NcclFabric::rdma, 10.8}},
      {"3090_2n256", {86, gen4, 0.0, 2, NcclFabric::rdma, 9.0}},
      {"3090_3n256", {86, gen4, 0.0, 3, NcclFabric::rdma, 9.0}},
      {"l40s_2n", {89, gen4, 0.0, 2, NcclFabric::rdma, 8.9}},
      {"rtxpro_efa", {120, gen5, 0.0, 2, NcclFabric::efa, 12.5}},
      {"h100_2n1", {90, gen5, 0.0, 2, NcclFabric::rdma, 200.0}},
  };
  return known;
}

CollectiveKind kind_of(const std::string& op) {
  if (op == "all_gather") return CollectiveKind::all_gather;
  return op == "reduce_scatter" ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
}

struct MeasuredRow {
  std::string table, op, family, hop, machine;
  RuntimeQuery query;
  double measured_us = 0.0;
};

RuntimeQuery query_of(const Row& row, const Machine& machine) {
  RuntimeQuery query;
  query.call = {kind_of(row[1]), Bytes(std::stoll(row[7]))};
  query.algorithm = algorithm_named(row[8]);
  query.protocol = protocol_named(row[9]);
  query.ctas = std::stoll(row[10]);
  query.ranks = std::stoll(row[2]);
  query.nodes = machine.nodes;
  query.compute_capability = machine.capability;
  query.fabric = machine.fabric;
  const HopKind kind = row[4] == "NVL" ? HopKind::nvlink : row[4] == "SHM" ? HopKind::shm : HopKind::p2p;
  const std::int64_t inside = query.ranks - (machine.nodes > 1 ? machine.nodes : 0);
  (kind == HopKind::nvlink ? query.hops.nvlink : kind == HopKind::shm ? query.hops.shm : query.hops.p2p) = inside;
  query.edge_rate = machine.links * hop_constants(kind).usable;
  // An inner card of a tree sends up and down over the same NVLinks.
  if (query.algorithm == NcclAlgorithm::tree && kind == HopKind::nvlink) query.edge_rate /= 2;
  if (machine.nodes > 1) {
    query.hops.net = machine.nodes;
    query.node_network_rate = machine.network * fabric_constants(machine.fabric).usable;
    if (query.algorithm == NcclAlgorithm::ring) query.edge_rate = std::min(query.edge_rate, query.node_network_rate);
  }
  return query;
}

std::vector<MeasuredRow> measured_rows() {
  std::vector<MeasuredRow> rows;
  std::ifstream file(takt::test::source_dir() + "/tests/collective/nccl/fixtures/measured_rows.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    Row row;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (row.size() < 12 || row[6] != "1" || !machines().contains(row[5])) continue;
    const Machine& machine = machines().at(row[5]);
    rows.push_back({row[0] + " " + row[1] + " " + row[2], row[1], row[3], row[4], row[5], query_of(row, machine),
                    std::stod(row[11]) - machine.harness_us});
  }
  return rows;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values.at(middle) : (values.at(middle - 1) + values.at(middle)) / 2;
}

double ninetieth(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() * 9 / 10);
}

/// Errors in percent, the median of each table.
std::vector<double> table_medians(const std::vector<MeasuredRow>& rows, const std::string& family,
                                  std::int64_t least_bytes) {
  std::map<std::string, std::vector<double>> tables;
  for (const MeasuredRow& row : rows) {
    if (row.query.call.bytes.count() < least_bytes || (!family.empty() && row.family != family)) continue;
    const double harness = machines().at(row.machine).harness_us;
    const double predicted = estimate_runtime(row.query).time_us() + harness;
    tables[row.table].push_back(100.0 * std::abs(predicted / (row.measured_us + harness) - 1.0));
  }
  std::vector<double> medians;
  for (const auto& [table, errors] : tables) medians.push_back(median(errors));
  return medians;
}

}  // namespace

TEST_CASE("A CTA that runs its steps one after another", "[nccl]") {
  // All-gather of 1 GiB (10^9 bytes for round numbers) over n cards on PCIe generation 5, P2P, 4 CTAs of 16.6 GB/s.
  //   links: V h / B with B = 0.76 x 63 = 47.88;  CTAs: V (h + 1) / (4 x 16.6 = 66.4);  V = 10^9 / n
  RuntimeQuery query{.call = {CollectiveKind::all_gather, Bytes(1'000'000'000)},
                     .ctas = 4,
                     .ranks = 2,
                     .hops = {.p2p = 2},
                     .edge_rate = 47.88,
                     .compute_capability = 120};
  SECTION("two cards: CTAs bind. 4.2 + 8 + 3.5 + 5e8 x 2 / 66.4e3 = 15075.96 us") {
    const RuntimeEstimate estimate = estimate_runtime(query);
    CHECK(estimate.limit == RuntimeLimit::ctas);
    CHECK(estimate.time_us() == Approx(4.2 + 8 + 3.5 + 5e8 * 2 / 66.4e3));
  }
  SECTION("eight cards: links bind. 4.2 + 8 + 7 x 3.5 + 1.25e8 x 7 / 47.88e3") {
    query.ranks = 8;
    query.hops = {.p2p = 8};
    const RuntimeEstimate estimate = estimate_runtime(query);
    CHECK(estimate.limit == RuntimeLimit::links);
    CHECK(estimate.time_us() == Approx(4.2 + 8 + 24.5 + 1.25e8 * 7 / 47.88e3));
  }
  SECTION("eight cards staged by the host with 2 CTAs of 13: 4.2 + 8 + 7 x 2.6 + 1.25e8 x 8 / 26e3") {
    query.ranks = 8;
    query.ctas = 2;
    query.hops = {.shm = 8};
    query.edge_rate = 37.8;
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 8 + 18.2 + 1.25e8 * 8 / 26e3));
  }
  SECTION("one hop of SHM among seven of P2P: its CTA rate counts, its step time by share") {
    query.ranks = 8;
    query.hops = {.p2p = 7, .shm = 1};
    const double step = (7 * 3.5 + 2.6) / 8;
    CHECK(estimate_runtime(query).time_us() == Approx(4.2 + 8 + 7 * step + 1.25e8 * 8 / (4 * 13.0e3)));
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
    query.edge_rate = query.node_network_rate = 364.0;
    CHECK(estimate_runtime(query).fixed_us == Approx(4.2 + 10.7 + 28 * 2.8 + 2 * 17.0));
  }
}

TEST_CASE("The measured rows", "[nccl]") {
  // The study beside the design reaches, fitted to these rows, 5.3 % over tables (90th percentile 12) and 4.1 (11) for
  // 1 MiB and more; with its constants rounded by hand 4.9 and 4.5.
  const std::vector<MeasuredRow> rows = measured_rows();
  REQUIRE(rows.size() > 1200);
  const std::int64_t mebibyte = 1 << 20;
  std::string report;
  for (const char* family : {"NVSwitch", "NVLink bridge", "PCIe direct/SYS P2P", "host staged", "PCIe switch",
                             "multi EFA", "multi IB/RoCE", "multi TCP"}) {
    const auto all = table_medians(rows, family, 0), big = table_medians(rows, family, mebibyte);
    report += std::string(family) + ": " + std::to_string(median(all)) + " %";
    if (!big.empty()) report += ", 1 MiB and more " + std::to_string(median(big)) + " %";
    report += "\n";
  }
  const auto all = table_medians(rows, "", 0), big = table_medians(rows, "", mebibyte);
  report += "all: " + std::to_string(median(all)) + " % (" + std::to_string(ninetieth(all)) + "), 1 MiB and more " +
            std::to_string(median(big)) + " % (" + std::to_string(ninetieth(big)) + ")\n";
  INFO(report);
  CHECK(median(all) < 5.5);
  CHECK(ninetieth(all) < 17.0);
  CHECK(median(big) < 5.0);
  CHECK(ninetieth(big) < 17.0);
}
