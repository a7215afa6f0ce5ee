#include "calibration/collective_fit.hpp"

#include "base/quantile.hpp"
#include "calibration/minimise.hpp"
#include "collective/lowering.hpp"
#include "collective/solo.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

struct Row {
  CollectiveShape shape;
  double measured_us = 0.0;

  double log_error(double rate, double latency) const {
    CollectiveShape here = shape;
    here.query.rate = rate;
    here.query.latency = latency;
    return std::log(solo_time(here).time_us() / measured_us);
  }
};

Result<CollectiveKind> kind_of(const Measurement& one) {
  if (one.what == "all_gather") return CollectiveKind::all_gather;
  if (one.what == "reduce_scatter") return CollectiveKind::reduce_scatter;
  if (one.what == "all_reduce") return CollectiveKind::all_reduce;
  return Diagnostic{Severity::error, one.place, fmt::format("no collective is called \"{}\"", one.what),
                    "all_gather, reduce_scatter or all_reduce"};
}

/// A row as NCCL would run it here.
Result<Row> row_of(const Measurement& one, const Topology& topology, CollectiveLowering& lowering) {
  const Result<CollectiveKind> kind = kind_of(one);
  if (!kind) return kind.diagnostics();
  const auto ranks = static_cast<std::size_t>(one.shape[0]);
  if (ranks < 2 || ranks > topology.cards().size()) {
    return Diagnostic{Severity::error, one.place,
                      fmt::format("a collective over {} cards of {}", ranks, topology.id()),
                      fmt::format("it has {}", topology.cards().size())};
  }
  std::vector<VertexId> members;
  for (std::size_t card = 0; card < ranks; ++card) members.push_back(topology.cards()[card].vertex);
  Result<CollectiveShape> shape = lowering.shape({*kind, Bytes(one.shape[1])}, members);
  if (!shape) return shape.diagnostics();
  return Row{*std::move(shape), one.seconds * 1e6};
}

std::vector<double> sizes(const std::vector<Row>& rows, double rate, double latency) {
  std::vector<double> errors;
  for (const Row& row : rows) errors.push_back(std::abs(std::expm1(row.log_error(rate, latency))));
  return errors;
}

/// What the keys may have.
double as_rate(double logarithm) {
  return std::clamp(std::exp(logarithm), 0.1, 3.0);
}
double as_latency(double logarithm) {
  return std::clamp(std::exp(logarithm), 0.1, 10.0);
}

double loss(const std::vector<Row>& rows, const std::vector<double>& x) {
  constexpr double corner = 0.02, hold = 1e-3;
  double sum = 0.0;
  for (const Row& row : rows) {
    const double error = row.log_error(as_rate(x[0]), as_latency(x[1]));
    sum += std::sqrt(error * error + corner * corner) - corner;
  }
  return sum / static_cast<double>(rows.size()) + hold * (x[0] * x[0] + x[1] * x[1]);
}

/// Four digits, as they are written.
double rounded(double value) {
  constexpr double digits = 1e4;
  return std::round(value * digits) / digits;
}

}  // namespace

Result<FittedCollectives> fit_collectives(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                                          const std::vector<Measurement>& measured) {
  constexpr int rounds = 120;
  const Result<Topology> topology = build_topology(server, cards, LinkBasis::measured);
  if (!topology) return topology.diagnostics();
  CollectiveLowering lowering(*topology, {});
  std::vector<Row> rows;
  Diagnostics errors;
  for (const Measurement& one : measured) {
    if (one.kind != MeasuredKind::collective) continue;
    Result<Row> row = row_of(one, *topology, lowering);
    if (row)
      rows.push_back(*std::move(row));
    else
      errors.insert(errors.end(), row.diagnostics().begin(), row.diagnostics().end());
  }
  if (!errors.empty()) return errors;
  FittedCollectives fitted;
  if (rows.empty()) return fitted;
  const auto badness = [&rows](const std::vector<double>& x) { return loss(rows, x); };
  const std::vector<double> at = minimise(badness, {0.05, 0.05}, {-0.2, 0.3}, rounds).at;
  fitted.rate = rounded(as_rate(at[0]));
  fitted.latency = rounded(as_latency(at[1]));
  fitted.rows = rows.size();
  fitted.before = median(sizes(rows, server.nccl.rate, server.nccl.latency));
  const std::vector<double> after = sizes(rows, fitted.rate, fitted.latency);
  fitted.median = median(after);
  fitted.worst = quantile(after, 1.0);
  return fitted;
}

}  // namespace takt
