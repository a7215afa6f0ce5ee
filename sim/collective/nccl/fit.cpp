#include "collective/nccl/fit.hpp"

#include <algorithm>
#include <cmath>

namespace takt {
namespace {

constexpr double wild_row = 0.02;
constexpr double prior_weight = 0.0002;

/// One value that some constants share.
struct Parameter {
  std::vector<double*> constants;
  double prior;

  void set(double value) const {
    for (double* constant : constants) *constant = value;
  }
  double value() const { return *constants.front(); }
};

class Parameters {
 public:
  explicit Parameters(RuntimeConstants& constants) : c_(constants) {
    for (const HopKind kind : {HopKind::nvlink, HopKind::p2p, HopKind::shm}) add_hop(hop(kind));
    add({&hop(HopKind::nvlink).simple_per_cta, &hop(HopKind::p2p).simple_per_cta});
    add({&hop(HopKind::shm).simple_per_cta});
    add({&hop(HopKind::nvlink).ll128_us, &hop(HopKind::p2p).ll128_us, &hop(HopKind::shm).ll128_us});
    add({&hop(HopKind::nvlink).ll128_per_cta, &hop(HopKind::p2p).ll128_per_cta, &hop(HopKind::shm).ll128_per_cta,
         &hop(HopKind::net).ll128_per_cta});
    add({&hop(HopKind::p2p).simple_start_us, &hop(HopKind::shm).simple_start_us});
    add({&hop(HopKind::p2p).simple_us, &hop(HopKind::shm).simple_us});
    add({&hop(HopKind::nvlink).ring_overlap_loss, &hop(HopKind::p2p).ring_overlap_loss});
    add_hosts();
    for (FabricConstants& fabric : c_.fabrics) {
      add({&fabric.ll_us});
      add({&fabric.simple_us});
      add({&fabric.usable});
    }
    add({&c_.nvls_start_us});
    add({&c_.nvls_tree_start_us});
    add({&c_.nvls_fill_per_cta});
    add({&c_.low_latency_extra_steps});
  }

  const std::vector<Parameter>& all() const { return list_; }

 private:
  HopConstants& hop(HopKind kind) { return c_.hops[static_cast<std::size_t>(kind)]; }
  HostConstants& host(HostFamily family) { return c_.hosts[static_cast<std::size_t>(family)]; }

  void add(std::vector<double*> constants) {
    const double prior = *constants.front();
    list_.push_back({std::move(constants), prior});
  }

  void add_hop(HopConstants& hop) {
    add({&hop.usable});
    add({&hop.ll_us});
    add({&hop.ll_per_cta});
  }

  /// Ada, Hopper and Blackwell hosts are as fast as each other; older ones have their own values.
  void add_hosts() {
    HostConstants& turing = host(HostFamily::turing);
    HostConstants& ampere = host(HostFamily::ampere);
    HostConstants& ada = host(HostFamily::ada);
    HostConstants& hopper = host(HostFamily::hopper);
    HostConstants& blackwell = host(HostFamily::blackwell);
    add({&ada.base_us, &hopper.base_us, &blackwell.base_us});
    add({&ampere.base_us});
    add({&turing.base_us});
    add({&ada.nvlink_simple_start_us, &hopper.nvlink_simple_start_us, &blackwell.nvlink_simple_start_us,
         &turing.nvlink_simple_start_us});
    add({&ampere.nvlink_simple_start_us});
    add({&ada.nvlink_simple_us, &hopper.nvlink_simple_us, &blackwell.nvlink_simple_us, &turing.nvlink_simple_us});
    add({&ampere.nvlink_simple_us});
    add({&hopper.nvls_efficiency});
    add({&blackwell.nvls_efficiency});
  }

  RuntimeConstants& c_;
  std::vector<Parameter> list_;
};

double loss_of(std::span<const FitRow> rows, const RuntimeConstants& constants, const Parameters& parameters) {
  std::size_t tables = 0;
  for (const FitRow& row : rows) tables = std::max(tables, row.table + 1);
  std::vector<double> sums(tables, 0.0), counts(tables, 0.0);
  for (const FitRow& row : rows) {
    const double error = std::log(row.predicted_us(constants) / row.measured_us);
    sums[row.table] += std::sqrt(error * error + wild_row * wild_row);
    counts[row.table] += 1.0;
  }
  double loss = 0.0, used = 0.0;
  for (std::size_t table = 0; table < tables; ++table) {
    if (counts[table] == 0.0) continue;
    loss += sums[table] / counts[table];
    used += 1.0;
  }
  loss /= std::max(1.0, used);
  for (const Parameter& parameter : parameters.all()) {
    const double distance = std::log(parameter.value() / parameter.prior);
    loss += prior_weight * distance * distance;
  }
  return loss;
}

}  // namespace

RuntimeConstants generic_constants() {
  // Hops and bases of NCCL's tuner (N42): LL 6.6 and 0.6 or 1.0 us, Simple 1.8 us more and 3.4 or 5.7 a step, network
  // 2.7 and 14. Capacities as NCCL counts them (N1, N2, N43): 48 of 63 GB/s, NVLS 0.85 and 0.74. Half of a link where
  // data crosses host memory; 20 GB/s a CTA in Simple, 16 in LL128, 8 in LL. A CTA that stores to another card in
  // Simple is not slower than the 36.7 GB/s that NCCL gives a channel in LL128 (N42, Hopper).
  RuntimeConstants c{};
  const auto hop = [](double usable, double ll_us, double simple_us, double ll128_us) {
    return HopConstants{.usable = usable,
                        .ll_us = ll_us,
                        .ll128_us = ll128_us,
                        .simple_start_us = 1.8,
                        .simple_us = simple_us,
                        .ll_per_cta = 8.0,
                        .ll128_per_cta = 16.0,
                        .simple_per_cta = 20.0,
                        .ring_overlap_loss = 0.0};
  };
  c.hops = {hop(1.0, 0.6, 3.4, 1.9), hop(0.76, 1.0, 5.7, 2.5), hop(0.5, 1.0, 5.7, 2.5), hop(1.0, 2.7, 14.0, 4.0)};
  for (const HopKind kind : {HopKind::nvlink, HopKind::p2p}) {
    HopConstants& stores = c.hops[static_cast<std::size_t>(kind)];
    stores.simple_per_cta = 36.7;
    stores.ring_overlap_loss = 0.2;  // a parameter that is a logarithm must not start at 0
  }
  for (HostConstants& host : c.hosts) host = {6.6, 1.8, 3.4, 0.0};
  c.hosts[static_cast<std::size_t>(HostFamily::hopper)].nvls_efficiency = 0.85;
  c.hosts[static_cast<std::size_t>(HostFamily::blackwell)].nvls_efficiency = 0.74;
  for (FabricConstants& fabric : c.fabrics) fabric = {2.7, 14.0, 0.95};
  c.nvls_start_us = 25.0;
  c.nvls_tree_start_us = 25.0;
  c.nvls_fill_per_cta = 20.0;
  c.low_latency_extra_steps = 2.0;
  return c;
}

RuntimeConstants fit_constants(std::span<const FitRow> rows) {
  RuntimeConstants constants = generic_constants();
  const Parameters parameters(constants);
  double best = loss_of(rows, constants, parameters);
  constexpr double first_step = 0.4, last_step = 0.012;
  constexpr int rounds_a_step = 3;
  for (double step = first_step; step > last_step; step /= 2) {
    for (int round = 0; round < rounds_a_step; ++round) {
      bool moved = false;
      for (const Parameter& parameter : parameters.all()) {
        const double before = parameter.value();
        for (const double factor : {std::exp(step), std::exp(-step)}) {
          parameter.set(before * factor);
          const double loss = loss_of(rows, constants, parameters);
          if (loss < best) {
            best = loss;
            moved = true;
            break;
          }
          parameter.set(before);
        }
      }
      if (!moved) break;
    }
  }
  return constants;
}

}  // namespace takt
