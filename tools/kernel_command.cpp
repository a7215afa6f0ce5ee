// takt kernel: what the kernel model says of one kernel, or of a file of them.
#include "base/text.hpp"
#include "commands.hpp"
#include "config/card_state.hpp"
#include "config/csv.hpp"
#include "config/library.hpp"
#include "config/quantity.hpp"
#include "kernel_kinds.hpp"
#include "report/kernel_table.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>

namespace takt {
namespace {

Result<const KernelKindOption*> kind_named(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const KernelKindOption& kind : kernel_kinds()) {
    if (!words.empty() && words.front() == kind.name) return &kind;
    names.push_back(kind.name);
  }
  const std::string word = words.empty() ? "" : words.front();
  const std::optional<std::string> near = did_you_mean(word, names);
  return usage_error(words.empty() ? "takt kernel needs a kernel" : "there is no kernel \"" + word + "\"",
                     near ? "did you mean \"" + *near + "\"?" : "one of " + join(names, ", "));
}

/// The numbers behind a kernel's name.
Result<std::vector<std::int64_t>> numbers_of(const std::vector<std::string>& words, const KernelKindOption& kind) {
  const std::vector<std::string>& names = kind.numbers;
  if (words.size() != names.size() + 1)
    return usage_error("kernel " + words.front() + " takes other numbers", usage_of(kind));
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < words.size(); ++i) {
    constexpr double most = 1e15;
    const std::optional<double> number = number_in(words[i]);
    if (!number || *number < 1.0 || *number > most || *number != std::floor(*number)) {
      return usage_error(names[i - 1] + " is a whole number from 1 to 1e15, not \"" + words[i] + "\"", usage_of(kind));
    }
    numbers.push_back(static_cast<std::int64_t>(*number));
  }
  return numbers;
}

using Pricing = std::function<Result<PricedKernel>(const std::vector<std::int64_t>& numbers)>;

constexpr double longest_s = 1e6;  // Takt counts picoseconds in 64 bits
constexpr const char* why_refused = ": kernels of more than 1e6 s are not priced";

bool is_too_long(const PricedKernel& priced) {
  return !(to_seconds(priced.kernel.time) < longest_s);
}

/// The largest value of the number `which` with which a kernel that is too long is not, the others as they are; 0: there
/// is none. Nothing where a value between is no kernel.
std::optional<std::int64_t> largest_priced(std::vector<std::int64_t> numbers, std::size_t which, const Pricing& price) {
  std::int64_t good = 0, bad = numbers[which];
  while (bad - good > 1) {
    numbers[which] = good + (bad - good) / 2;
    const Result<PricedKernel> tried = price(numbers);
    if (!tried) return std::nullopt;
    (is_too_long(*tried) ? bad : good) = numbers[which];
  }
  return good;
}

/// "N 8192, K 8192": all but `which`.
std::string other_sizes(const std::vector<std::string>& names, const std::vector<std::int64_t>& numbers,
                        std::size_t which) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != which) others.push_back(names[i] + ' ' + std::to_string(numbers[i]));
  }
  return join(others, ", ");
}

/// Which size of a kernel that takes too long is out of its range: the largest that alone can make it short enough.
Diagnostic too_long(const KernelKindOption& kind, const std::vector<std::int64_t>& numbers, const Pricing& price) {
  const std::vector<std::string>& names = kind.numbers;
  std::vector<std::size_t> by_size(numbers.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return numbers[a] > numbers[b]; });
  for (const std::size_t which : by_size) {
    const std::string& name = names[which];
    const std::string number = std::to_string(numbers[which]);
    const std::optional<std::int64_t> most = largest_priced(numbers, which, price);
    if (!most) return usage_error(name + " cannot be " + number + why_refused, "a smaller " + name);
    if (*most == 0) continue;
    const std::string others = other_sizes(names, numbers, which);
    return usage_error(name + " is a whole number from 1 to " + std::to_string(*most) +
                           (others.empty() ? "" : " beside " + others) + ", not " + number + why_refused,
                       "a smaller " + name);
  }
  return usage_error(join(names, ", ") + " are too large together" + why_refused,
                     "make several of them smaller");
}

/// One kernel from words such as {"gemm", "4096", "8192", "8192"}.
Result<PricedKernel> priced(const std::vector<std::string>& words, const KernelPricer& pricer, Precision precision,
                            const ParsedOptions& options) {
  const Result<const KernelKindOption*> kind = kind_named(words);
  if (!kind) return kind.diagnostics();
  const Result<std::vector<std::int64_t>> numbers = numbers_of(words, **kind);
  if (!numbers) return numbers.diagnostics();
  const Pricing price = [&](const std::vector<std::int64_t>& sizes) {
    return (*kind)->price(pricer, sizes, precision, options);
  };
  Result<PricedKernel> result = price(*numbers);
  if (result && is_too_long(*result)) return too_long(**kind, *numbers, price);
  if (result) result->what = join(words, " ");
  return result;
}

/// The kernels of a file, one a row: "gemm,4096 8192 8192".
Result<std::vector<PricedKernel>> priced_batch(const std::string& file, const KernelPricer& pricer, Precision precision,
                                               const ParsedOptions& options) {
  const Result<SourceText> text = read_text_file(file);
  if (!text) return text.diagnostics();
  const Result<CsvTable> table = read_csv(*text, "kernel,numbers");
  if (!table) return table.diagnostics();
  std::vector<PricedKernel> kernels;
  Diagnostics errors;
  for (const CsvRow& row : table->rows) {
    std::vector<std::string> words = {row.cells[0]};
    std::string_view rest = trim(row.cells[1]);
    while (!rest.empty()) {
      words.emplace_back(rest.substr(0, rest.find(' ')));
      rest = trim(rest.substr(words.back().size()));
    }
    Result<PricedKernel> kernel = priced(words, pricer, precision, options);
    if (kernel)
      kernels.push_back(std::move(*kernel));
    else
      errors.push_back(table->error_at(row, kernel.diagnostics().front().message, kernel.diagnostics().front().hint));
  }
  if (!errors.empty()) return errors;
  return kernels;
}

/// An option that another kernel takes, or nothing.
std::optional<Diagnostic> foreign_option(const ParsedOptions& options) {
  const Result<const KernelKindOption*> kind = kind_named(options.arguments);
  if (!kind) return std::nullopt;  // which is told anyway
  std::set<std::string> of_kinds;
  for (const KernelKindOption& other : kernel_kinds()) of_kinds.insert(other.options.begin(), other.options.end());
  const std::vector<std::string>& own = (*kind)->options;
  for (const std::string& option : of_kinds) {
    if (!options.has(option) || std::find(own.begin(), own.end(), option) != own.end()) continue;
    std::string takes = (*kind)->name + " takes none of its own";
    if (!own.empty()) takes = (*kind)->name + " takes --" + join(own, ", --");
    return usage_error("--" + option + " says nothing of kernel " + (*kind)->name, takes);
  }
  return std::nullopt;
}

Result<std::vector<PricedKernel>> asked_kernels(const ParsedOptions& options, const KernelPricer& pricer,
                                                Precision precision) {
  if (options.has("batch")) {
    if (!options.arguments.empty())
      return usage_error("--batch names the kernels", "leave out " + options.arguments[0]);
    return priced_batch(*options.value("batch"), pricer, precision, options);
  }
  if (const std::optional<Diagnostic> foreign = foreign_option(options)) return *foreign;
  Result<PricedKernel> kernel = priced(options.arguments, pricer, precision, options);
  if (!kernel) return kernel.diagnostics();
  return std::vector<PricedKernel>{std::move(*kernel)};
}

/// The card that is asked for, held to the limit that is asked for.
Result<CardSpec> asked_card(const ParsedOptions& options, const Environment& environment) {
  SourcePlace place;
  place.file = "command line";
  Library library(search_path(environment.takt_path));
  Result<CardSpec> card = library.card(*options.value("card"), place);
  if (!card || !options.has("power-limit")) return card;
  const std::string text = *options.value("power-limit");
  const ParsedQuantity<Power> limit = parse_quantity<Power>(text);
  if (!limit.value) return usage_error("--power-limit " + limit.problem.message, limit.problem.hint);
  return card_in_state(*card, {"", {}, limit.value, place});
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  const std::string dtype = options.value("dtype").value_or("bf16");
  const std::optional<Precision> precision = precision_named(dtype);
  if (!options.has("card") || !precision) {
    environment.err << render(precision ? usage_error("takt kernel needs a card", "--card h200-nvl")
                                        : usage_error("there is no precision \"" + dtype + "\"",
                                                      "bf16, fp16, fp32, tf32, fp8, mxfp8 or nvfp4"));
    return ExitStatus::wrong_usage;
  }
  const Result<CardSpec> card = asked_card(options, environment);
  environment.err << render(card.diagnostics());
  if (!card) return ExitStatus::invalid;
  if (card->dense_peak.count(*precision) == 0) {
    environment.err << render(usage_error(card->name + " does not have " + dtype, "see [peak] of " + card->file));
    return ExitStatus::invalid;
  }
  const Clocks clocks = options.value("clocks").value_or("burst") == "sustained" ? Clocks::sustained : Clocks::burst;
  if (clocks == Clocks::sustained && !card->sustained) {
    environment.err << render(usage_error("nobody measured which clock " + card->name + " keeps up",
                                          "leave --clocks out, or add `sustained` to " + card->file));
    return ExitStatus::invalid;
  }
  const KernelPricer pricer(*card, ComputeBasis::measured, kernels_alone(), clocks);
  const Result<std::vector<PricedKernel>> kernels = asked_kernels(options, pricer, *precision);
  environment.err << render(kernels.diagnostics());
  if (!kernels) return options.has("batch") ? ExitStatus::invalid : ExitStatus::wrong_usage;
  environment.out << (options.value("format").value_or("table") == "csv" ? kernel_csv(*kernels, pricer)
                                                                         : kernel_table(*kernels, pricer));
  return ExitStatus::done;
}

std::string kinds_text() {
  std::string text;
  for (const KernelKindOption& kind : kernel_kinds())
    text += (text.empty() ? "" : "; ") + kind.name + ' ' + join(kind.numbers, " ");
  return text;
}

}  // namespace

Command kernel_command() {
  return {
      "kernel",
      "KERNEL NUMBER...",
      "predicted time of one kernel, its rate, and which limit holds",
      "Kernels: " + kinds_text() +
          ". Prices them on a card as a run does (alone, on an idle card) and says what limits them, how much of the "
          "peak they reach, and within what nine in ten measurements lie, with what that rests on. Attention is "
          "causal. "
          "The head is gemm TOKENS VOCABULARY HIDDEN; norm, rope, activation and residual are parts of a Llama-like "
          "layer; products in FP8 and FP4 include the cast of their activations, which cast prices alone.",
      {{"card", "CARD", "the card, e.g. h200-nvl", {}},
       {"dtype", "TYPE", "precision of the operands; default bf16", {}},
       {"power-limit", "WATTS", "the card held to a limit at which it was measured, e.g. \"450 W\"", {}},
       {"clocks",
        "CLOCKS",
        "products at the clock of short benchmarks (burst, the default) or sustained",
        {"burst", "sustained"}},
       {"backward", "", "attention, loss and parts of a layer: the backward pass", {}},
       {"attention",
        "FORM",
        "attention: flash (default), flash-triton, sdpa-mask or eager",
        {"flash", "flash-triton", "sdpa-mask", "eager"}},
       {"form",
        "FORM",
        "norm, rope, activation, residual: eager (default), compiled or fused",
        {"eager", "compiled", "fused"}},
       {"loss",
        "FORM",
        "loss: eager (default), compiled, fused or fused-linear",
        {"eager", "compiled", "fused", "fused-linear"}},
       {"optimizer", "NAME", "optimizer: adamw (default), adamw-8bit or sgd", {"adamw", "adamw-8bit", "sgd"}},
       {"foreach", "", "optimizer: PyTorch's foreach form, not the fused one", {}},
       {"batch", "FILE.csv", "many kernels: columns kernel, numbers (\"gemm,4096 8192 8192\")", {}},
       {"format", "FORMAT", "table (default) or csv", {"table", "csv"}}},
      "takt kernel gemm 4096 8192 8192 --card h200-nvl",
      execute};
}

}  // namespace takt
