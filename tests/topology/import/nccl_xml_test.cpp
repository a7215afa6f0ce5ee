// What an NCCL topology file may say, and what is refused.
#include "base/text.hpp"
#include "catch.hpp"
#include "import_data.hpp"

using namespace takt;

namespace {

std::string gpu(const std::string& bus, const std::string& inside = "", const std::string& more = "") {
  return "<pci busid=\"" + bus + "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x233b\" " +
         "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"" + more + ">" + inside + "</pci>\n";
}

Result<ServerSpec> imported(const std::string& inside, const std::string& card = "") {
  const std::string cpu =
      "<cpu numaid=\"0\" affinity=\"ffff\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
      "modelid=\"207\">\n";
  return import_nccl_xml({"n.xml", "<system version=\"1\">\n" + cpu + inside + "</cpu>\n</system>\n"},
                         test::import_options(card));
}

std::string messages(const std::string& inside) {
  std::string text;
  const Result<ServerSpec> server = imported(inside);
  for (const Diagnostic& diagnostic : server.diagnostics()) text += diagnostic.message + "\n";
  return text;
}

}  // namespace

TEST_CASE("a dump tells CPU, card and link", "[import]") {
  const Result<ServerSpec> server = imported(gpu("0000:10:00.0"));
  REQUIRE(server.has_value());
  CHECK(server->devices[0].cpu == "intel-emr");
  CHECK(server->devices[0].cores == 16);
  CHECK(server->devices.back().card == "h200-nvl");
  CHECK(server->links.back().type.id == "pcie5-x16");
  CHECK_FALSE(server->links.back().assumed);
}

TEST_CASE("the ports of an adapter add up", "[import]") {
  const std::string nic =
      "<pci busid=\"0000:11:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic>"
      "<net name=\"mlx5_0\" speed=\"200000\"/><net name=\"mlx5_1\" speed=\"200000\"/></nic></pci>\n";
  const Result<ServerSpec> server = imported(gpu("0000:10:00.0") + nic);
  REQUIRE(server.has_value());
  // 2 x 200 Gb/s / 8 = 50 GB/s
  CHECK(server->devices.back().nic_speed == Bandwidth(50e9));
}

TEST_CASE("a x8 slot is imported as such", "[import]") {
  const std::string slot =
      "<pci busid=\"0000:10:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x233b\" "
      "link_speed=\"16.0 GT/s PCIe\" link_width=\"8\"/>\n";
  const Result<ServerSpec> server = imported(slot);
  REQUIRE(server.has_value());
  CHECK(server->links.back().type.id == "pcie4-x8");
  CHECK(server.diagnostics().front().message == "the PCIe link of gpu0 is slower than the card's own");
}

TEST_CASE("contradictions and nonsense are refused with the reason", "[import]") {
  CHECK(messages(gpu("0000:10:00.0") + gpu("0000:10:00.0")) == "a second <pci> 0000:10:00.0\n");
  CHECK(messages("<pci class=\"0x030200\"/>") == "<pci> has no busid\n");
  CHECK(messages("<pci busid=\"1\" class=\"zebra\"/>").find("class of <pci> is \"zebra\", not a hexadecimal number") ==
        0);
  CHECK(messages("<pci busid=\"1\" class=\"0x030200\" link_speed=\"12 GT/s\"/>") ==
        "link_speed \"12 GT/s\" is none of PCIe (2.5, 5, 8, 16, 32, 64 GT/s)\n");
  CHECK(messages("<pci busid=\"1\" class=\"0x030200\" link_width=\"99\"/>") ==
        "link_width 99 is none of PCIe (1 to 32 lanes)\n");
  CHECK(messages("<pci busid=\"1\" class=\"0x020000\"/>") ==
        "no card among the PCI devices (class 0x0300 or 0x0302)\n");
  CHECK(messages(gpu("1", "<gpu dev=\"0\" rank=\"zero\"/>")) == "rank of <gpu> is \"zero\", not a whole number\n");
  CHECK(messages(gpu("1", "<gpu rank=\"0\"><nvlink target=\"1\" count=\"4\"/></gpu>")) ==
        "<nvlink> leads from a card to itself\n");
  CHECK(messages(gpu("1", "<gpu rank=\"0\"><nvlink target=\"2\" count=\"0\" tclass=\"0x068000\"/></gpu>")) ==
        "<nvlink> needs a count of at least 1\n");
}

TEST_CASE("files of another kind are refused by name", "[import]") {
  const ImportOptions options = test::import_options("h200-nvl");
  CHECK(render(import_nccl_xml({"g.xml", "<graphs/>"}, options).diagnostics()) ==
        "g.xml:1:2: error: the root element is <graphs>, not <system>\n"
        "    1 | <graphs/>\n"
        "      |  ^\n"
        "hint: is this a file that NCCL_TOPO_DUMP_FILE wrote?\n");
  const Result<ServerSpec> two =
      import_nccl_xml({"two.xml", "<system><cpu host_hash=\"1\"/><cpu host_hash=\"2\"/></system>"}, options);
  CHECK(two.diagnostics().front().message == "the file holds more than one server (its CPUs differ in host_hash)");
  CHECK(import_nccl_xml({"e.xml", "<system/>"}, options).diagnostics().front().message == "<system> holds no <cpu>");
}
