// Links and collectives of servers from what others measured on such machines.
#include "calibration/server_file.hpp"

#include "calibration/measurements.hpp"
#include "catch.hpp"
#include "config/library.hpp"
#include "config/reader.hpp"
#include "support/source_dir.hpp"

using namespace takt;

namespace {

std::vector<Measurement> recorded(const std::string& name) {
  return read_measurements(read_text_file(takt::test::source_dir() + "/tests/calibration/data/" + name).value()).value();
}

std::vector<Measurement> measured(const std::string& rows) {
  return read_measurements({"m.csv", std::string(measurement_columns) + '\n' + rows}).value();
}

struct Machine {
  ServerSpec server;
  std::map<std::string, CardSpec> cards;
};

Machine machine(const std::string& name) {
  Library library(search_path(nullptr));
  Machine found{library.server(name, {}).value(), {}};
  for (const DeviceSpec& device : found.server.devices) {
    if (device.kind == DeviceKind::card) found.cards.emplace(device.card, library.card(device.card, {}).value());
  }
  return found;
}

CalibratedServer calibrated(const std::string& base, const std::string& file) {
  const Machine found = machine(base);
  return calibrated_server(found.server, found.cards, recorded(file), file).value();
}

double effective(const ServerSpec& server, const std::string& from, const std::string& to) {
  for (const LinkSpec& link : server.links) {
    if ((link.from == from && link.to == to) || (link.from == to && link.to == from))
      return link.type.effective.count() / 1e9;
  }
  throw std::runtime_error("no link " + from + " " + to);
}

}  // namespace

TEST_CASE("published copies of whole machines are met after calibration", "[calibration]") {
  struct Case {
    std::string base, file;
    double median;  ///< of the relative errors
  };
  for (const Case& c : {Case{"8x-rtx-4090", "8x-rtx-4090.csv", 0.02},
                        Case{"8x-rtx-pro-6000-server-asus-esc8000a", "8x-rtx-pro-6000.csv", 0.02},
                        Case{"8x-a100-sxm-80-dgx", "8x-a100.csv", 0.01}}) {
    CAPTURE(c.base);
    const CalibratedServer result = calibrated(c.base, c.file);
    CHECK(result.copies_after.rows >= 56);
    CHECK(result.copies_after.median <= c.median);
    CHECK(result.copies_after.median <= result.copies_before.median);
  }
}

TEST_CASE("a calibrated server's file reads back as the same machine", "[calibration]") {
  Library library(search_path(nullptr));
  const auto types = library.link_types().value();
  for (const auto& [base, file] : {std::pair<std::string, std::string>{"8x-rtx-4090", "8x-rtx-4090.csv"},
                                   {"8x-a100-sxm-80-dgx", "8x-a100.csv"},
                                   {"8x-h200-sxm-hgx", "8x-h200-collectives.csv"}}) {
    CAPTURE(base);
    const CalibratedServer result = calibrated(base, file);
    const std::string text = server_file_text(result, types, base, file);
    CHECK(text.starts_with("# " + base + " with what was measured: " + file + "\n# "));
    const ServerSpec read = read_server({"mine.toml", text}, types).value();
    REQUIRE(read.links.size() == result.server.links.size());
    for (std::size_t i = 0; i < read.links.size(); ++i) {
      CHECK(read.links[i].type.effective == result.server.links[i].type.effective);
      CHECK(read.links[i].type.both_directions == result.server.links[i].type.both_directions);
    }
    CHECK(read.nccl.rate == result.server.nccl.rate);
    CHECK(read.nccl.latency == result.server.nccl.latency);
  }
}

TEST_CASE("collectives of published machines: the model's factors meet them better than one", "[calibration]") {
  for (const auto& [base, file] :
       {std::pair<std::string, std::string>{"8x-h200-sxm-hgx", "8x-h200-collectives.csv"},
        {"8x-rtx-pro-6000-server-4-switches-spr", "8x-rtx-pro-6000-collectives.csv"}}) {
    CAPTURE(base);
    const CalibratedServer result = calibrated(base, file);
    CHECK(result.collectives.rows >= 60);
    CHECK(result.collectives.median <= result.collectives.before);
    CHECK(result.collectives.median <= 0.10);
    CHECK(result.server.nccl.rate == Approx(1.0).margin(0.15));  // the constants were fitted to these and other rows
  }
}

TEST_CASE("a slot at half its width stands out, equal links share a figure", "[calibration]") {
  // Four RTX 4090 on root ports: card 2 copies at 13 GB/s wherever it takes part, all others at 25 to 25.4.
  std::string rows;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      if (a == b) continue;
      const double rate = a == 2 || b == 2 ? 13.0 : 25.0 + 0.1 * (a + b) / 2.0;
      rows += "copy,rtx-4090," + std::to_string(a) + '>' + std::to_string(b) + ",,100000000," + std::to_string(rate) +
              ",GB/s,\n";
    }
  }
  const Machine found = machine("4x-rtx-4090");
  const CalibratedServer result = calibrated_server(found.server, found.cards, measured(rows), "m.csv").value();
  CHECK(effective(result.server, "cpu0", "gpu2") == Approx(13.0));
  CHECK(effective(result.server, "cpu0", "gpu0") == Approx(25.2).margin(0.1));
  CHECK(effective(result.server, "cpu0", "gpu0") == effective(result.server, "cpu0", "gpu3"));
  CHECK(result.copies_after.worst < 0.01);
}

TEST_CASE("NVLinks of a bridge are calibrated one by one of their number", "[calibration]") {
  // A 4-way bridge of H200 NVL joins each pair by 6 of 18 NVLinks: 120 GB/s are 20 each.
  const Machine found = machine("4x-h200-nvl-4-way-bridge");
  const auto rows = measured("copy,h200-nvl,0>1,,100000000,120,GB/s,\ncopy,h200-nvl,0>1 1>0,,100000000,200,GB/s,\n");
  const CalibratedServer result = calibrated_server(found.server, found.cards, rows, "m.csv").value();
  REQUIRE(result.server.bridges.size() == 1);
  CHECK(result.server.bridges[0].link->effective.count() == Approx(20e9));
  CHECK(result.server.bridges[0].link->both_directions->count() == Approx(200e9 / 6).epsilon(1e-3));
  CHECK(result.copies_after.worst < 0.001);
}

TEST_CASE("where every copy was staged, peer-to-peer is off", "[calibration]") {
  const CalibratedServer result = calibrated("8x-rtx-4090", "8x-rtx-4090-staged.csv");
  CHECK_FALSE(result.server.peer_to_peer.enabled);
  CHECK(result.copies_after.median < 0.05);
}

TEST_CASE("measurements that are not of this server are refused with their row", "[calibration]") {
  const Machine found = machine("4x-rtx-4090");
  const auto refused = [&found](const std::string& row) {
    return render(calibrated_server(found.server, found.cards, measured(row), "m.csv").diagnostics().front());
  };
  CHECK(refused("copy,h200-nvl,0>1,,1000,1,ms,\n") ==
        "m.csv:2:1: error: 4x-rtx-4090 has no card h200-nvl\n"
        "    2 | copy,h200-nvl,0>1,,1000,1,ms,\n"
        "      | ^\n"
        "hint: its cards are rtx-4090\n");
  CHECK(refused("copy,rtx-4090,0>4,,1000,1,ms,\n") ==
        "m.csv:2:1: error: there is no card 4 in 4x-rtx-4090\n"
        "    2 | copy,rtx-4090,0>4,,1000,1,ms,\n"
        "      | ^\n"
        "hint: its cards are 0 to 3\n");
  CHECK(refused("copy,rtx-4090,zero>1,,1000,1,ms,\n") ==
        "m.csv:2:1: error: \"zero>1\" names no transfers\n"
        "    2 | copy,rtx-4090,zero>1,,1000,1,ms,\n"
        "      | ^\n"
        "hint: from>to by card number or host, several with a space between: 0>1 1>0\n");
  CHECK(refused("collective,rtx-4090,all_sum,bf16,4x1000,1,ms,\n") ==
        "m.csv:2:1: error: no collective is called \"all_sum\"\n"
        "    2 | collective,rtx-4090,all_sum,bf16,4x1000,1,ms,\n"
        "      | ^\n"
        "hint: all_gather, reduce_scatter or all_reduce\n");
  CHECK(refused("collective,rtx-4090,all_gather,bf16,8x1000,1,ms,\n") ==
        "m.csv:2:1: error: a collective over 8 cards of 4x-rtx-4090\n"
        "    2 | collective,rtx-4090,all_gather,bf16,8x1000,1,ms,\n"
        "      | ^\n"
        "hint: it has 4\n");
  CHECK(refused("memory,rtx-4090,copy,fp32,1000,1,ms,\n") ==
        "m.csv: error: the file has memory rows, and none of copies, staged copies or collectives, which tell a server's "
        "links\n"
        "hint: measure.py measures them on a server: --only copy,collective\n");
}

TEST_CASE("rates beyond the nominal ones of the base server's links are refused", "[calibration]") {
  // 5,000 GB/s over PCIe became the link's rate, and the collectives' went into [nccl] rate.
  const auto refused = [](const std::string& base, const std::string& row) {
    const Machine found = machine(base);
    const auto result = calibrated_server(found.server, found.cards, measured(row), "m.csv");
    return result ? std::string() : render(result.diagnostics());
  };
  const std::string hint =
      "hint: check the bytes, value and unit of the row, and whether 4x-rtx-4090 is the machine that was measured\n";
  CHECK(refused("4x-rtx-4090", "copy,rtx-4090,0>1,,100000000,5000,GB/s,\n") ==
        "m.csv:2:1: error: what 0>1 moves is 5000 GB/s, and gpu0 -> cpu0 (pcie4-x16, nominal 32 GB/s) allows 32 GB/s\n"
        "    2 | copy,rtx-4090,0>1,,100000000,5000,GB/s,\n"
        "      | ^\n" + hint);
  CHECK(refused("4x-rtx-4090", "copy,rtx-4090,host>0 0>host,,100000000,5000,GB/s,\n") ==
        "m.csv:2:1: error: what host>0 0>host moves is 5000 GB/s, and cpu0 -> gpu0 (pcie4-x16, nominal 32 GB/s) allows 64 "
        "GB/s\n"
        "    2 | copy,rtx-4090,host>0 0>host,,100000000,5000,GB/s,\n"
        "      | ^\n" + hint);
  CHECK(refused("4x-rtx-4090", "staged,rtx-4090,0>1,,100000000,5000,GB/s,\n") ==
        "m.csv:2:1: error: what 0>1 moves is 5000 GB/s, and gpu0 -> cpu0 (pcie4-x16, nominal 32 GB/s) allows 32 GB/s\n"
        "    2 | staged,rtx-4090,0>1,,100000000,5000,GB/s,\n"
        "      | ^\n" + hint);
  // A busbw of 3/4 x 1 GB / 0.15 ms.
  CHECK(refused("4x-rtx-4090", "collective,rtx-4090,all_gather,bf16,4x1000000000,0.15,ms,\n") ==
        "m.csv:2:1: error: the busbw of all_gather over 4 cards is 5000 GB/s, and gpu0 -> cpu0 (pcie4-x16, nominal 32 GB/s) "
        "allows 32 GB/s\n"
        "    2 | collective,rtx-4090,all_gather,bf16,4x1000000000,0.15,ms,\n"
        "      | ^\n" + hint);

  struct Case {
    std::string base, row;
    bool is_possible;
  };
  for (const Case& c : {
           Case{"4x-rtx-4090", "copy,rtx-4090,0>1,,100000000,33,GB/s,", true},  // a few percent are let pass
           Case{"4x-rtx-4090", "copy,rtx-4090,0>1,,100000000,34,GB/s,", false},
           Case{"4x-rtx-4090", "copy,rtx-4090,0>1 2>1,,100000000,40,GB/s,", false},  // both into card 1
           Case{"4x-rtx-4090", "copy,rtx-4090,0>1 2>3,,100000000,50,GB/s,", true},
           Case{"4x-h200-nvl-4-way-bridge", "copy,h200-nvl,0>1,,100000000,150,GB/s,", true},  // six NVLinks of 25
           Case{"4x-h200-nvl-4-way-bridge", "copy,h200-nvl,0>1,,100000000,300,GB/s,", false},
           // Busbw of 450 and, in switches that reduce, twice that: 7/8 x 8 GB, twice in an all-reduce.
           Case{"8x-h200-sxm-hgx", "collective,h200-sxm,all_gather,bf16,8x8000000000,15.6,ms,", true},
           Case{"8x-h200-sxm-hgx", "collective,h200-sxm,all_gather,bf16,8x8000000000,14.0,ms,", false},
           Case{"8x-h200-sxm-hgx", "collective,h200-sxm,all_reduce,bf16,8x8000000000,20.0,ms,", true},
           Case{"8x-h200-sxm-hgx", "collective,h200-sxm,all_reduce,bf16,8x8000000000,14.0,ms,", false},
           // Two of the bridge's cards have six NVLinks to each other: busbw 150, 1/2 x 3 GB.
           Case{"4x-h200-nvl-4-way-bridge", "collective,h200-nvl,all_gather,bf16,2x3000000000,10.0,ms,", true},
           Case{"4x-h200-nvl-4-way-bridge", "collective,h200-nvl,all_gather,bf16,2x3000000000,9.0,ms,", false},
           // Four pairs, 64 GB/s of PCIe a card: busbw 7/8 x 8 x 64 / 3 = 149, of 7/8 x 8 GB.
           Case{"8x-h200-nvl-four-2-way-bridges", "collective,h200-nvl,all_gather,bf16,8x8000000000,47.0,ms,", true},
           Case{"8x-h200-nvl-four-2-way-bridges", "collective,h200-nvl,all_gather,bf16,8x8000000000,44.0,ms,", false},
       }) {
    CAPTURE(c.base, c.row);
    CHECK(refused(c.base, c.row + '\n').empty() == c.is_possible);
  }
}
