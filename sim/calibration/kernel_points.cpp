#include "calibration/kernel_points.hpp"

#include "base/text.hpp"
#include "config/card_state.hpp"
#include "config/csv.hpp"
#include "workload/gemm_model.hpp"
#include "workload/precision.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace takt {
namespace {

constexpr double tera = 1e12;

std::vector<std::int64_t> whole_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::string_view rest = trim(text); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    const std::optional<double> number = number_in(word);
    if (!number) return {};
    numbers.push_back(std::llround(*number));
    rest = trim(rest.substr(word.size()));
  }
  return numbers;
}

bool is_rule(const std::string& name) {
  return std::any_of(point_rules().begin(), point_rules().end(),
                     [&](const PointRule& rule) { return rule.name == name; });
}

/// How many numbers describe a kernel; 0: none that is known.
std::size_t numbers_of(const std::string& kernel) {
  if (kernel.starts_with("gemm")) return 3;
  if (kernel.starts_with("attention")) return 5;
  return kernel == "power" ? 1 : 0;
}

struct Predicted {
  double rate = 0.0;
  PriceKind kind = PriceKind::power;
  double interval = 0.0;
  bool small = false;
};

/// A table of products with casts is one number for products without.
PriceKind kind_of(const CardSpec& card, const GemmShape& shape) {
  const Precision precision = shape.precision;
  const GemmCalibration* calibration = gemm_calibration(card, precision);
  if (calibration != nullptr && calibration->like.empty())
    return shape.casts ? PriceKind::product_by_table : PriceKind::product_by_number;
  const bool assumed = calibration == nullptr || calibration->interval >= no_point_interval(precision);
  return assumed ? PriceKind::product_without : PriceKind::product_by_number;
}

Predicted predicted_product(const CardSpec& card, const KernelPoint& point, Precision precision) {
  const GemmShape shape{point.numbers[0], point.numbers[1], point.numbers[2], precision, point.kernel == "gemm"};
  const Clocks clocks = card.sustained ? point.clocks : Clocks::burst;
  const KernelPricer pricer(card, ComputeBasis::measured, kernels_alone(), clocks);
  double seconds = to_seconds(pricer.gemm("gemm", shape.m, shape.n, shape.k, precision).time);
  const GemmCalibration* calibration = gemm_calibration(card, precision);
  if (calibration != nullptr && !shape.casts) {
    GemmShape with_cast = shape;
    with_cast.casts = true;
    seconds *= estimate_gemm(card, *calibration, shape).seconds / estimate_gemm(card, *calibration, with_cast).seconds;
  }
  constexpr double small = 4.3e9;  // 2^31 multiplications and additions
  const PriceKind kind = kind_of(card, shape);
  double interval = gemm_interval(card, precision, seconds).relative;
  if (kind == PriceKind::product_by_number) interval = std::max(interval, one_number_interval);
  return {shape.flops() / seconds / tera, kind, interval, shape.flops() <= small};
}

Predicted predicted_attention(const CardSpec& card, const KernelPoint& point, Precision precision) {
  const std::vector<std::int64_t>& n = point.numbers;
  TransformerShape shape;
  shape.query_heads = n[2];
  shape.kv_heads = n[3];
  shape.head_dim = n[4];
  const AttentionPass pass = point.kernel == "attention" ? AttentionPass::forward : AttentionPass::backward;
  const Kernel kernel = KernelPricer(card, ComputeBasis::measured)
                            .attention({n[0], {n[1]}}, shape, AttentionKernel::flash, pass, precision);
  const bool measured = card.efficiency.attention_measured;
  return {kernel.flops.count() / to_seconds(kernel.time) / tera,
          measured ? PriceKind::attention_measured : PriceKind::attention_taken_over,
          attention_interval(card, AttentionKernel::flash).relative};
}

Predicted predicted_memory(const CardSpec& card) {
  constexpr std::int64_t gigabyte = 1'000'000'000;
  const Kernel kernel = KernelPricer(card, ComputeBasis::measured).memory("copy", Bytes(gigabyte));
  const bool measured = card.efficiency.memory_measured;
  return {1.0 / to_seconds(kernel.time), measured ? PriceKind::memory_measured : PriceKind::memory_taken_over,
          memory_interval(card).relative};
}

/// The card as if nobody had measured its attention and memory.
CardSpec unmeasured(CardSpec card, const CardSpec& a100) {
  card.efficiency.attention = a100.efficiency.attention;
  card.efficiency.attention_backward = a100.efficiency.attention_backward;
  card.efficiency.memory = KernelEfficiency{}.memory;
  card.efficiency.attention_measured = card.efficiency.memory_measured = false;
  return card;
}

/// What a sweep over power limits says of one limit: its rate over that of the sweep's highest limit.
Predicted predicted_under_limit(const CardSpec& card, const KernelPoint& point, const KernelPoint& reference) {
  const auto share = [&card](const KernelPoint& at) {
    const Power limit(static_cast<double>(at.numbers[0]));
    const CardSpec held = limit < card.tdp ? limited(card, limit) : card;
    return held.dense_peak.begin()->second.count() / card.dense_peak.begin()->second.count();
  };
  return {reference.rate * share(point) / share(reference), PriceKind::power, 0.0};
}

class Scorer {
 public:
  Scorer(const std::vector<KernelPoint>& points, Library& library) : points_(points), library_(library) {}

  Result<std::vector<PointScore>> run() {
    SourcePlace asked_at;
    asked_at.file = "validation/kernels/published.csv";
    const Result<CardSpec> a100 = library_.card("a100-sxm-80", asked_at);
    if (!a100) return a100.diagnostics();
    std::vector<PointScore> scores;
    for (const KernelPoint& point : points_) {
      if (!point.left_out.empty()) continue;
      const Result<CardSpec> card = library_.card(point.card, asked_at);
      if (!card) return card.diagnostics();
      scores.push_back(score(*card, point, false));
      const PriceKind kind = scores.back().kind;
      const bool measured = kind == PriceKind::memory_measured ||
                            (kind == PriceKind::attention_measured && card->architecture != a100->architecture);
      if (measured) scores.push_back(score(unmeasured(*card, *a100), point, true));
    }
    return scores;
  }

 private:
  PointScore score(const CardSpec& card, const KernelPoint& point, bool as_unmeasured) const {
    const Predicted predicted = predict(card, point);
    return {point, predicted.kind, predicted.rate, predicted.interval, predicted.small, as_unmeasured};
  }

  Predicted predict(const CardSpec& card, const KernelPoint& point) const {
    if (point.kernel == "memory") return predicted_memory(card);
    if (point.kernel == "power") return predicted_under_limit(card, point, reference_of(point));
    const Precision precision = precision_named(point.precision).value_or(Precision::bf16);
    return point.kernel.starts_with("gemm") ? predicted_product(card, point, precision)
                                            : predicted_attention(card, point, precision);
  }

  const KernelPoint& reference_of(const KernelPoint& point) const {
    const auto found = std::find_if(points_.begin(), points_.end(), [&point](const KernelPoint& other) {
      return other.device == point.device && other.left_out == "reference";
    });
    expects(found != points_.end(), "a sweep with its highest limit");
    return *found;
  }

  const std::vector<KernelPoint>& points_;
  Library& library_;
};

}  // namespace

const std::vector<PointRule>& point_rules() {
  static const std::vector<PointRule> all = {
      {"no-card-file", "Takt has no file of the device"},
      {"best-of-shapes", "the best of a search over shapes: chosen for being fast"},
      {"above-the-peak", "a table with rates above the card's dense peak"},
      {"no-shape", "the shape is not told"},
      {"no-rate", "no rate is told"},
      {"device-not-told", "several kinds of cards, or none named"},
      {"not-a-kernel", "copies by copy engines and between devices: validation/links"},
      {"no-causal-mask", "attention without a causal mask, which training does not run"},
      {"other-attention-kernel", "FlashAttention-3 and cuDNN: no price of their own"},
      {"chassis-throttles", "the publisher's chassis did not cool the card"},
      {"below-the-points", "a limit below the lowest that the card's file has"},
      {"reference", "the highest limit of a sweep, which the others are compared with"},
  };
  return all;
}

Result<std::vector<KernelPoint>> read_kernel_points(const SourceText& source) {
  const Result<CsvTable> table =
      read_csv(source, "device,card,kernel,precision,numbers,rate,clocks,in_sample,left_out,source");
  if (!table) return table.diagnostics();
  std::vector<KernelPoint> points;
  Diagnostics errors;
  for (const CsvRow& row : table->rows) {
    const std::vector<std::string>& cells = row.cells;
    KernelPoint point{.device = cells[0],
                      .card = cells[1],
                      .kernel = cells[2],
                      .precision = cells[3],
                      .numbers = whole_numbers(cells[4]),
                      .rate = number_in(cells[5]).value_or(0.0),
                      .clocks = cells[6] == "sustained" ? Clocks::sustained : Clocks::burst,
                      .in_sample = cells[7],
                      .left_out = cells[8],
                      .source = cells[9]};
    if (!point.left_out.empty() && !is_rule(point.left_out)) {
      errors.push_back(table->error_in(row, 8, "there is no rule \"" + point.left_out + "\""));
    } else if (point.left_out.empty() && (point.numbers.size() != numbers_of(point.kernel) || !(point.rate > 0.0))) {
      errors.push_back(table->error_in(row, 4, "a scored row needs its kernel's numbers and a rate"));
    }
    points.push_back(std::move(point));
  }
  if (!errors.empty()) return errors;
  return points;
}

const char* name_of(PriceKind kind) {
  switch (kind) {
    case PriceKind::product_by_table:
      return "product, own table";
    case PriceKind::product_by_number:
      return "product, one number";
    case PriceKind::product_without:
      return "product, no point";
    case PriceKind::attention_measured:
      return "attention, measured chip";
    case PriceKind::attention_taken_over:
      return "attention, taken over";
    case PriceKind::memory_measured:
      return "memory, measured card";
    case PriceKind::memory_taken_over:
      return "memory, taken over";
    case PriceKind::power:
      return "power limit";
  }
  unreachable("a kind of price");
}

bool PointScore::is_within() const {
  return std::abs(error()) <= interval;
}

Result<std::vector<PointScore>> score_points(const std::vector<KernelPoint>& points, Library& library) {
  return Scorer(points, library).run();
}

}  // namespace takt
