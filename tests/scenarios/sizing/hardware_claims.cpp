// Cards, kernels, slices, host and power.
#include "catch.hpp"
#include "config/card_state.hpp"
#include "metrics/sizing/server_needs.hpp"
#include "scenarios/sizing/claims.hpp"
#include "workload/pricer.hpp"

namespace takt::test {
namespace {

const std::string nvl = "h200-nvl", workstation = "rtx-pro-6000-workstation", server = "rtx-pro-6000-server",
                  max_q = "rtx-pro-6000-max-q";

double tflops(const std::string& card, Precision precision) {
  return card_file(card).dense_peak.at(precision).count() / 1e12;
}

double bandwidth(const std::string& card) {
  return card_file(card).memory_bandwidth.count();
}

/// Operations a byte of memory traffic of a 16-bit product of m x k by k x n, as the kernel model counts them.
double intensity(std::int64_t m, std::int64_t n, std::int64_t k) {
  const KernelPricer pricer(card_file(nvl), ComputeBasis::peak);
  const Kernel kernel = pricer.gemm("product", m, n, k, Precision::bf16);
  return kernel.flops.count() / static_cast<double>(kernel.memory.count());
}

void add_cards(Claims& claims) {
  using enum Precision;
  const auto ratio = [](const std::string& a, const std::string& b, Precision p) {
    return tflops(a, p) / tflops(b, p);
  };
  claims["C01"] = [] { return tflops(nvl, bf16); };
  claims["C02"] = [] { return tflops(nvl, fp8); };
  claims["C03"] = [] { return tflops(workstation, bf16); };
  claims["C04"] = [] { return tflops(workstation, fp8); };
  claims["C05"] = [] { return tflops(max_q, bf16); };
  claims["C06"] = [=] { return 100.0 * ratio(max_q, workstation, bf16); };
  claims["C07"] = [] { return tflops(workstation, tf32); };
  claims["C08"] = [] { return tflops(server, tf32); };
  claims["C10"] = [] { return tflops(workstation, fp32); };
  claims["C11"] = [=] { return ratio(nvl, workstation, bf16); };
  claims["C12"] = [=] { return ratio(nvl, workstation, fp8); };
  claims["C13"] = [=] { return ratio(nvl, max_q, bf16); };
  claims["C14"] = [] { return bandwidth(nvl) / bandwidth(workstation); };
  claims["C15"] = [] { return bandwidth(nvl) / bandwidth(server); };
  claims["C16"] = [] { return tflops(nvl, bf16) * 1e12 / bandwidth(nvl); };
  claims["C17"] = [] { return tflops(workstation, bf16) * 1e12 / bandwidth(workstation); };
  claims["C18"] = [] { return intensity(2048, 14336, 4096); };
  claims["C19"] = [] { return intensity(2048, 16, 4096); };
  claims["C20"] = [] { return intensity(512, 1024, 4096); };
  claims["C21"] = [] { return intensity(1, 1024, 4096); };
  claims["C22"] = [=] { return ratio("rtx-pro-5000-72", workstation, nvfp4); };  // AI TOPS are FP4 rates
  claims["C23"] = [] { return tflops("rtx-pro-5000-72", fp32); };
  claims["C24"] = [] { return tflops("rtx-pro-5000-72", bf16); };
}

double instances(const std::string& card, const std::string& profile) {
  for (const MigProfile& mig : card_file(card).mig_profiles) {
    if (mig.name == profile) return static_cast<double>(mig.instances);
  }
  return 0.0;
}

void add_states_of_cards(Claims& claims) {
  claims["G01"] = [] { return instances(server, "1g.24gb"); };
  claims["G03"] = [] { return instances("rtx-pro-5000-72", "1g.36gb"); };
  // prompts are bound by compute, generation by memory
  claims["W04"] = [] {
    return limited(card_file(workstation), Power(300)).dense_peak.at(Precision::bf16).count() /
           card_file(workstation).dense_peak.at(Precision::bf16).count();
  };
  claims["W05"] = [] {
    return limited(card_file(workstation), Power(300)).memory_bandwidth.count() / bandwidth(workstation);
  };
}

void add_servers(Claims& claims) {
  const auto twice = [](const std::string& card, std::int64_t cards) {
    return host_memory_rule(card_file(card), cards, 2);
  };
  const auto populated = [=](const std::string& card, std::int64_t cards) {
    return in_gb(populated_memory(twice(card, cards), two_socket_modules));
  };
  const auto power = [](std::int64_t cards) {
    return server_power(card_file(nvl).tdp, cards, reference_cpu(cards).power).count() / 1e3;
  };
  claims["L03"] = [=] { return in_gb(twice(nvl, 8)); };
  claims["L04"] = [=] { return populated(nvl, 8); };
  claims["L05"] = [=] { return populated(server, 4); };
  claims["L05b"] = [=] { return populated(server, 2); };
  claims["L06"] = [] { return static_cast<double>(host_cores(8)); };
  claims["E01"] = [] { return usable_power(feeds[0]).count() / 1e3; };
  claims["E02"] = [] { return usable_power(feeds[1]).count() / 1e3; };
  claims["E03"] = [] { return usable_power(feeds[2]).count() / 1e3; };
  claims["E04"] = [=] { return power(2); };
  claims["E05"] = [=] { return power(4); };
  claims["E06"] = [=] { return power(8); };
}

}  // namespace

Claims hardware_claims() {
  Claims claims;
  add_cards(claims);
  add_states_of_cards(claims);
  add_servers(claims);
  return claims;
}

}  // namespace takt::test
