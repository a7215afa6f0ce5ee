// One sizing question on one screen.
#include "config/words.hpp"
#include "metrics/sizing/server_needs.hpp"
#include "report/fit_report.hpp"
#include "report/format.hpp"
#include "report/table.hpp"
#include "report/wording.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace takt {
namespace {

constexpr std::size_t indent = 2;
constexpr double billion = 1e9;
constexpr double million = 1e6;

/// As sizing guides print: GB with one decimal.
std::string gb(Bytes size) {
  return fmt::format("{:.1f}", static_cast<double>(size.count()) / billion);
}

std::string kilowatts(Power power) {
  constexpr double kilo = 1e3;
  return fmt::format("{:.2f} kW", power.count() / kilo);
}

std::string counted(std::int64_t count, const std::string& noun) {
  return format_count(count) + ' ' + noun + (count == 1 ? "" : "s");
}

std::string heading(const FitResult& result) {
  const FitQuestion& question = result.question;
  const FinetuneSettings& finetune = question.scenario.finetune;
  const Strategy strategy = question.scenario.parallel.strategy;
  std::string text = question.model.name + ": " + describe_states(question.scenario) + ", on " +
                     std::to_string(question.cards) + "x " + question.card.name;
  if (strategy != Strategy::none) text += " (" + word(strategy) + ")";
  if (question.offload == Offload::cpu) text += ", optimizer in host memory";
  if (question.offload == Offload::nvme) text += ", optimizer on NVMe";
  const double millions = static_cast<double>(result.trained) / million;
  const std::string trained =
      finetune.method == Method::full ? "all of them train" : fmt::format("{:.1f} million more train", millions);
  return text + '\n' +
         fmt::format("  {:.2f} billion parameters, {}\n", static_cast<double>(result.parameters) / billion, trained);
}

std::string states_table(const StateSizes& states) {
  Table table({{"model states of a card"}, {"GB", Align::right}});
  const auto row = [&](const char* name, Bytes size) {
    if (size > Bytes{}) table.row({name, gb(size)});
  };
  row("frozen weights", states.frozen_weights);
  row("weights that train, as computed with", states.weights);
  row("their gradients", states.gradients);
  row("their FP32 master copy", states.master);
  row("optimizer", states.optimizer);
  table.row({"all", gb(states.total())});
  return table.text(indent);
}

std::string room_table(const FitResult& result) {
  const CardSpec& card = result.question.card;
  Table table({{"memory of a card"}, {"nominal GB", Align::right}, {"driver-visible GB", Align::right}});
  table.row({"capacity", gb(card.memory_nominal), gb(card.memory_visible)});
  table.row({"free beside the model states", gb(result.free_nominal()), gb(result.free_visible())});
  if (result.step) {
    const BatchSettings& batch = result.question.scenario.batch;
    table.row({fmt::format("peak of a step, {} x {} tokens, {}", batch.micro_batch, format_count(batch.sequence_length),
                           describe_checkpointing(result.question.scenario)),
               "", gb(result.step->peak)});
    table.row({"free at the peak", "", gb(card.memory_visible - result.step->peak)});
  }
  return table.text(indent);
}

/// Which capacity the model states exceed.
std::string exceeded(const FitResult& result) {
  const bool nominal = result.free_nominal() < Bytes{}, visible = result.free_visible() < Bytes{};
  if (nominal && visible) return "a card has";
  return nominal ? "the nominal capacity" : "what the driver shows";
}

std::string verdict_line(const FitResult& result) {
  if (result.verdict == Verdict::fits) return "Verdict: fits.\n";
  if (result.verdict == Verdict::states_fit) {
    return result.notes.empty() ? "Verdict: the model states fit. With --sequence, a step is played for its peak.\n"
                                : "Verdict: the model states fit.\n";
  }
  if (!result.step) return "Verdict: does not fit: the model states alone are more than " + exceeded(result) + ".\n";
  return "Verdict: does not fit: the model states would, but not the peak of a step.\n";
}

/// What a peak leaves out, as far as the memory model has no part for it (semantics M7, M8).
std::string peak_note(const FitResult& result) {
  if (!result.step || result.step->components.count("context") > 0) return "";
  return wrap("The peak is what PyTorch allocates; the CUDA context (0.5 to 0.8 GB) and fragmentation come on top.",
              screen_width, indent);
}

std::string alternatives_table(const FitResult& result) {
  if (result.verdict != Verdict::no) return "";
  if (result.alternatives.empty())
    return "  Nothing that was tried makes it fit: fewer bytes a parameter, up to 64 cards.\n";
  Table table({{"what would fit"},
               {"states, GB a card", Align::right},
               {"peak, GB a card", Align::right},
               {"host, GB", Align::right}});
  for (const Alternative& other : result.alternatives) {
    table.row({other.change, gb(other.states), other.peak ? gb(*other.peak) : "",
               other.offloaded > Bytes{} ? gb(other.offloaded) : ""});
  }
  return table.text(indent);
}

/// The time that `size` takes at nominal rates, in the style of guides: 2.2 s over PCIe Gen5 x16.
std::string floor_over(Bytes size, Bandwidth rate, const std::string& way) {
  return format_time(transfer_time(size, rate), 2) + " over " + way + " (" + format_bandwidth(rate) + ")";
}

std::string traffic_lines(const FitResult& result) {
  const FitQuestion& question = result.question;
  if (question.cards == 1) return "";
  const Strategy strategy = question.scenario.parallel.strategy;
  const bool gathers = strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2 || strategy == Strategy::zero3;
  const Bytes moved = gathers ? result.traffic.gathered : result.traffic.all_reduce;
  const CardSpec& card = question.card;
  std::string text = gathers ? fmt::format("gathers receive {} GB a card and micro-batch, at least ", gb(moved))
                             : fmt::format("all-reduce moves {} GB a card and step, at least ", gb(moved));
  text += floor_over(moved, nominal_pcie(card), fmt::format("PCIe Gen{} x{}", card.pcie_generation, card.pcie_lanes));
  if (card.nvlink_links > 0) text += ", " + floor_over(moved, card.nvlink_per_direction, "NVLink");
  return text + "; takt run says what a machine makes of it";
}

void server_rows(Table& table, const FitQuestion& question) {
  const CardSpec& card = question.card;
  const std::int64_t cards = std::min(question.cards, cards_a_server);
  const std::int64_t servers = (question.cards + cards_a_server - 1) / cards_a_server;
  const Bytes twice = host_memory_rule(card, cards, 2);
  const ReferenceCpu cpu = reference_cpu(cards);
  const Power power = server_power(card.tdp, cards, cpu.power);
  table.row({"servers", fmt::format("{}, each with {}", servers, counted(cards, "card"))});
  table.row({"host memory", fmt::format("{} GB (2 x nominal; {} GB in {} equal modules) to {} GB (3 x nominal)",
                                        gb(twice), gb(populated_memory(twice, two_socket_modules)), two_socket_modules,
                                        gb(host_memory_rule(card, cards, 3)))});
  table.row({"processor cores", fmt::format("{} (6 a card)", host_cores(cards))});
  table.row({"power", fmt::format("{}: {} of {:.0f} W, two {} of {:.0f} W, 15 % for the rest", kilowatts(power),
                                  counted(cards, "card"), card.tdp.count(), cpu.name, cpu.power.count())});
  for (const Feed& feed : feeds) {
    const std::int64_t needed = std::llround(std::ceil(power.count() / usable_power(feed).count()));
    table.row({"", fmt::format("{} of {}, {} each at 80 %", counted(needed, "feed"), feed.name,
                               kilowatts(usable_power(feed)))});
  }
}

std::string needs_table(const FitResult& result) {
  const FitQuestion& question = result.question;
  Table table({{"around it"}, {""}});
  table.row(
      {"checkpoint", fmt::format("{} GB weights, {} GB to resume, {} GB with gradients", gb(result.checkpoints.weights),
                                 gb(result.checkpoints.resumable), gb(result.checkpoints.training_state))});
  if (result.offloaded > Bytes{}) {
    table.row({question.offload == Offload::cpu ? "in host memory" : "on NVMe",
               gb(result.offloaded) + " GB of optimizer states and gradients (14 B a parameter that trains)"});
  }
  if (question.scenario.mig.empty()) {
    server_rows(table, question);
  } else {
    table.row({"slices", "each is a job of its own: NCCL does not join MIG slices"});
  }
  const std::string traffic = traffic_lines(result);
  std::string text = table.text(indent);
  if (!traffic.empty()) text += wrap("traffic as guides count it: " + traffic, screen_width, indent);
  return text;
}

std::string slice_line(const FitResult& result) {
  const FitQuestion& question = result.question;
  if (question.scenario.mig.empty()) return "";
  for (const MigProfile& profile : question.card.mig_profiles) {
    if (profile.name != question.scenario.mig) continue;
    return fmt::format("  a card has {}; each has {} SMs, {} of memory bandwidth\n",
                       counted(profile.instances, "such slice"), question.card.sm_count,
                       format_bandwidth(question.card.memory_bandwidth));
  }
  return "";
}

}  // namespace

std::string fit_table(const FitResult& result) {
  std::string text = heading(result) + slice_line(result) + '\n' + states_table(result.of_card) + '\n' +
                     room_table(result) + '\n' + verdict_line(result) + peak_note(result);
  for (const Diagnostic& note : result.notes) text += wrap(note.message, screen_width, indent);
  const std::string others = alternatives_table(result);
  if (!others.empty()) text += '\n' + others;
  return text + '\n' + needs_table(result);
}

}  // namespace takt
