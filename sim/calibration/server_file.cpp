#include "calibration/server_file.hpp"

#include "calibration/link_limits.hpp"
#include "config/server_writer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace takt {
namespace {

constexpr double percent = 100.0;

bool is_between(const Measurement& one) {
  return one.kind == MeasuredKind::copy || one.kind == MeasuredKind::staged || one.kind == MeasuredKind::collective;
}

SourcePlace file_of(const std::vector<Measurement>& measured) {
  SourcePlace place;
  if (!measured.empty()) place.file = measured.front().place.file;
  return place;
}

std::string errors_text(double before, double median, double worst) {
  return fmt::format("median error {:.1f} % ({:.1f} % before), worst {:.1f} %", percent * median, percent * before,
                     percent * worst);
}

std::string collectives_text(const FittedCollectives& fitted) {
  return fmt::format("{} collectives, {}", fitted.rows, errors_text(fitted.before, fitted.median, fitted.worst));
}

}  // namespace

Result<CalibratedServer> calibrated_server(const ServerSpec& base, const std::map<std::string, CardSpec>& cards,
                                           const std::vector<Measurement>& measured, const std::string& source) {
  std::vector<Measurement> between;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(between), is_between);
  if (between.empty()) {
    return Diagnostic{Severity::error, file_of(measured),
                      fmt::format("the file has {} rows, and none of copies, staged copies or collectives, which tell a "
                                  "server's links",
                                  kinds_in(measured)),
                      "measure.py measures them on a server: --only copy,collective"};
  }
  for (const Measurement& one : between) {
    if (cards.count(one.card) > 0) continue;
    return Diagnostic{Severity::error, one.place, fmt::format("{} has no card {}", base.id, one.card),
                      fmt::format("its cards are {}", cards.begin()->first)};
  }
  Diagnostics impossible = beyond_links(base, cards, between);
  if (!impossible.empty()) return impossible;
  Result<FittedLinks> links = fit_links(base, cards, between, source);
  if (!links) return links.diagnostics();
  CalibratedServer calibrated{std::move(links->server), links->before, links->after, {}};
  const Result<FittedCollectives> collectives = fit_collectives(calibrated.server, cards, between);
  if (!collectives) return collectives.diagnostics();
  calibrated.collectives = *collectives;
  ServerSpec& server = calibrated.server;
  if (collectives->rows > 0) {
    server.nccl.rate = collectives->rate;
    server.nccl.latency = collectives->latency;
    server.nccl.source = source + ": " + collectives_text(*collectives);
  }
  if (!server.source.ends_with(source)) server.source += "; measured: " + source;
  return calibrated;
}

std::string server_file_text(const CalibratedServer& calibrated, const std::map<std::string, LinkType>& link_types,
                             const std::string& base, const std::string& source) {
  std::string text = fmt::format("# {} with what was measured: {}\n", base, source);
  if (calibrated.copies_after.rows > 0) {
    text += fmt::format("# {} copies, {}\n", calibrated.copies_after.rows,
                        errors_text(calibrated.copies_before.median, calibrated.copies_after.median,
                                    calibrated.copies_after.worst));
  }
  if (calibrated.collectives.rows > 0) text += fmt::format("# {}\n", collectives_text(calibrated.collectives));
  return text + write_server(calibrated.server, link_types);
}

}  // namespace takt
