// What measure.py writes, read back, and what is said of rows that are none.
#include "calibration/measurements.hpp"

#include "catch.hpp"

using namespace takt;

namespace {

const std::string columns = std::string(measurement_columns) + '\n';

std::vector<Measurement> read(const std::string& rows) {
  return read_measurements({"m.csv", columns + rows}).value();
}

std::string refused(const std::string& row) {
  return render(read_measurements({"m.csv", columns + row + '\n'}).diagnostics());
}

}  // namespace

TEST_CASE("times and rates of kernels and copies become seconds of a run", "[calibration]") {
  const auto rows = read(
      "# a remark\n"
      "gemm,h200-nvl,product,bf16,8192x4096x7168,811.6,TFLOP/s,\n"
      "attention,h200-nvl,flash forward,bf16,2x4096x32x8x128,1.5,ms,0.01\n"
      "attention,h200-nvl,flash backward,bf16,2x4096x32x8x128,100,TFLOP/s,0.01\n"
      "memory,h200-nvl,triad,fp32,3000000000,4000,GB/s,\n"
      "copy,h200-nvl,0>1 1>0,,100000000,100,GB/s,\n"
      "launch,h200-nvl,kernel,,1,4.5,us,\n"
      "collective,h200-nvl,all_gather,bf16,4x1048576,30,us,\n");
  REQUIRE(rows.size() == 7);
  CHECK(rows[0].seconds == Approx(2.0 * 8192 * 4096 * 7168 / 811.6e12));
  CHECK(rows[1].seconds == Approx(1.5e-3));
  // Causal: half of the square; 2 x 2 multiply-adds a pair forward, 2.5 times that backward.
  CHECK(rows[2].seconds == Approx(2.5 * 2.0 * 2 * 4096.0 * 4096.0 * 32 * 128 / 100e12));
  CHECK(rows[3].seconds == Approx(0.75e-3));
  CHECK(rows[4].seconds == Approx(2e-3));  // two transfers of 100 MB at 100 GB/s together
  CHECK(rows[5].seconds == Approx(4.5e-6));
  CHECK(rows[6].shape == std::vector<std::int64_t>{4, 1048576});
  CHECK(rows[6].place.line == 9);
}

TEST_CASE("a table of products alone is read as products", "[calibration]") {
  const auto rows = read_measurements({"p.csv", "card,precision,m,n,k,ms\nh200-sxm,fp8,16,32,64,0.5\n"}).value();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].kind == MeasuredKind::gemm);
  CHECK(rows[0].precision == Precision::fp8);
  const GemmPoint point = gemm_point(rows[0]);
  CHECK(point.card == "h200-sxm");
  CHECK(point.shape.k == 64);
  CHECK(point.seconds == Approx(0.5e-3));
}

TEST_CASE("rows that are no measurements are refused with place, reason and hint", "[calibration]") {
  CHECK(refused("gem,h200-nvl,product,bf16,1x2x3,1,ms,") ==
        "m.csv:2:1: error: nothing of the kind \"gem\" is measured\n"
        "    2 | gem,h200-nvl,product,bf16,1x2x3,1,ms,\n"
        "      | ^\n"
        "hint: did you mean \"gemm\"?\n");
  CHECK(refused("gemm,,product,bf16,1x2x3,1,ms,") ==
        "m.csv:2:6: error: the row names no card\n"
        "    2 | gemm,,product,bf16,1x2x3,1,ms,\n"
        "      |      ^\n"
        "hint: its id in topologies/cards\n");
  CHECK(refused("gemm,h200-nvl,product,,1x2x3,1,ms,") ==
        "m.csv:2:23: error: no precision is called \"\"\n"
        "    2 | gemm,h200-nvl,product,,1x2x3,1,ms,\n"
        "      |                       ^\n"
        "hint: bf16, fp16, tf32, fp32, fp8, nvfp4 or mxfp8\n");
  CHECK(refused("gemm,h200-nvl,product,bf16,1x2,1,ms,") ==
        "m.csv:2:28: error: the shape of gemm rows is MxNxK\n"
        "    2 | gemm,h200-nvl,product,bf16,1x2,1,ms,\n"
        "      |                            ^\n"
        "hint: whole numbers, at least 1\n");
  CHECK(refused("memory,h200-nvl,copy,fp32,1e9,1,ms,") ==
        "m.csv:2:27: error: the shape of memory rows is the bytes read and written\n"
        "    2 | memory,h200-nvl,copy,fp32,1e9,1,ms,\n"
        "      |                           ^\n"
        "hint: whole numbers, at least 1\n");
  CHECK(refused("memory,h200-nvl,copy,fp32,1000,-1,ms,") ==
        "m.csv:2:32: error: the value is a positive number\n"
        "    2 | memory,h200-nvl,copy,fp32,1000,-1,ms,\n"
        "      |                                ^\n");
  CHECK(refused("memory,h200-nvl,copy,fp32,1000,1,TFLOP/s,") ==
        "m.csv:2:34: error: memory rows have no unit \"TFLOP/s\"\n"
        "    2 | memory,h200-nvl,copy,fp32,1000,1,TFLOP/s,\n"
        "      |                                  ^\n"
        "hint: ms, us or s, or GB/s\n");
  CHECK(refused("memory,h200-nvl,copy") ==
        "m.csv:2:1: error: 3 cells in a table of 8 columns\n"
        "    2 | memory,h200-nvl,copy\n"
        "      | ^\n"
        "hint: put cells that contain a comma in double quotes\n");
  // A file of many wrong rows tells all of them.
  CHECK(read_measurements({"m.csv", columns + "a,,,,,,,\nb,,,,,,,\n"}).diagnostics().size() == 2);
}
