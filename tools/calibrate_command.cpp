// takt calibrate: measurements of cards and of a server become their files.
#include "calibrated_card.hpp"
#include "calibration/server_file.hpp"
#include "commands.hpp"
#include "output_file.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

namespace takt {
namespace {

constexpr const char* rows_of_a_card =
    "its file takes gemm, memory (copy or triad, beyond the L2), attention (flash), dequantise, and sustained with gemm of "
    "the same shape: measure.py --only gemm,memory,attention";

/// Everything that is asked for, before anything is written.
struct Calibrated {
  std::vector<CalibratedCard> cards;
  std::optional<CalibratedServer> server;
  std::vector<OutputFile> files;
};

std::string source_of(const ParsedOptions& options) {
  return options.value("source").value_or(std::filesystem::path(options.arguments.front()).filename().string());
}

bool is_of_card(MeasuredKind kind) {
  return kind < MeasuredKind::launch;
}

/// Ids of the cards of which kernels were measured, in order.
std::set<std::string> measured_cards(const std::vector<Measurement>& measured) {
  std::set<std::string> cards;
  for (const Measurement& one : measured) {
    if (is_of_card(one.kind)) cards.insert(one.card);
  }
  return cards;
}

/// What is asked for of cards although the file has no rows that could tell it.
Diagnostics nothing_for_cards(const std::vector<Measurement>& measured, const ParsedOptions& options) {
  SourcePlace file;
  file.file = options.arguments.front();
  if (measured.empty()) {
    return {{Severity::error, file, "the file has no rows: nothing was measured",
             "measure.py says on standard error what it could not measure"}};
  }
  if (options.has("out") && measured_cards(measured).empty()) {
    return {{Severity::error, file,
             fmt::format("the file has {} rows, and none that tell a card's file (--out)", kinds_in(measured)),
             rows_of_a_card}};
  }
  return {};
}

/// --like without a product.
std::optional<Diagnostic> nothing_to_scale(const std::vector<Measurement>& measured, const ParsedOptions& options) {
  const auto is_product = [](const Measurement& one) { return one.kind == MeasuredKind::gemm; };
  if (!options.has("like") || std::any_of(measured.begin(), measured.end(), is_product)) return std::nullopt;
  SourcePlace file;
  file.file = options.arguments.front();
  return Diagnostic{Severity::error, file,
                    fmt::format("the file has {} rows, and no gemm rows, which --like scales", kinds_in(measured)),
                    "measure.py measures them: --only gemm"};
}

/// A card of which rows were measured, none of which its file takes.
std::optional<Diagnostic> nothing_for_card(const CalibratedCard& card, const std::vector<Measurement>& measured) {
  if (!card.products.empty() || !card.efficiency.shares.empty() || card.sustained) return std::nullopt;
  std::vector<Measurement> own;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(own),
               [&card](const Measurement& one) { return one.card == card.card.id && is_of_card(one.kind); });
  SourcePlace file;
  file.file = own.front().place.file;
  return Diagnostic{Severity::error, file,
                    fmt::format("of {} the file has {} rows, and none that tell the card's file (--out)", card.card.id,
                                kinds_in(own)),
                    rows_of_a_card};
}

Result<CalibratedServer> server_of(const std::vector<Measurement>& measured, const std::string& base,
                                   const std::string& source, Library& library) {
  SourcePlace place;
  place.file = "command line";
  const Result<ServerSpec> server = library.server(base, place);
  if (!server) return server.diagnostics();
  std::map<std::string, CardSpec> cards;
  for (const DeviceSpec& device : server->devices) {
    if (device.kind != DeviceKind::card || cards.count(device.card) > 0) continue;
    const Result<CardSpec> card = library.card(device.card, device.place);
    if (!card) return card.diagnostics();
    cards.emplace(device.card, *card);
  }
  return calibrated_server(*server, cards, measured, source);
}

Result<Calibrated> calibrated(const std::vector<Measurement>& measured, const ParsedOptions& options,
                              Library& library) {
  const std::string source = source_of(options);
  Calibrated result;
  Diagnostics errors;
  const auto fail = [&errors](const Diagnostics& more) {
    for (const Diagnostic& one : more) {  // what is wrong with --like is so for every card
      if (std::find(errors.begin(), errors.end(), one) == errors.end()) errors.push_back(one);
    }
  };
  for (const std::string& id : measured_cards(measured)) {
    Result<CalibratedCard> card = calibrated_card({id, source, options.value("like")}, measured, library);
    if (!card) {
      fail(card.diagnostics());
      continue;
    }
    if (options.has("out")) {
      if (const auto nothing = nothing_for_card(*card, measured)) fail({*nothing});
      Result<std::vector<OutputFile>> files = files_of(*card, *options.value("out"), source);
      if (!files) fail(files.diagnostics());
      if (files) std::move(files->begin(), files->end(), std::back_inserter(result.files));
    }
    result.cards.push_back(*std::move(card));
  }
  const std::optional<Diagnostic> unscaled = nothing_to_scale(measured, options);
  if (unscaled && errors.empty()) fail({*unscaled});
  if (const std::optional<std::string> base = options.value("server")) {
    Result<CalibratedServer> server = server_of(measured, *base, source, library);
    if (!server) fail(server.diagnostics());
    const auto types = library.link_types();
    if (!types) fail(types.diagnostics());
    if (server && types && options.has("server-out"))
      result.files.push_back({*options.value("server-out"), server_file_text(*server, *types, *base, source)});
    if (server) result.server = *std::move(server);
  }
  if (!errors.empty()) return errors;
  return result;
}

std::string host_text(const LaunchCosts& costs) {
  const auto key = [](const char* name, double us) {
    return us > 0.0 ? fmt::format("{} = \"{} us\"\n", name, format_number(us)) : std::string();
  };
  const std::string keys = key("kernel_launch", costs.kernel_us) + key("eager_op", costs.eager_us) +
                           key("collective_launch", costs.collective_us);
  if (keys.empty()) return "";
  return "This host's CPU and PyTorch; a scenario takes them:\n\n[assumptions]\n" + keys;
}

std::string server_text(const std::vector<Measurement>& measured, const Calibrated& result,
                        const ParsedOptions& options) {
  const auto is_between = [](const Measurement& one) { return !is_of_card(one.kind) && one.kind != MeasuredKind::launch; };
  const auto between = std::count_if(measured.begin(), measured.end(), is_between);
  if (!result.server) {
    if (between == 0) return "";
    return fmt::format("{} copies and collectives were measured: --server BASE sets the links of a server to them\n",
                       between);
  }
  const CopyErrors& before = result.server->copies_before;
  const CopyErrors& after = result.server->copies_after;
  std::string text = *options.value("server") + " with what was measured\n\n";
  if (after.rows > 0) {
    text += fmt::format("{} copies: median error {}, before {}; worst {}, before {}\n", after.rows,
                        format_share(after.median), format_share(before.median), format_share(after.worst),
                        format_share(before.worst));
  }
  const FittedCollectives& fitted = result.server->collectives;
  if (fitted.rows > 0) {
    text += fmt::format(
        "{} collectives: median error {}, before {}; worst {}\n  their rates are {} times, their fixed times {} times "
        "those of the model of NCCL\n",
        fitted.rows, format_share(fitted.median), format_share(fitted.before), format_share(fitted.worst),
        format_number(fitted.rate), format_number(fitted.latency));
  }
  return text;
}

/// Everything or, if a folder cannot be made, nothing; a file that cannot be written stops the rest.
std::optional<Diagnostic> write_all(const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    std::error_code failed;
    if (!folder.empty()) std::filesystem::create_directories(folder, failed);
    if (failed) return usage_error("cannot make " + folder.string() + ": " + failed.message());
  }
  for (const OutputFile& file : files) {
    if (auto error = write_file(file.path, file.text)) return error;
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_options(const ParsedOptions& options) {
  if (options.arguments.size() != 1)
    return usage_error("takt calibrate needs one file of measurements", "see takt calibrate --help");
  if (options.has("server-out") && !options.has("server"))
    return usage_error("--server-out without --server", "--server names the machine that was measured, e.g. 8x-rtx-4090");
  return std::nullopt;
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  if (const std::optional<Diagnostic> wrong = wrong_options(options)) {
    environment.err << render(*wrong);
    return ExitStatus::wrong_usage;
  }
  const Result<SourceText> text = read_text_file(options.arguments.front());
  const Result<std::vector<Measurement>> measured =
      text ? read_measurements(*text) : Result<std::vector<Measurement>>(text.diagnostics());
  environment.err << render(measured.diagnostics());
  if (!measured) return ExitStatus::invalid;
  const Diagnostics nothing = nothing_for_cards(*measured, options);
  environment.err << render(nothing);
  if (!nothing.empty()) return ExitStatus::invalid;
  Library library(search_path(environment.takt_path));
  const Result<Calibrated> result = calibrated(*measured, options, library);
  environment.err << render(result.diagnostics());
  if (!result) return ExitStatus::invalid;
  std::string report;
  for (const std::string& part : {calibrated_text(result->cards), server_text(*measured, *result, options),
                                  host_text(launch_costs(*measured))}) {
    if (!part.empty()) report += (report.empty() ? "" : "\n") + part;
  }
  environment.out << report;
  const std::optional<Diagnostic> failed = write_all(result->files);
  if (failed) environment.err << render(*failed);
  return failed ? ExitStatus::invalid : ExitStatus::done;
}

}  // namespace

Command calibrate_command() {
  return {"calibrate",
          "FILE.csv",
          "measurements of cards and of a server become their files",
          "Reads what tools/calibrate/measure.py wrote (or products alone: columns card, precision, m, n, k, ms). "
          "Products fit the GEMM model, and the table says how well it predicts weight shapes that were held out; with "
          "few of them, --like takes the constants of another card and fits only how much of its peak this one reaches. "
          "Copies and triads, flash attention and NF4 fit the card's [efficiency]; other kernels are scored with it. "
          "Copies between cards and hosts set the links of a server, collectives its [nccl] rate and latency. Launch "
          "costs are printed as keys of a scenario. Nothing is written unless everything could be fitted.",
          {{"out", "FOLDER", "write the files of the cards there, with what the GEMM constants leave beside them", {}},
           {"server", "BASE", "the machine that was measured: a file of topologies/servers, or a path", {}},
           {"server-out", "FILE", "write the server's file with what was measured", {}},
           {"like", "CARD", "scale the fit of another card, for as little as one product", {}},
           {"source", "TEXT", "where the measurements come from, for the files; default: the file's name", {}}},
          "takt calibrate measured.csv --out my-data/topologies/cards",
          execute};
}

}  // namespace takt
