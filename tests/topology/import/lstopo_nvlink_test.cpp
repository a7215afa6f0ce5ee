// hwloc's table of NVLink bandwidths, as an hwloc with NVML writes it.
#include "topology/import/lstopo_nvlink.hpp"

#include "catch.hpp"
#include "import_data.hpp"
#include "topology/import/import.hpp"

using namespace takt;

namespace {

/// Two cards under their own root ports, with the given lines after the machine.
SourceText machine_with(const std::string& tables) {
  const auto card = [](const std::string& bus, const std::string& number, const std::string& os_number) {
    return "<object type=\"Bridge\" bridge_type=\"0-1\" gp_index=\"9" + number + "\">" +
           "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:" + bus + ":01.0\" gp_index=\"8" + number +
           "\"><object type=\"PCIDev\" pci_busid=\"0000:" + bus +
           ":00.0\" pci_type=\"0302 [10de:233b] [10de:1996] a1\" pci_link_speed=\"63.015385\" gp_index=\"" + number +
           "\"><object type=\"OSDev\" name=\"nvml\" osdev_type=\"1\" gp_index=\"" + os_number +
           "\"/></object></object></object>";
  };
  return {"box.xml", "<topology version=\"2.0\">\n<object type=\"Machine\"><object type=\"Package\">" +
                         card("20", "10", "11") + card("10", "12", "13") + "</object></object>\n" + tables +
                         "</topology>\n"};
}

std::string table_of(const std::string& values) {
  return "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"NVLinkBandwidth\" indexing=\"gp\">\n"
         "<indexes length=\"6\">11 13 </indexes>\n" +
         values + "</distances2>\n";
}

Result<ServerSpec> imported(const std::string& tables) {
  return import_lstopo(machine_with(tables), test::import_options(""));
}

}  // namespace

TEST_CASE("NVLinks come from hwloc's bandwidths", "[import]") {
  // 450,000 MB/s between the cards: 18 links of 25,000, all that an H200 NVL has, so a bridge. Values may be split.
  const Result<ServerSpec> server =
      imported(table_of("<u64values length=\"15\">1000000 450000 </u64values>\n"
                        "<u64values length=\"15\">450000 1000000 </u64values>\n"));
  INFO(render(server.diagnostics()));
  REQUIRE(server.has_value());
  REQUIRE(server->bridges.size() == 1);
  // Cards are numbered by bus id: the second of the file is gpu0.
  CHECK(server->bridges.front().cards == std::vector<std::string>{"gpu0", "gpu1"});
}

TEST_CASE("a table without links says that there are none", "[import]") {
  const Result<ServerSpec> server = imported(table_of("<u64values>1000000 0 0 1000000 </u64values>\n"));
  REQUIRE(server.has_value());
  CHECK(server->bridges.empty());
  const auto guessed = [](const Diagnostic& said) {
    return said.message.find("names no NVLinks") != std::string::npos;
  };
  CHECK(std::none_of(server.diagnostics().begin(), server.diagnostics().end(), guessed));
  const Result<ServerSpec> without = imported("");
  REQUIRE(without.has_value());
  CHECK(std::any_of(without.diagnostics().begin(), without.diagnostics().end(), guessed));
}

TEST_CASE("tables over cards and NVSwitches name the type of each object", "[import]") {
  const SourceText source{"t.xml",
                          "<topology>\n<distances2hetero nbobjs=\"3\" kind=\"25\" name=\"NVLinkBandwidth\">\n"
                          "<indexes>OSDev:11 OSDev:13 PCIDev:20 </indexes>\n"
                          "<u64values>0 0 150000 0 0 150000 150000 150000 0 </u64values>\n"
                          "</distances2hetero>\n</topology>\n"};
  const XmlElement root = read_xml(source).value();
  const auto nvlinks = nvlinks_of_distances(root, source, {{"11", 0}, {"13", 1}, {"20", nvswitch_peer}});
  REQUIRE(nvlinks.has_value());
  REQUIRE(nvlinks->has_value());
  REQUIRE((*nvlinks)->size() == 2);
  CHECK((*nvlinks)->front().peer == nvswitch_peer);
  CHECK((*nvlinks)->front().count == 6);
}

TEST_CASE("tables that do not fit are refused", "[import]") {
  CHECK(imported(table_of("<u64values>0 1 2</u64values>\n")).diagnostics().front().message ==
        "3 bandwidths between 2 objects");
  CHECK(imported(table_of("<u64values>0 many 2 0</u64values>\n")).diagnostics().front().message ==
        "\"many\" MB/s is no bandwidth of NVLinks");
}

TEST_CASE("hwloc's host bridges become those of the sockets", "[import]") {
  const Result<ServerSpec> server = imported("");
  REQUIRE(server.has_value());
  for (const LinkSpec& link : server->links) {
    if (link.to == "gpu1") CHECK(link.host_bridge == 1);
    if (link.to == "gpu0") CHECK(link.host_bridge == 2);
  }
}
