// topologies/cards/*.toml.
#include "config/key_table.hpp"
#include "config/toml_text.hpp"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace takt {
namespace {

/// "9.0" as 90, "12.0" as 120, as NVIDIA writes compute capabilities.
struct ComputeCapability {
  using Value = std::int64_t;

  std::string type() const { return "text such as \"9.0\""; }
  std::string range() const { return "\"5.0\" .. \"19.9\""; }
  bool read(const Node& node, const std::string& key, Value& value, Reading& reading) const {
    const auto* text = node.as<std::string>();
    const std::size_t dot = text ? text->find('.') : std::string::npos;
    const auto digits = [](std::string_view part) {
      return !part.empty() && part.size() <= 2 && part.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::string_view all = text ? *text : std::string_view();
    if (dot == std::string::npos || !digits(all.substr(0, dot)) || !digits(all.substr(dot + 1)) ||
        all.size() != dot + 2) {
      reading.error(node.place, fmt::format("{} needs a compute capability in quotes, not {}", key, describe(node)),
                    "write \"9.0\" for Hopper, \"12.0\" for Blackwell workstation cards");
      return false;
    }
    constexpr std::int64_t major_scale = 10;
    const std::int64_t capability = std::stoll(text->substr(0, dot)) * major_scale + std::stoll(text->substr(dot + 1));
    constexpr std::int64_t oldest = 50;  // Maxwell, the first with today's drivers
    constexpr std::int64_t newest = 199;
    if (capability < oldest || capability > newest) return add_out_of_range(node, key, range(), reading), false;
    value = capability;
    return true;
  }
  std::string write(const Value& value) const {
    constexpr std::int64_t major_scale = 10;
    return value == 0 ? "" : fmt::format("\"{}.{}\"", value / major_scale, value % major_scale);
  }
};

/// [peak]: one key a precision; a precision that is left out is one the card does not have.
Key<CardSpec> peak_key(const std::string& word, Precision precision) {
  const Amount<FlopRate> kind{FlopRate(1e9), FlopRate(1e18)};
  return {{"peak." + word, Presence::optional, kind.type(), kind.range(),
           "dense rate with FP32 accumulation; left out = the card does not have it"},
          [kind, precision](const Node& node, const std::string& key, CardSpec& card, Reading& reading) {
            FlopRate rate{};
            if (kind.read(node, key, rate, reading)) card.dense_peak[precision] = rate;
          },
          [kind, precision](const CardSpec& card) {
            const auto found = card.dense_peak.find(precision);
            return found == card.dense_peak.end() ? std::string() : kind.write(found->second);
          },
          {}};
}

const KeyTable<MigProfile>& mig_keys() {
  constexpr KeyMaker<MigProfile> key;
  const Amount<Bytes> size{Bytes(1), Bytes(1'000'000'000'000'000)};
  static const KeyTable<MigProfile> table({
      key.required("profile", at(&MigProfile::name), Text{}, "as NVIDIA writes it, e.g. 1g.18gb"),
      key.required("instances", at(&MigProfile::instances), Integer{1, 7}, "most of them on one card"),
      key.required("compute_slices", at(&MigProfile::compute_slices), Integer{1, 7}, "of the card's mig_slices"),
      key.required("memory_share", at(&MigProfile::memory_share), Real{0.01, 1.0},
                   "of the card's memory, its bandwidth and its second-level cache"),
      key.required("memory", at(&MigProfile::memory), size, "as the profile's name says"),
      key.optional("usable", at(&MigProfile::usable), Optional<Amount<Bytes>>{size, ""},
                   "what NVIDIA states as usable; left out: the share of memory.visible"),
  });
  return table;
}

const KeyTable<PowerPoint>& power_keys() {
  constexpr KeyMaker<PowerPoint> key;
  const Real share{0.01, 1.0};
  static const KeyTable<PowerPoint> table({
      key.required("limit", at(&PowerPoint::limit), Amount<Power>{Power(1), Power(10'000)}, "the power limit"),
      key.required("compute", at(&PowerPoint::compute), share, "speed of kernels bound by compute, of that at tdp"),
      key.optional("memory", at(&PowerPoint::memory), Optional<Real>{share, ""},
                   "speed of kernels bound by memory; left out: not measured at this limit"),
  });
  return table;
}

/// A key of [gemm.`word`]: what `reach` finds in the calibration.
template <class Kind, class Reach>
Key<CardSpec> gemm_key(const std::string& word, Precision precision, const std::string& name, Reach reach, Kind kind,
                       const std::string& meaning) {
  return {{"gemm." + word + '.' + name, Presence::optional, kind.type(), kind.range(), meaning},
          [=](const Node& node, const std::string& key, CardSpec& card, Reading& reading) {
            kind.read(node, key, reach(card.gemm[precision]), reading);
          },
          [=](const CardSpec& card) {
            const auto found = card.gemm.find(precision);
            return kind.write(reach(found == card.gemm.end() ? GemmCalibration{} : found->second));
          },
          {}};
}

/// [gemm.bf16] and alike: the constants of the GEMM model (workload/gemm_model.hpp) and the residuals.
void add_gemm_keys(std::vector<Key<CardSpec>>& keys, const std::string& word, Precision precision) {
  const auto constant = [&](const char* name, double GemmConstants::*member, Real kind, const char* meaning) {
    const auto reach = [member](auto&& calibration) -> auto&& {
      return calibration.constants.*member;
    };
    keys.push_back(gemm_key(word, precision, name, reach, kind, meaning));
  };
  const auto text = [&](const char* name, std::string GemmCalibration::*member, const char* meaning) {
    const auto reach = [member](auto&& calibration) -> auto&& {
      return calibration.*member;
    };
    keys.push_back(gemm_key(word, precision, name, reach, Text{}, meaning));
  };
  constant("efficiency", &GemmConstants::efficiency, {least_gemm_efficiency, most_gemm_efficiency},
           "of the dense peak, before all losses below");
  constant("partial_wave", &GemmConstants::partial_wave, {0.0, 1.0}, "share of the last wave's idle SMs that is paid");
  constant("small_tile", &GemmConstants::small_tile, {0.0, 0.5}, "loss of tiles below 128 x 128");
  constant("depth_start", &GemmConstants::depth_start, {0.0, 1000.0}, "elements of K that starting a tile costs");
  constant("launch_us", &GemmConstants::launch_us, {0.0, 50.0}, "microseconds that every product pays");
  constant("memory", &GemmConstants::memory, {0.3, 1.2}, "of the memory bandwidth");
  constant("power_drop", &GemmConstants::power_drop, {0.0, 0.2}, "loss for each doubling of the work beyond 1 ms");
  constant("cache_drop", &GemmConstants::cache_drop, {-0.2, 0.3}, "loss for each doubling of the data beyond the L2");
  constant("quantise_ps", &GemmConstants::quantise_ps, {0.0, 2000.0},
           "picoseconds of an SM to cast an activation; 0: no cast");
  const auto interval = [](auto&& calibration) -> auto&& {
    return calibration.interval;
  };
  keys.push_back(gemm_key(word, precision, "interval", interval, Real{0.0, 2.0},
                          "90 % of products lie within this relative error"));
  text("like", &GemmCalibration::like, "the card whose constants and residuals stand for this one's");
  text("residuals", &GemmCalibration::residual_file, "measured over modelled, a CSV file beside this one");
  text("source", &GemmCalibration::source, "what the constants were fitted to");
}

std::vector<Key<CardSpec>> card_key_rows() {
  constexpr KeyMaker<CardSpec> key;
  const Amount<Bytes> size{Bytes(1), Bytes(1'000'000'000'000'000)};
  const Amount<Bandwidth> bandwidth{Bandwidth(1e6), Bandwidth(1e15)};
  const Real share{0.01, 1.0};
  std::vector<Key<CardSpec>> keys = {
      key.required("name", at(&CardSpec::name), Text{}, "as NVIDIA writes it"),
      key.required("architecture", at(&CardSpec::architecture), Text{}, "Hopper, Blackwell, ..."),
      key.required("compute_capability", at(&CardSpec::compute_capability), ComputeCapability{},
                   "decides which precisions and kernels exist"),
      key.required("sm_count", at(&CardSpec::sm_count), Integer{1, 1024}, "streaming multiprocessors in use"),
      key.required("boost_clock", at(&CardSpec::boost_clock), Amount<Frequency>{Frequency(1e8), Frequency(1e10)},
                   "highest clock of the SMs"),
      key.required("l2_cache", at(&CardSpec::l2_cache), size, "second-level cache"),
      key.required("tdp", at(&CardSpec::tdp), Amount<Power>{Power(1), Power(10'000)}, "power limit as delivered"),
      key.optional("idle_power", at(&CardSpec::idle_power), Optional<Amount<Power>>{{Power(1), Power(10'000)}, ""},
                   "draw with nothing to do and clocks up, the lowest published; left out: not known"),
      key.optional("sustained", at(&CardSpec::sustained), Optional<Real>{{0.1, 1.0}, ""},
                   "rate of matrix products that last over that of short ones; left out: not measured"),
      key.optional("copy_engines", at(&CardSpec::copy_engines), Integer{1, 16}, "copies that can run at once"),
      key.optional("mig_slices", at(&CardSpec::mig_slices), Integer{0, 7}, "most MIG instances; 0 = none"),
      key.list("mig", at(&CardSpec::mig_profiles), mig_keys(), "the MIG instances that the card can be cut into"),
      key.list("power", at(&CardSpec::power_points), power_keys(),
               "measured speed under lower power limits, ascending"),
      key.required("source", at(&CardSpec::source), Text{}, "where the figures come from"),
      key.optional("confidence", at(&CardSpec::confidence), Text{}, "how sure they are: high, medium, low"),
      peak_key("bf16", Precision::bf16),
      peak_key("fp16", Precision::fp16),
      peak_key("tf32", Precision::tf32),
      peak_key("fp32", Precision::fp32),
      peak_key("fp8", Precision::fp8),
      peak_key("nvfp4", Precision::nvfp4),
      peak_key("mxfp8", Precision::mxfp8),
      key.required("memory.nominal", at(&CardSpec::memory_nominal), size, "what the data sheet says"),
      key.required("memory.visible", at(&CardSpec::memory_visible), size, "what the driver shows"),
      key.required("memory.bandwidth", at(&CardSpec::memory_bandwidth), bandwidth, "peak of the card's memory"),
      key.optional("nvlink.links", at(&CardSpec::nvlink_links), Integer{0, 72}, "NVLinks; 0 = none"),
      key.optional("nvlink.bandwidth", at(&CardSpec::nvlink_per_direction),
                   Amount<Bandwidth>{Bandwidth(0), Bandwidth(1e15)}, "per direction, all links together"),
      key.optional("nvlink.max_cards", at(&CardSpec::nvlink_max_cards), Integer{0, 1024},
                   "cards that one bridge or switch domain may join"),
      key.optional("pcie.generation", at(&CardSpec::pcie_generation), Integer{3, 7}, "PCIe generation"),
      key.optional("pcie.lanes", at(&CardSpec::pcie_lanes), Integer{1, 16}, "PCIe lanes"),
      key.optional("pcie.peer_to_peer", at(&CardSpec::pcie_peer_to_peer), Flag{},
                   "whether the driver lets cards write to each other over PCIe"),
      key.optional("efficiency.gemm", at(&CardSpec::efficiency, &KernelEfficiency::gemm), share,
                   "of the dense peak, matrix products"),
      key.optional("efficiency.attention", at(&CardSpec::efficiency, &KernelEfficiency::attention), share,
                   "of the dense peak, attention forward"),
      key.optional("efficiency.attention_backward", at(&CardSpec::efficiency, &KernelEfficiency::attention_backward),
                   share, "of the dense peak, attention backward"),
      key.optional("efficiency.memory", at(&CardSpec::efficiency, &KernelEfficiency::memory), share,
                   "of the memory bandwidth, elementwise kernels and copies"),
      key.optional("efficiency.dequantise", at(&CardSpec::efficiency, &KernelEfficiency::dequantise), share,
                   "of the memory bandwidth, NF4 to BF16"),
      key.optional("efficiency.attention_measured", at(&CardSpec::efficiency, &KernelEfficiency::attention_measured),
                   Flag{}, "attention was measured on this chip; false = taken over from another, a wide interval"),
      key.optional("efficiency.memory_measured", at(&CardSpec::efficiency, &KernelEfficiency::memory_measured), Flag{},
                   "memory was measured on this card; false = taken over"),
      key.optional("efficiency.source", at(&CardSpec::efficiency, &KernelEfficiency::source), Text{},
                   "where the factors come from"),
  };
  add_gemm_keys(keys, "bf16", Precision::bf16);
  add_gemm_keys(keys, "fp8", Precision::fp8);
  add_gemm_keys(keys, "nvfp4", Precision::nvfp4);
  return keys;
}

const KeyTable<CardSpec>& card_keys() {
  static const KeyTable<CardSpec> table(card_key_rows());
  return table;
}

void check_slices(const CardSpec& card, Reading& reading) {
  for (const MigProfile& profile : card.mig_profiles) {
    if (profile.compute_slices > card.mig_slices && reading.is_sound("mig_slices")) {
      reading.error(profile.place,
                    fmt::format("{} takes {} compute slices, but mig_slices is {}", profile.name,
                                profile.compute_slices, card.mig_slices),
                    "mig_slices is the number of smallest instances");
    }
  }
}

void check_power_points(const CardSpec& card, Reading& reading) {
  Power before{};
  for (const PowerPoint& point : card.power_points) {
    if (point.limit <= before || (point.limit >= card.tdp && reading.is_sound("tdp"))) {
      reading.error(point.place, "power limits must ascend and stay below tdp", "at tdp all shares are 1");
    }
    before = point.limit;
  }
}

void check_card(const CardSpec& card, const Document& document, Reading& reading) {
  const auto place = [&](const std::string& key) { return place_of(reading.places, key, document.file); };
  if (card.dense_peak.empty() && !has_error(reading.diagnostics)) {
    const Node* peak = find_path(document.root, "peak");
    reading.error(peak ? peak->place : document.root.place, "[peak] names no precision",
                  "write at least bf16 or fp16, e.g. bf16 = \"835.5 TFLOP/s\"");
  }
  const bool links_known = reading.is_sound("nvlink.links") && reading.is_sound("nvlink.bandwidth");
  if (links_known && card.nvlink_links > 0 && card.nvlink_per_direction == Bandwidth(0)) {
    reading.error(place("nvlink.links"), "nvlink.links without nvlink.bandwidth",
                  "bandwidth is per direction, all links together, e.g. \"450 GB/s\"");
  }
  if (links_known && card.nvlink_links == 0 && card.nvlink_per_direction > Bandwidth(0)) {
    reading.error(place("nvlink.bandwidth"), "nvlink.bandwidth on a card without NVLinks", "set nvlink.links as well");
  }
  if (card.nvlink_links > 0 && card.nvlink_max_cards < 2 && reading.is_sound("nvlink.max_cards")) {
    reading.error(place("nvlink.links"), "NVLinks, but nvlink.max_cards does not say how many cards they may join",
                  "2 or 4 for bridges, 8 for an NVSwitch board");
  }
  check_slices(card, reading);
  check_power_points(card, reading);
}

}  // namespace

Result<CardSpec> read_card(const SourceText& source, const NodeChanges& changes) {
  const Result<Document> document = parse_changed(source, changes);
  if (!document) return document.diagnostics();
  CardSpec card;
  Reading reading;
  card_keys().read(document->root, "", card, reading);
  check_card(card, *document, reading);
  card.id = file_stem(source.file);
  card.file = source.file;
  card.places = reading.places;
  return finish(std::move(card), std::move(reading));
}

std::vector<KeyDescription> card_key_reference() {
  return card_keys().describe();
}

}  // namespace takt
