// Fitting constants: from times that known constants make, the fit finds constants that make the same times.
#include "collective/nccl/fit.hpp"

#include "catch.hpp"
#include "collective/nccl/runtime_model.hpp"

#include <algorithm>
#include <cmath>

using namespace takt;

namespace {

/// All-gathers of several sizes over `ranks` cards, LL below 64 KiB, Simple above.
std::vector<FitRow> rows_of(std::size_t table, std::int64_t ranks, RingHops hops, double raw_rate) {
  std::vector<FitRow> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 16) {
    RuntimeQuery query;
    query.call = {CollectiveKind::all_gather, Bytes(bytes)};
    query.protocol = bytes < 65536 ? NcclProtocol::ll : NcclProtocol::simple;
    query.ctas = 4;
    query.ranks = ranks;
    query.hops = hops;
    const HopKind kind = hops.nvlink > 0 ? HopKind::nvlink : HopKind::p2p;
    const auto time = [query, kind, raw_rate](const RuntimeConstants& constants) {
      RuntimeQuery asked = query;
      asked.edge_rate = raw_rate * constants.of(kind).usable;
      return estimate_runtime(asked, constants).time_us();
    };
    rows.push_back({table, time(recorded_constants()), time});
  }
  return rows;
}

double worst_error(const std::vector<FitRow>& rows, const RuntimeConstants& constants) {
  double worst = 0.0;
  for (const FitRow& row : rows) worst = std::max(worst, std::abs(row.predicted_us(constants) / row.measured_us - 1.0));
  return worst;
}

}  // namespace

TEST_CASE("a fit explains the times that it was given", "[nccl]") {
  std::vector<FitRow> rows = rows_of(0, 8, {.nvlink = 8}, 370.8);
  for (const FitRow& row : rows_of(1, 2, {.p2p = 2}, 63.0)) rows.push_back(row);
  const RuntimeConstants fitted = fit_constants(rows);
  CHECK(worst_error(rows, generic_constants()) > 0.2);
  CHECK(worst_error(rows, fitted) < 0.08);
  // What no row speaks of stays generic.
  CHECK(fitted.of(NcclFabric::efa).simple_us == generic_constants().of(NcclFabric::efa).simple_us);
  CHECK(fitted.of(HopKind::shm).usable == generic_constants().of(HopKind::shm).usable);
}
