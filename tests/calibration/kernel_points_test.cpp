#include "calibration/kernel_points.hpp"

#include "catch.hpp"
#include "report/kernel_points_table.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <cmath>
#include <map>

using namespace takt;

namespace {

std::vector<KernelPoint> published() {
  return read_kernel_points(read_text_file(test::source_dir() + "/validation/kernels/published.csv").value()).value();
}

Library& library() {
  static Library of_project(search_path(nullptr));
  return of_project;
}

const std::vector<PointScore>& scores() {
  static const std::vector<PointScore> all = score_points(published(), library()).value();
  return all;
}

std::vector<PointScore> held_out(PriceKind kind) {
  std::vector<PointScore> found;
  for (const PointScore& score : scores())
    if (score.kind == kind && score.held_out()) found.push_back(score);
  return found;
}

double share_within(const std::vector<PointScore>& of) {
  const auto within = std::count_if(of.begin(), of.end(), [](const PointScore& score) { return score.is_within(); });
  return static_cast<double>(within) / static_cast<double>(of.size());
}

constexpr const char* header = "device,card,kernel,precision,numbers,rate,clocks,in_sample,left_out,source\n";

}  // namespace

TEST_CASE("every published kernel is scored or left out by a rule", "[calibration][kernels]") {
  const std::vector<KernelPoint> points = published();
  CHECK(points.size() == 580);
  const auto scored =
      std::count_if(points.begin(), points.end(), [](const KernelPoint& p) { return p.left_out.empty(); });
  const auto once =
      std::count_if(scores().begin(), scores().end(), [](const PointScore& s) { return !s.as_unmeasured; });
  CHECK(once == scored);
  const std::string table = kernel_points_table(points, scores());
  CHECK(table.find("580 rows in = 414 scored + 166 left out by rule") != std::string::npos);
  CHECK(table.find("LEFT") == std::string::npos);
  const std::string rows = point_rows_csv(points, scores());
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 580);
  CHECK(rows.find("rtx-4090,memory,,,920,GB/s,917.28,") != std::string::npos);
}

TEST_CASE("intervals of kinds of kernels hold what no constant was read from", "[calibration][kernels]") {
  CHECK(left_point_bounds(scores()).empty());
  for (const PriceKind kind : {PriceKind::product_by_number, PriceKind::product_without,
                               PriceKind::attention_taken_over, PriceKind::memory_taken_over}) {
    const std::vector<PointScore> of = held_out(kind);
    CAPTURE(name_of(kind), of.size());
    REQUIRE(of.size() >= 10);
    CHECK(share_within(of) >= 0.85);
    if (kind == PriceKind::product_by_number) CHECK(share_within(of) <= 0.95);
  }
}

TEST_CASE("attention of measured chips, from few points", "[calibration][kernels]") {
  const std::vector<PointScore> of = held_out(PriceKind::attention_measured);
  CHECK(of.size() == 8);
  CHECK(share_within(of) >= 0.85);
}

TEST_CASE("a bound that is left is told by name", "[calibration][kernels]") {
  std::vector<PointScore> worse = scores();
  for (PointScore& score : worse)
    if (score.kind == PriceKind::attention_measured) score.predicted *= 2.0;
  CHECK(left_point_bounds(worse) ==
        std::vector<std::string>{"published kernels priced as \"attention, measured chip\""});
}

TEST_CASE("a constant that was read from a row gives that row back", "[calibration][kernels]") {
  for (const PointScore& score : scores()) {
    const std::string& constant = score.point.in_sample;
    if (score.as_unmeasured || (constant != "attention" && constant != "attention_backward" && constant != "memory"))
      continue;
    CAPTURE(score.point.device, score.point.rate, score.predicted);
    CHECK(std::abs(score.error()) < 0.015);
  }
}

TEST_CASE("published kernels that cannot be read are refused with their line", "[calibration][kernels]") {
  const auto message = [](const std::string& rows) {
    return render(read_kernel_points({"k.csv", header + rows}).diagnostics());
  };
  CHECK(message("A,l40s,gemm,bf16,1 2 3,5,burst,,because,me\n") ==
        "k.csv:2:33: error: there is no rule \"because\"\n"
        "    2 | A,l40s,gemm,bf16,1 2 3,5,burst,,because,me\n"
        "      |                                 ^\n");
  const std::string incomplete = "error: a scored row needs its kernel's numbers and a rate\n";
  CHECK(message("A,l40s,gemm,bf16,1 2,5,burst,,,me\n") == "k.csv:2:18: " + incomplete +
                                                              "    2 | A,l40s,gemm,bf16,1 2,5,burst,,,me\n"
                                                              "      |                  ^\n");
  CHECK(message("A,l40s,attention,bf16,1 2 4 2 64,0,burst,,,me\n").starts_with("k.csv:2:23: " + incomplete));
  const auto unknown = read_kernel_points({"k.csv", std::string(header) + "A,l40t,memory,,,500,burst,,,me\n"});
  CHECK(render(score_points(unknown.value(), library()).diagnostics()).find("l40t") != std::string::npos);
}
