#include "report/kernel_table.hpp"

#include "base/csv.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

std::string word_of(GemmLimit limit) {
  switch (limit) {
    case GemmLimit::compute:
      return "compute";
    case GemmLimit::memory:
      return "memory";
    case GemmLimit::launch:
      return "launch";
  }
  unreachable("a limit");
}

struct Rates {
  double seconds = 0.0, flops = 0.0, bytes = 0.0;  // a second
  double of_peak = 0.0, of_bandwidth = 0.0;
};

Rates rates_of(const PricedKernel& priced, const CardSpec& card) {
  Rates rates;
  rates.seconds = to_seconds(priced.kernel.time);
  rates.flops = priced.kernel.flops.count() / rates.seconds;
  rates.bytes = static_cast<double>(priced.kernel.memory.count()) / rates.seconds;
  rates.of_peak = rates.flops / card.dense_peak.at(priced.precision).count();
  rates.of_bandwidth = rates.bytes / card.memory_bandwidth.count();
  return rates;
}

std::string percent(const KernelInterval& interval) {
  return "+-" + format_number(interval.relative * 100.0, 2) + " %";
}

/// "+-8 %: copies on other machines ...", once each.
std::vector<std::string> what_intervals_rest_on(const std::vector<PricedKernel>& kernels) {
  std::vector<std::string> lines;
  for (const PricedKernel& priced : kernels) {
    std::string line = percent(priced.interval) + ": " + priced.interval.rests_on;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

PricedKernel priced_gemm(const KernelPricer& pricer, const GemmShape& shape) {
  PricedKernel result;
  result.kernel = pricer.gemm("gemm", shape.m, shape.n, shape.k, shape.precision);
  result.precision = shape.precision;
  const GemmCalibration* calibration = gemm_calibration(pricer.card(), shape.precision);
  const KernelInterval interval = gemm_interval(pricer.card(), shape.precision, to_seconds(result.kernel.time));
  if (calibration == nullptr) return priced_by_roofline(pricer, result.kernel, shape.precision, interval);
  const GemmEstimate estimate = estimate_gemm(pricer.card(), *calibration, shape);
  result.limit = word_of(estimate.limit);
  result.interval = interval;
  return result;
}

PricedKernel priced_by_roofline(const KernelPricer& pricer, const Kernel& kernel, Precision precision,
                                KernelInterval interval) {
  const CardSpec& card = pricer.card();
  const double memory_seconds =
      static_cast<double>(kernel.memory.count()) / (card.efficiency.memory * card.memory_bandwidth.count());
  constexpr double slack = 1.0 + 1e-9;
  const bool by_memory = kernel.flops.count() == 0.0 || memory_seconds * slack >= to_seconds(kernel.time);
  return {.what = "",
          .kernel = kernel,
          .precision = precision,
          .limit = by_memory ? "memory" : "compute",
          .interval = std::move(interval)};
}

std::string kernel_table(const std::vector<PricedKernel>& kernels, const KernelPricer& pricer) {
  Table table({{"kernel"},
               {"time", Align::right},
               {"TFLOP/s", Align::right},
               {"of peak", Align::right},
               {"GB/s", Align::right},
               {"of bandwidth", Align::right},
               {"limit"},
               {"90 % within", Align::right}});
  constexpr double tera = 1e12, giga = 1e9;
  for (const PricedKernel& priced : kernels) {
    const Rates rates = rates_of(priced, pricer.card());
    const bool computes = rates.flops > 0.0;
    table.row({priced.what, format_time(priced.kernel.time), computes ? format_number(rates.flops / tera) : "-",
               computes ? format_share(rates.of_peak) : "-", format_number(rates.bytes / giga),
               format_share(rates.of_bandwidth), priced.limit, percent(priced.interval)});
  }
  std::string text = pricer.card().name + ": " + pricer.provenance() + "\n\n" + table.text() + '\n';
  for (const std::string& line : what_intervals_rest_on(kernels)) text += wrap(line, screen_width);
  return text;
}

std::string kernel_csv(const std::vector<PricedKernel>& kernels, const KernelPricer& pricer) {
  std::string text =
      "kernel,card,precision,time_s,flops_per_s,bytes_per_s,of_peak,of_bandwidth,limit,interval,interval_rests_on\n";
  for (const PricedKernel& priced : kernels) {
    const Rates rates = rates_of(priced, pricer.card());
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", priced.what, pricer.card().id,
                        name_of(priced.precision), rates.seconds, rates.flops, rates.bytes, rates.of_peak,
                        rates.of_bandwidth, priced.limit, priced.interval.relative, csv_cell(priced.interval.rests_on));
  }
  return text;
}

}  // namespace takt
