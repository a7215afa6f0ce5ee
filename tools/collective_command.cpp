// takt collective: what nccl-tests would print on a machine.
#include "collective_setup.hpp"
#include "commands.hpp"
#include "report/nccl_tests.hpp"
#include "scenario_runs.hpp"
#include "size_range.hpp"

#include <fmt/format.h>
#include <ostream>

namespace takt {
namespace {

constexpr const char* default_sizes = "1K:1G:x2";

/// The cards that --ranks names, as a value of hardware.cards: "4" is the first four, "0-3" and "0,2,5" are numbers.
Result<Override> cards_of(const std::string& text) {
  std::vector<std::int64_t> cards;
  const bool is_count = text.find_first_of("-,") == std::string::npos;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const std::optional<std::int64_t> first = whole_number(part.substr(0, dash));
    const std::optional<std::int64_t> last = dash == std::string::npos ? first : whole_number(part.substr(dash + 1));
    constexpr std::int64_t most = 1'000'000;
    if (!first || !last || *last < *first || *last > most) {
      return usage_error("--ranks cannot be '" + text + "'", "a number of cards, or their numbers: 4, 0-3, 0,2,4,6");
    }
    for (std::int64_t card = is_count ? 0 : *first; card <= (is_count ? *last - 1 : *last); ++card) {
      cards.push_back(card);
    }
    begin = end + 1;
  }
  std::string list;
  for (const std::int64_t card : cards) list += fmt::format("{}{}", list.empty() ? "" : ", ", card);
  return Override{"hardware.cards", "[" + list + "]"};
}

/// What the line asks for.
struct Request {
  CollectiveCall call;
  std::vector<std::int64_t> sizes;
  std::optional<NcclTestsLog> log;
  Overrides settings;
};

Result<Request> request_of(const ParsedOptions& options) {
  Request request;
  const std::optional<CollectiveKind> kind = collective_named(options.arguments.front());
  if (!kind) {
    return usage_error("there is no collective '" + options.arguments.front() + "'",
                       "all_gather, all_reduce, reduce_scatter or broadcast");
  }
  request.call.kind = *kind;
  if (options.value("redop") == "avg") request.call.reduction = Reduction::average;
  Result<Overrides> overrides = overrides_of(options);
  if (!overrides) return overrides.diagnostics();
  request.settings = *std::move(overrides);
  std::optional<std::string> ranks = options.value("ranks");
  if (const std::optional<std::string> file = options.value("log")) {
    const Result<SourceText> text = read_text_file(*file);
    if (!text) return text.diagnostics();
    Result<NcclTestsLog> log = read_nccl_tests_log(*text);
    if (!log) return log.diagnostics();
    if (!ranks && log->ranks > 0) ranks = std::to_string(log->ranks);
    for (const NcclTestsLine& line : log->lines) request.sizes.push_back(line.bytes);
    request.log = *std::move(log);
  } else {
    const Result<std::vector<std::int64_t>> sizes = read_size_range(options.value("sizes").value_or(default_sizes));
    if (!sizes) return sizes.diagnostics();
    request.sizes = *sizes;
  }
  if (ranks) {
    Result<Override> cards = cards_of(*ranks);
    if (!cards) return cards.diagnostics();
    request.settings.push_back(*std::move(cards));
  }
  return request;
}

Result<CollectiveTable> priced(const Request& request, const CollectiveSetup& setup) {
  CollectiveTable table{setup.topology.id(), static_cast<std::int64_t>(setup.members.size()), {}};
  CollectiveLowering lowering(setup.topology, setup.options);
  for (std::size_t i = 0; i < request.sizes.size(); ++i) {
    CollectiveCall call = request.call;
    call.bytes = Bytes(request.sizes[i]);
    Result<PricedCollective> one = lowering.price(call, setup.members);
    if (!one) return one.diagnostics();
    CollectiveRow row{call, std::move(one->account), std::nullopt, one->lowered.interval};
    if (request.log) row.measured_us = request.log->lines[i].time_us;
    table.rows.push_back(std::move(row));
  }
  return table;
}

ExitStatus predict(const ParsedOptions& options, const Environment& environment) {
  const std::optional<std::string> topology = options.value("topology");
  if (options.arguments.size() != 1 || !topology) {
    environment.err << render(usage_error("which collective, and on which machine?", "OP --topology T"));
    return ExitStatus::wrong_usage;
  }
  const Result<Request> request = request_of(options);
  if (!request) {
    environment.err << render(request.diagnostics());
    return ExitStatus::wrong_usage;
  }
  Library library(search_path(environment.takt_path));
  const Result<CollectiveSetup> setup = collective_setup(*topology, request->settings, library);
  environment.err << render(setup.diagnostics());
  if (!setup) return ExitStatus::invalid;
  if (setup->members.size() < 2) {
    environment.err << render(usage_error("a collective needs two cards at least", "see --ranks"));
    return ExitStatus::wrong_usage;
  }
  const Result<CollectiveTable> table = priced(*request, *setup);
  environment.err << render(table.diagnostics());
  if (!table) return ExitStatus::invalid;
  const std::string format = options.value("format").value_or("table");
  if (format == "json")
    environment.out << collective_json(*table);
  else if (format == "csv")
    environment.out << collective_csv(*table);
  else
    environment.out << collective_text(*table, options.has("explain") ? Explanations::added : Explanations::left_out);
  return ExitStatus::done;
}

}  // namespace

Command collective_command() {
  return {
      "collective",
      "OP",
      "what nccl-tests would print on a machine",
      "Predicts all_gather, all_reduce, reduce_scatter or broadcast over the cards of a topology, in the columns of "
      "nccl-tests: NCCL's own graph search and tuner choose, the runtime model times it on the links. --log reads the "
      "output of a real run and puts it beside the prediction.",
      {{"topology", "T", "the machine: a file of topologies/, or a path", {}},
       {"ranks", "CARDS", "a number of cards, or their numbers in rank order: 4, 0-3, 0,2,4,6 (default: all)", {}},
       {"sizes",
        "SIZES",
        "first:last:step with step x2 or +1M, or a list: 1K:1G:x2 (the default), 1M,8M; K is 1024",
        {}},
       {"redop", "OP", "what reductions do (default sum); an average leaves NVLS out", {"sum", "avg"}},
       {"log", "FILE", "a log of nccl-tests: its sizes and times beside the prediction", {}},
       {"explain", "", "add algorithm, protocol, CTAs, NCCL's planned time and what limits the call", {}},
       {"set", "KEY=VALUE", "a key of nccl, collectives, platform or assumptions", {}, Option::Count::repeated},
       {"format", "FORMAT", "table (default), json or csv", {"table", "json", "csv"}}},
      "takt collective all_gather --topology 8x-rtx-pro-6000-server-4-switches --set nccl.p2p_level=SYS --explain",
      predict};
}

}  // namespace takt
