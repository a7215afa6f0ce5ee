#include "report/p2p_comparison.hpp"

#include "base/quantile.hpp"
#include "metrics/copy_rates.hpp"
#include "report/format.hpp"
#include "report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr double giga = 1e9;

struct Pair {
  std::size_t from = 0;
  std::size_t to = 0;
  double measured = 0.0;   // GB/s
  double predicted = 0.0;  // GB/s

  double error() const { return predicted / measured - 1.0; }
};

std::string title_of(const P2pMatrix& matrix) {
  const bool both = matrix.measure == P2pMeasure::bandwidth_both_directions;
  return fmt::format("{}, peer-to-peer {}: measured/predicted, GB/s", both ? "both directions" : "one direction",
                     matrix.access == P2pAccess::on ? "on" : "off");
}

Pair pair_of(const P2pMatrix& matrix, const Topology& topology, std::size_t from, std::size_t to) {
  const auto a = static_cast<std::int64_t>(from);
  const auto b = static_cast<std::int64_t>(to);
  const bool both = matrix.measure == P2pMeasure::bandwidth_both_directions;
  const std::array<Transfer, 2> transfers = {Transfer{a, b}, Transfer{b, a}};
  const Bandwidth predicted = throughput_of_equal_copies(topology, std::span(transfers).first(both ? 2 : 1));
  return {from, to, matrix.values[from][to], predicted.count() / giga};
}

/// What bounds the pair in words: the slowest link of its route, or the driver's staging.
std::string bound_of(const Topology& topology, const Pair& pair) {
  const CardRoute& route = topology.card_route(topology.cards()[pair.from].vertex, topology.cards()[pair.to].vertex);
  if (route.transport == Transport::host_staged) return "the driver's copies through host memory";
  const auto slowest = std::min_element(route.route.links.begin(), route.route.links.end(), [&](LinkId a, LinkId b) {
    return topology.link(a).capacity < topology.link(b).capacity;
  });
  if (slowest == route.route.links.end()) return "no way";
  const Link& link = topology.link(*slowest);
  return fmt::format("{} -> {} ({})", topology.device(topology.link_source(*slowest)).name,
                     topology.device(topology.link_target(*slowest)).name, link.type);
}

std::string remarks(const Topology& topology, std::vector<Pair> pairs) {
  std::vector<double> errors;
  for (const Pair& pair : pairs) errors.push_back(std::abs(pair.error()));
  std::string text = fmt::format("  median error {}\n", format_share(median(std::move(errors))));
  constexpr double worth_a_remark = 0.1;
  constexpr std::size_t most_shown = 6;
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return std::abs(a.error()) > std::abs(b.error()); });
  for (std::size_t i = 0; i < std::min(pairs.size(), most_shown); ++i) {
    const Pair& pair = pairs[i];
    if (std::abs(pair.error()) <= worth_a_remark) break;
    text += fmt::format("  {} -> {}: measured {}, predicted {} by {}\n", pair.from, pair.to,
                        format_number(pair.measured), format_number(pair.predicted), bound_of(topology, pair));
  }
  return text;
}

}  // namespace

Result<std::string> p2p_comparison(const P2pMatrix& matrix, const Topology& topology) {
  const std::size_t cards = matrix.values.size();
  if (cards != topology.cards().size()) {
    return Diagnostic{
        Severity::error, matrix.place,
        fmt::format("the log has {} devices, {} has {} cards", cards, topology.id(), topology.cards().size()),
        "compare with the topology of the machine that was measured"};
  }
  std::vector<Column> columns = {{"from/to", Align::right}};
  for (std::size_t card = 0; card < cards; ++card) columns.push_back({std::to_string(card), Align::right});
  Table table(std::move(columns));
  std::vector<Pair> pairs;
  for (std::size_t from = 0; from < cards; ++from) {
    std::vector<std::string> cells = {std::to_string(from)};
    for (std::size_t to = 0; to < cards; ++to) {
      const bool shown = from != to && matrix.values[from][to] > 0.0;
      if (shown) pairs.push_back(pair_of(matrix, topology, from, to));
      cells.push_back(shown ? format_number(pairs.back().measured) + "/" + format_number(pairs.back().predicted) : "-");
    }
    table.row(std::move(cells));
  }
  return title_of(matrix) + "\n" + table.text(2) + (pairs.empty() ? "" : remarks(topology, std::move(pairs)));
}

}  // namespace takt
