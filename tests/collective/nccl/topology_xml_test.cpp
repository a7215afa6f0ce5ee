// Reading NCCL's topology files.
#include "catch.hpp"

#include "cases.hpp"
#include "collective/nccl/topology_xml.hpp"

using namespace takt;
using namespace takt::test;

TEST_CASE("A topology file becomes a system", "[nccl]") {
  const NcclSystem system = fixture_system("h200nvl_4_quad_sw4_1nic_spr");
  REQUIRE(system.cpus.size() == 1);
  CHECK(system.cpus[0].vendor == CpuVendor::intel);
  CHECK(system.cpus[0].model == 143);
  REQUIRE(system.switches.size() == 1);
  REQUIRE(system.gpus.size() == 4);
  CHECK(system.gpus[1].slot == PciSlot{PciSlot::Above::pci_switch, 0, NcclSpeed(48000)});
  CHECK(system.gpus[1].compute_capability == 90);
  CHECK(system.gpus[1].nvlinks[0] == NcclNvlink{GpuEnd{0}, 6});
  REQUIRE(system.nics.size() == 1);
  CHECK(system.nics[0].nets[0].speed == NcclSpeed(50000));
  CHECK(system.nics[0].nets[0].direct_rdma == DirectRdma::supported);
}

TEST_CASE("PCIe speeds as NCCL reckons them", "[nccl]") {
  // N1: 3, 6, 12, 24, 48, 96 GB/s for 16 lanes.
  CHECK(pci_speed(PciGeneration::gen1, 16) == NcclSpeed(3000));
  CHECK(pci_speed(PciGeneration::gen4, 16) == NcclSpeed(24000));
  CHECK(pci_speed(PciGeneration::gen5, 8) == NcclSpeed(24000));
  CHECK(pci_speed(PciGeneration::gen6, 16) == NcclSpeed(96000));
}

TEST_CASE("Cards without a rank and links to them are left out", "[nccl]") {
  const std::string text = R"(<system version="1">
<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
<pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="86" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="1" sm="86" gdr="1"/></pci>
</cpu></system>)";
  const Result<NcclSystem> system = read_nccl_topology({"box.xml", text});
  REQUIRE(system.has_value());
  REQUIRE(system->gpus.size() == 1);
  CHECK(system->gpus[0].nvlinks.empty());
}

TEST_CASE("A Broadcom switch that shows two levels counts as one", "[nccl]") {
  const std::string text = R"(<system version="1">
<cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:01:00.0" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:02:00.0" class="0x060400" vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:03:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci>
</pci>
<pci busid="0000:04:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="80" rank="1" gdr="1"/></pci>
</pci></cpu></system>)";
  const Result<NcclSystem> system = read_nccl_topology({"box.xml", text});
  REQUIRE(system.has_value());
  CHECK(system->switches.size() == 1);
  CHECK(nccl::route(*system, {}).gpu_path(0, 1).type == NcclPathType::pix);
}

TEST_CASE("What is wrong with a topology file is said where it is", "[nccl]") {
  SECTION("malformed") {
    const Result<NcclSystem> system = read_nccl_topology({"box.xml", "<system>\n<cpu numaid=\"0\"\n</system>"});
    REQUIRE_FALSE(system.has_value());
    CHECK(system.diagnostics()[0].place.line >= 2);
      }
  SECTION("all errors of a file at once") {
    const Result<NcclSystem> system = read_nccl_topology({
        "box.xml",
        "<system>\n"
        "<cpu numaid=\"x\" arch=\"x86_64\" vendor=\"GenuineIntel\">\n"
        "<pci busid=\"a\" class=\"0x030200\" link_width=\"16\"><gpu dev=\"0\" rank=\"0\"/></pci>\n"
        "</cpu></system>\n"});
    REQUIRE_FALSE(system.has_value());
    CHECK(render(system.diagnostics()) ==
          "box.xml:2:2: error: 'numaid' of <cpu> is not a number: 'x'\n"
          "    2 | <cpu numaid=\"x\" arch=\"x86_64\" vendor=\"GenuineIntel\">\n"
          "      |  ^\n"
          "box.xml:3:50: error: <gpu> has no attribute 'sm'\n"
          "    3 | <pci busid=\"a\" class=\"0x030200\" link_width=\"16\"><gpu dev=\"0\" rank=\"0\"/></pci>\n"
          "      |                                                  ^\n");
  }
  SECTION("another file") {
    const Result<NcclSystem> system = read_nccl_topology({"graph.xml", "<graphs/>"});
    REQUIRE_FALSE(system.has_value());
    CHECK(system.diagnostics()[0].message == "an NCCL topology starts with <system>, not <graphs>");
  }
}
