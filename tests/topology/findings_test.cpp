#include "catch.hpp"
#include "data.hpp"
#include "machines.hpp"

using namespace takt;
using namespace takt::machines;

namespace {

std::string findings_of(const ServerSpec& spec) { return render(check_topology(built(spec, LinkBasis::nominal))); }

bool found(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("four cards on one uplink are remarked on, two are not", "[topology]") {
  Server server("busy");
  server.socket("cpu0").pcie_switch("sw0", "cpu0");
  for (int gpu = 0; gpu < 4; ++gpu) server.card("gpu" + std::to_string(gpu), "sw0");
  REQUIRE(found(findings_of(server.spec()),
                "busy.toml:5:1: warning: 4 cards (gpu0, gpu1, gpu2, gpu3) share the uplink sw0 -> cpu0 of 64.0 "
                "GB/s\n"));
  REQUIRE_FALSE(found(findings_of(four_switches().spec()), "share the uplink"));
}

TEST_CASE("a x16 card on x8 is remarked on", "[topology]") {
  ServerSpec spec = direct(2, "plain").spec();
  spec.links.back().type.lanes = 8;
  REQUIRE(found(findings_of(spec), "gpu1 can use PCIe Gen5 x16 but is linked by Gen5 x8"));
}

TEST_CASE("cards without a NIC on their socket are remarked on", "[topology]") {
  Server server = four_switches();
  server.nic("nic0", "sw0");
  const std::string text = findings_of(server.spec());
  REQUIRE(found(text, "gpu4 is on NUMA node 1, but no NIC is: its network traffic crosses the socket link"));
  REQUIRE_FALSE(found(text, "gpu0 is on NUMA node"));
}

TEST_CASE("a ring over two sockets is told its limit", "[topology]") {
  // nominal: min(64 PCIe, 100 between sockets)
  REQUIRE(found(findings_of(four_switches().spec()),
                "a ring over all 8 cards must cross sockets twice: at most 64.0 GB/s a card"));
  REQUIRE(findings_of(direct(4).bridge({"gpu0", "gpu1", "gpu2", "gpu3"}).spec()).empty());
}

TEST_CASE("the checks of the measured servers say what their owners found", "[data]") {
  const auto text_for = [](const std::string& name) {
    return render(check_topology(data::topology(name, LinkBasis::measured)));
  };
  REQUIRE(found(text_for("8x-rtx-pro-6000-server-dual-turin"), "at most 51.0 GB/s a card (cpu0 -> cpu1)"));
  REQUIRE(found(text_for("8x-rtx-pro-6000-server-supermicro-522ga"),
                "4 cards (gpu0, gpu1, gpu2, gpu3) share the uplink"));
  REQUIRE(text_for("8x-h200-sxm-hgx").empty());
}
