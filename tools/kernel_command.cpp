// takt kernel: what the kernel model says of one kernel, or of a file of them.
#include "base/text.hpp"
#include "commands.hpp"
#include "config/csv.hpp"
#include "config/library.hpp"
#include "report/format.hpp"
#include "report/kernel_table.hpp"
#include "workload/optimizer.hpp"
#include "workload/precision.hpp"

#include <cmath>
#include <ostream>

namespace takt {
namespace {

/// A kind of kernel with the numbers that describe one.
struct Kind {
  const char* name;
  std::vector<const char*> numbers;
  PricedKernel (*price)(const KernelPricer& pricer, const std::vector<std::int64_t>& numbers, Precision precision,
                        const ParsedOptions& options);
};

PricedKernel price_gemm(const KernelPricer& pricer, const std::vector<std::int64_t>& n, Precision precision,
                        const ParsedOptions&) {
  return priced_gemm(pricer, {n[0], n[1], n[2], precision});
}

PricedKernel price_attention(const KernelPricer& pricer, const std::vector<std::int64_t>& n, Precision precision,
                             const ParsedOptions& options) {
  TransformerShape shape;
  shape.query_heads = n[2];
  shape.kv_heads = n[3];
  shape.head_dim = n[4];
  const AttentionPass pass = options.has("backward") ? AttentionPass::backward : AttentionPass::forward;
  const std::string form = options.value("attention").value_or("flash");
  const AttentionKernel kernel = form == "eager"          ? AttentionKernel::eager
                                 : form == "sdpa-mask"    ? AttentionKernel::sdpa_mask
                                 : form == "flash-triton" ? AttentionKernel::flash_triton
                                                          : AttentionKernel::flash;
  return priced_by_roofline(pricer, pricer.attention({n[0], {n[1]}}, shape, kernel, pass, precision), precision);
}

PricedKernel price_elementwise(const KernelPricer& pricer, const std::vector<std::int64_t>& n, Precision precision,
                               const ParsedOptions&) {
  return priced_by_roofline(pricer, pricer.memory("elementwise", Bytes(n[0])), precision);
}

PricedKernel price_optimizer(const KernelPricer& pricer, const std::vector<std::int64_t>& n, Precision precision,
                             const ParsedOptions& options) {
  const std::string name = options.value("optimizer").value_or("adamw");
  const Optimizer optimizer = name == "sgd"          ? Optimizer::sgd
                              : name == "adamw-8bit" ? Optimizer::adamw_8bit
                                                     : Optimizer::adamw;
  const OptimizerForm form = options.has("foreach") ? OptimizerForm::foreach_ : OptimizerForm::fused;
  const double traffic = optimizer_cost(optimizer, form, MasterFormat::fp32).traffic;
  const Bytes bytes(std::llround(traffic * static_cast<double>(n[0])));
  return priced_by_roofline(pricer, pricer.memory("optimizer", bytes, KernelKind::optimizer), precision);
}

PricedKernel price_dequantise(const KernelPricer& pricer, const std::vector<std::int64_t>& n, Precision precision,
                              const ParsedOptions&) {
  constexpr double nf4_double_quantised = 4.127 / 8.0;  // bytes a weight (semantics C20)
  return priced_by_roofline(pricer, pricer.dequantise(n[0], nf4_double_quantised), precision);
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"gemm", {"M", "N", "K"}, price_gemm},
      {"attention", {"BATCH", "SEQUENCE", "HEADS", "KV_HEADS", "HEAD_DIM"}, price_attention},
      {"elementwise", {"BYTES"}, price_elementwise},
      {"optimizer", {"ELEMENTS"}, price_optimizer},
      {"dequant", {"WEIGHTS"}, price_dequantise}};
  return all;
}

std::string usage_of(const Kind& kind) {
  std::string text = std::string("takt kernel ") + kind.name;
  for (const char* number : kind.numbers) text += std::string(" ") + number;
  return text;
}

/// One kernel from words such as {"gemm", "4096", "8192", "8192"}.
Result<PricedKernel> priced(const std::vector<std::string>& words, const KernelPricer& pricer, Precision precision,
                            const ParsedOptions& options) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    names.emplace_back(kind.name);
    if (words.empty() || words.front() != kind.name) continue;
    if (words.size() != kind.numbers.size() + 1)
      return usage_error("kernel " + words.front() + " takes other numbers", usage_of(kind));
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 1; i < words.size(); ++i) {
      constexpr double most = 1e15;
      const std::optional<double> number = number_in(words[i]);
      if (!number || *number < 1.0 || *number > most || *number != std::floor(*number)) {
        return usage_error(
            std::string(kind.numbers[i - 1]) + " is a whole number from 1 to 1e15, not \"" + words[i] + "\"",
            usage_of(kind));
      }
      numbers.push_back(static_cast<std::int64_t>(*number));
    }
    PricedKernel result = kind.price(pricer, numbers, precision, options);
    for (const std::string& word : words) result.what += (result.what.empty() ? "" : " ") + word;
    return result;
  }
  const std::string word = words.empty() ? "" : words.front();
  std::string hint = "one of ";
  for (const std::string& name : names) hint += (&name == &names.front() ? "" : ", ") + name;
  if (const auto near = did_you_mean(word, names)) hint = "did you mean \"" + *near + "\"?";
  return usage_error(words.empty() ? "takt kernel needs a kernel" : "there is no kernel \"" + word + "\"", hint);
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

Result<std::vector<PricedKernel>> asked_kernels(const ParsedOptions& options, const KernelPricer& pricer,
                                                Precision precision) {
  if (options.has("batch")) return priced_batch(*options.value("batch"), pricer, precision, options);
  Result<PricedKernel> kernel = priced(options.arguments, pricer, precision, options);
  if (!kernel) return kernel.diagnostics();
  return std::vector<PricedKernel>{std::move(*kernel)};
}

ExitStatus execute(const ParsedOptions& options, const Environment& environment) {
  const std::string dtype = options.value("dtype").value_or("bf16");
  const std::optional<Precision> precision = precision_named(dtype);
  if (!options.has("card") || !precision) {
    environment.err << render(
        precision ? usage_error("takt kernel needs a card", "--card h200-nvl")
                  : usage_error("there is no precision \"" + dtype + "\"", "bf16, fp16, fp32, tf32, fp8 or nvfp4"));
    return ExitStatus::wrong_usage;
  }
  SourcePlace place;
  place.file = "command line";
  Library library(search_path(environment.takt_path));
  const Result<CardSpec> card = library.card(*options.value("card"), place);
  environment.err << render(card.diagnostics());
  if (!card) return ExitStatus::invalid;
  if (card->dense_peak.count(*precision) == 0) {
    environment.err << render(usage_error(card->name + " does not have " + dtype, "see [peak] of " + card->file));
    return ExitStatus::invalid;
  }
  const KernelPricer pricer(*card, ComputeBasis::measured);
  const Result<std::vector<PricedKernel>> kernels = asked_kernels(options, pricer, *precision);
  environment.err << render(kernels.diagnostics());
  if (!kernels) return options.has("batch") ? ExitStatus::invalid : ExitStatus::wrong_usage;
  environment.out << (options.value("format").value_or("table") == "csv" ? kernel_csv(*kernels, pricer)
                                                                         : kernel_table(*kernels, pricer));
  return ExitStatus::done;
}

}  // namespace

Command kernel_command() {
  return {
      "kernel",
      "KERNEL NUMBER...",
      "predicted time of one kernel, its rate, and which limit holds",
      "Kernels: gemm M N K; attention BATCH SEQUENCE HEADS KV_HEADS HEAD_DIM; elementwise BYTES; optimizer ELEMENTS; "
      "dequant WEIGHTS. Prices them on a card as a run does (alone, on an idle card) and says what limits them, how "
      "much of the "
      "peak they reach, and how far the prediction may be off. Attention is causal.",
      {{"card", "CARD", "the card, e.g. h200-nvl", {}},
       {"dtype", "TYPE", "precision of the operands; default bf16", {}},
       {"backward", "", "attention: the backward pass", {}},
       {"attention",
        "FORM",
        "attention: flash (default), flash-triton, sdpa-mask or eager",
        {"flash", "flash-triton", "sdpa-mask", "eager"}},
       {"optimizer", "NAME", "optimizer: adamw (default), adamw-8bit or sgd", {"adamw", "adamw-8bit", "sgd"}},
       {"foreach", "", "optimizer: PyTorch's foreach form, not the fused one", {}},
       {"batch", "FILE.csv", "many kernels: columns kernel, numbers (\"gemm,4096 8192 8192\")", {}},
       {"format", "FORMAT", "table (default) or csv", {"table", "csv"}}},
      "takt kernel gemm 4096 8192 8192 --card h200-nvl",
      execute};
}

}  // namespace takt
