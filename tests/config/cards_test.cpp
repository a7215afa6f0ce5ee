// Every card file against the table of the field's cards, field by field.
#include "catch.hpp"
#include "config/library.hpp"
#include "support/csv.hpp"

#include <optional>
#include <set>

using namespace takt;
using namespace takt::test;

namespace {

using Row = std::map<std::string, std::string>;

std::map<std::string, CardSpec> cards_by_name() {
  Library library(search_path(nullptr));
  std::map<std::string, CardSpec> cards;
  for (const std::string& id : library.card_names()) {
    CardSpec card = library.card(id, {}).value();
    cards.emplace(card.name, std::move(card));
  }
  return cards;
}

/// A number that a card file states in a unit of the table.
struct Field {
  const char* column;
  std::optional<double> (*value)(const CardSpec&);
};

template <Precision precision>
std::optional<double> tflops(const CardSpec& card) {
  const auto found = card.dense_peak.find(precision);
  if (found == card.dense_peak.end()) return std::nullopt;
  return found->second.count() / 1e12;
}

std::optional<double> unless_zero(double value) {
  if (value == 0.0) return std::nullopt;
  return value;
}

constexpr double mebi = 1024.0 * 1024.0;

const Field fields[] = {
    {"compute_capability",
     [](const CardSpec& c) { return unless_zero(static_cast<double>(c.compute_capability) / 10); }},
    {"sm_count", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.sm_count)); }},
    {"boost_clock_mhz", [](const CardSpec& c) { return unless_zero(c.boost_clock.count() / 1e6); }},
    {"bf16_fp32acc_tflops", tflops<Precision::bf16>},
    {"fp16_fp32acc_tflops", tflops<Precision::fp16>},
    {"tf32_tflops", tflops<Precision::tf32>},
    {"fp32_tflops", tflops<Precision::fp32>},
    {"fp8_tflops", tflops<Precision::fp8>},
    {"fp4_tflops", tflops<Precision::nvfp4>},
    {"mem_gb_nominal",
     [](const CardSpec& c) { return unless_zero(static_cast<double>(c.memory_nominal.count()) / 1e9); }},
    {"mem_bw_GBps", [](const CardSpec& c) { return unless_zero(c.memory_bandwidth.count() / 1e9); }},
    {"l2_mb", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.l2_cache.count()) / 1e6); }},
    {"tdp_w", [](const CardSpec& c) { return unless_zero(c.tdp.count()); }},
    {"nvlink_links", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.nvlink_links)); }},
    {"nvlink_GBps_per_dir", [](const CardSpec& c) { return unless_zero(c.nvlink_per_direction.count() / 1e9); }},
    {"nvlink_max_cards", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.nvlink_max_cards)); }},
    {"pcie_gen", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.pcie_generation)); }},
    {"pcie_width", [](const CardSpec& c) { return unless_zero(static_cast<double>(c.pcie_lanes)); }},
};

std::optional<double> number_in(const Row& row, const std::string& column) {
  const std::string& cell = row.at(column);
  if (cell.empty()) return std::nullopt;
  return std::stod(cell);
}

}  // namespace

TEST_CASE("the card files state what the table of cards does", "[config][data]") {
  const std::map<std::string, CardSpec> cards = cards_by_name();
  const auto rows = csv_table("tests/config/data/cards.csv");
  REQUIRE(rows.size() == 22);
  REQUIRE(cards.size() == rows.size());
  for (const Row& row : rows) {
    const auto found = cards.find(row.at("name"));
    CAPTURE(row.at("name"));
    REQUIRE(found != cards.end());
    const CardSpec& card = found->second;
    for (const Field& field : fields) {
      CAPTURE(field.column);
      const std::optional<double> stated = field.value(card), wanted = number_in(row, field.column);
      REQUIRE(stated.has_value() == wanted.has_value());
      if (wanted) CHECK(*stated == Approx(*wanted).epsilon(1e-9));
    }
    // where nobody reports what the driver shows, the file's figure is marked as assumed
    if (const auto visible = number_in(row, "mem_mib_driver")) {
      CHECK(static_cast<double>(card.memory_visible.count()) == *visible * mebi);
    }
    if (const auto engines = number_in(row, "copy_engines")) CHECK(static_cast<double>(card.copy_engines) == *engines);
    CHECK(card.mig_slices == std::stoll(row.at("mig_max")));
    CHECK(card.mig_profiles.empty() == (card.mig_slices == 0));
    CHECK(card.pcie_peer_to_peer == row.at("pcie_p2p").starts_with("yes"));
  }
}

TEST_CASE("slices of a card use no more than the card has", "[config][data]") {
  for (const auto& [name, card] : cards_by_name()) {
    std::set<std::string> names;
    for (const MigProfile& profile : card.mig_profiles) {
      CAPTURE(name, profile.name);
      CHECK(names.insert(profile.name).second);
      CHECK(profile.instances * profile.compute_slices <= card.mig_slices);
      CHECK(static_cast<double>(profile.instances) * profile.memory_share <= 1.0);
      // names are whole GB: 71 for half of 141
      const double share =
          static_cast<double>(profile.memory.count()) / static_cast<double>(card.memory_nominal.count());
      CHECK(share == Approx(profile.memory_share).epsilon(0.03));
      CHECK(profile.name == std::to_string(profile.compute_slices) + "g." +
                                std::to_string(profile.memory.count() / 1'000'000'000) + "gb");
    }
  }
}
