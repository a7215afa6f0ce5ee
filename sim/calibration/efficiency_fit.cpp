#include "calibration/efficiency_fit.hpp"

#include "base/quantile.hpp"
#include "workload/optimizer.hpp"
#include "workload/precision.hpp"
#include "workload/pricer.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace takt {
namespace {

constexpr double caches = 4.0;  ///< arrays of at least so many L2 caches stream from memory

std::optional<AttentionKernel> attention_form(std::string_view form) {
  if (form == "flash") return AttentionKernel::flash;
  if (form == "sdpa-mask") return AttentionKernel::sdpa_mask;
  if (form == "eager") return AttentionKernel::eager;
  return std::nullopt;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

Kernel attention_kernel(const KernelPricer& pricer, const Measurement& one, AttentionKernel form) {
  TransformerShape shape;
  shape.query_heads = one.shape[2];
  shape.kv_heads = one.shape[3];
  shape.head_dim = one.shape[4];
  const AttentionPass pass = one.what.ends_with("backward") ? AttentionPass::backward : AttentionPass::forward;
  return pricer.attention({one.shape[0], {one.shape[1]}}, shape, form, pass, one.precision);
}

std::optional<Kernel> optimizer_kernel(const KernelPricer& pricer, const Measurement& one) {
  if (first_word(one.what) != "adamw") return std::nullopt;
  const OptimizerForm form = one.what.ends_with("foreach") ? OptimizerForm::foreach_ : OptimizerForm::fused;
  const double traffic = optimizer_cost(Optimizer::adamw, form, MasterFormat::fp32).traffic;
  return pricer.memory("optimizer", Bytes(std::llround(traffic * one.bytes())), KernelKind::optimizer);
}

bool streams(const CardSpec& card, const Measurement& one) {
  return one.bytes() >= caches * static_cast<double>(card.l2_cache.count());
}

/// log(priced / measured) of each row.
std::vector<double> log_errors(const CardSpec& card, const std::vector<Measurement>& rows) {
  std::vector<double> errors;
  for (const Measurement& one : rows) {
    if (const std::optional<Kernel> kernel = priced_measurement(card, one))
      errors.push_back(std::log(to_seconds(kernel->time) / one.seconds));
  }
  return errors;
}

std::vector<double> relative_sizes(const std::vector<double>& logarithms) {
  std::vector<double> sizes;
  for (const double one : logarithms) sizes.push_back(std::abs(std::expm1(one)));
  return sizes;
}

/// Which rows a key rests on.
struct ShareKind {
  const char* key;
  double KernelEfficiency::*member;
  MeasuredKind kind;
  std::function<bool(const CardSpec& card, const Measurement& one)> wanted;
};

const std::vector<ShareKind>& share_kinds() {
  static const std::vector<ShareKind> all = {
      {"memory", &KernelEfficiency::memory, MeasuredKind::memory,
       [](const CardSpec& card, const Measurement& one) {
         return (one.what == "copy" || one.what == "triad") && streams(card, one);
       }},
      {"attention", &KernelEfficiency::attention, MeasuredKind::attention,
       [](const CardSpec&, const Measurement& one) { return one.what == "flash forward"; }},
      {"attention_backward", &KernelEfficiency::attention_backward, MeasuredKind::attention,
       [](const CardSpec&, const Measurement& one) { return one.what == "flash backward"; }},
      {"dequantise", &KernelEfficiency::dequantise, MeasuredKind::dequantise,
       [](const CardSpec&, const Measurement&) { return true; }}};
  return all;
}

std::optional<Diagnostic> impossible(const CardSpec& card, const ShareKind& kind, double share,
                                     const Measurement& first) {
  constexpr double least = 0.01, most = 1.0;  // what the key may have
  if (share >= least && share <= most) return std::nullopt;
  return Diagnostic{Severity::error, first.place,
                    fmt::format("efficiency.{} of {} would be {:.3g}: rows from here on are {} than its file allows",
                                kind.key, card.id, share, share > most ? "faster" : "slower"),
                    fmt::format("see [peak] and [memory] of {}, and the units of the rows", card.file)};
}

}  // namespace

std::optional<Kernel> priced_measurement(const CardSpec& card, const Measurement& one) {
  constexpr double nf4_double_quantised = 4.127 / 8.0;  // bytes a weight (semantics C20)
  const KernelPricer pricer(card, ComputeBasis::measured);
  switch (one.kind) {
    case MeasuredKind::memory:
    case MeasuredKind::elementwise:
      return pricer.memory("elementwise", Bytes(one.shape.back()));
    case MeasuredKind::attention:
      if (const auto form = attention_form(first_word(one.what))) return attention_kernel(pricer, one, *form);
      return std::nullopt;
    case MeasuredKind::optimizer:
      return optimizer_kernel(pricer, one);
    case MeasuredKind::dequantise:
      return pricer.dequantise(one.shape.back(), nf4_double_quantised);
    case MeasuredKind::gemm:
      return pricer.gemm("gemm", one.shape[0], one.shape[1], one.shape[2], one.precision);
    case MeasuredKind::sustained:
    case MeasuredKind::launch:
    case MeasuredKind::copy:
    case MeasuredKind::staged:
    case MeasuredKind::collective:
      break;
  }
  return std::nullopt;
}

Result<FittedEfficiency> fit_efficiency(const CardSpec& card, const std::vector<Measurement>& measured) {
  constexpr int rounds = 20;  // a row may change from one limit of its roofline to the other
  FittedEfficiency fitted{card, {}};
  Diagnostics errors;
  for (const ShareKind& kind : share_kinds()) {
    std::vector<Measurement> rows = of_kind(measured, kind.kind, card.id);
    std::erase_if(rows, [&](const Measurement& one) { return !kind.wanted(card, one); });
    if (rows.empty()) continue;
    double& share = fitted.card.efficiency.*kind.member;
    for (int round = 0; round < rounds; ++round) share *= std::exp(median(log_errors(fitted.card, rows)));
    if (std::optional<Diagnostic> wrong = impossible(card, kind, share, rows.front())) {
      errors.push_back(*std::move(wrong));
      continue;
    }
    const std::vector<double> sizes = relative_sizes(log_errors(fitted.card, rows));
    fitted.shares.push_back({kind.key, kind.member, share, rows.size(), median(sizes), quantile(sizes, 0.9)});
  }
  if (!errors.empty()) return errors;
  return fitted;
}

std::vector<KernelErrors> kernel_errors(const CardSpec& card, const std::vector<Measurement>& measured) {
  std::map<std::pair<MeasuredKind, std::string>, std::vector<Measurement>> groups;
  for (const Measurement& one : measured) {
    const bool is_kernel = one.kind != MeasuredKind::gemm && one.kind < MeasuredKind::sustained;
    if (is_kernel && one.card == card.id) groups[{one.kind, one.what}].push_back(one);
  }
  std::vector<KernelErrors> all;
  for (auto& [key, rows] : groups) {
    KernelErrors errors{fmt::format("{} {}", name_of(key.first), key.second), rows.size(), 0.0, 0.0, true};
    std::vector<double> logarithms = log_errors(card, rows);
    if (logarithms.empty() && key.first == MeasuredKind::attention) {
      errors.priced = false;
      for (Measurement& one : rows) one.what = one.what.ends_with("backward") ? "flash backward" : "flash forward";
      logarithms = log_errors(card, rows);
    }
    if (logarithms.empty()) continue;
    errors.median = median(relative_sizes(logarithms));
    errors.signed_median = std::expm1(median(logarithms));
    all.push_back(std::move(errors));
  }
  return all;
}

std::optional<double> sustained_share(const std::vector<Measurement>& measured, const std::string& card) {
  std::vector<double> shares;
  for (const Measurement& lasting : of_kind(measured, MeasuredKind::sustained, card)) {
    for (const Measurement& brief : of_kind(measured, MeasuredKind::gemm, card)) {
      if (brief.shape == lasting.shape && brief.precision == lasting.precision)
        shares.push_back(brief.seconds / lasting.seconds);
    }
  }
  if (shares.empty()) return std::nullopt;
  return std::min(1.0, median(std::move(shares)));
}

LaunchCosts launch_costs(const std::vector<Measurement>& measured) {
  LaunchCosts costs;
  const auto median_us = [&measured](const char* what) {
    std::vector<double> times;
    for (const Measurement& one : measured) {
      if (one.kind == MeasuredKind::launch && one.what == what) times.push_back(one.seconds * 1e6);
    }
    return times.empty() ? 0.0 : median(std::move(times));
  };
  costs.kernel_us = median_us("kernel");
  const double eager = median_us("eager");
  if (eager > 0.0 && costs.kernel_us > 0.0) costs.eager_us = std::max(0.0, eager - costs.kernel_us);
  costs.collective_us = median_us("collective");
  return costs;
}

}  // namespace takt
