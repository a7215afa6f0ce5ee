#include "config/xml.hpp"

#include "catch.hpp"

using namespace takt;

TEST_CASE("elements keep name, attributes, order and place", "[config][xml]") {
  const SourceText source{"box.xml",
                          "<!-- a comment -->\n<system version=\"1\">\n  <cpu numaid=\"0\" vendor=\"A&amp;B\"/>\n"
                          "  <cpu numaid=\"1\"><pci/></cpu> <!-- end -->\n</system>\n"};
  const Result<XmlElement> root = read_xml(source);
  REQUIRE(root.has_value());
  REQUIRE(root->name == "system");
  REQUIRE(root->line == 2);
  REQUIRE(root->column == 2);
  REQUIRE(root->children.size() == 2);
  REQUIRE(root->children[0].attribute("vendor") == "A&B");
  REQUIRE_FALSE(root->children[0].attribute("arch").has_value());
  REQUIRE(root->children[1].line == 4);
  REQUIRE(root->children[1].children[0].name == "pci");
  REQUIRE(place_of(root->children[1].children[0], source) ==
          SourcePlace{"box.xml", 4, 20, "  <cpu numaid=\"1\"><pci/></cpu> <!-- end -->"});
}

TEST_CASE("a document type and a byte order of their own do not disturb", "[config][xml]") {
  const Result<XmlElement> root =
      read_xml({"l.xml", "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology/>"});
  REQUIRE(root.has_value());
  REQUIRE(root->name == "topology");
  REQUIRE(root->line == 3);
}

TEST_CASE("what is no XML is refused with its place", "[config][xml]") {
  SECTION("cut off") {
    const Result<XmlElement> root = read_xml({"cut.xml", "<system>\n  <cpu>\n"});
    REQUIRE_FALSE(root.has_value());
    REQUIRE(render(root.diagnostics()) ==
            "cut.xml:2:8: error: not well-formed XML: Start-end tags mismatch\n"
            "    2 |   <cpu>\n"
            "      |        ^\n"
            "hint: is the file complete, and is it XML?\n");
  }
  SECTION("empty") {
    REQUIRE(render(read_xml({"e.xml", ""}).diagnostics()) == "e.xml: error: no XML element in the file\n");
  }
  SECTION("two roots") {
    REQUIRE(render(read_xml({"two.xml", "<a/>\n<b/>\n"}).diagnostics()) ==
            "two.xml:2:2: error: a second root element <b>\n"
            "    2 | <b/>\n"
            "      |  ^\n"
            "hint: an XML document has one root; are these two files in one?\n");
  }
  SECTION("too deep") {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "<a>";
    for (int i = 0; i < 1000; ++i) text += "</a>";
    const Result<XmlElement> root = read_xml({"deep.xml", text});
    REQUIRE_FALSE(root.has_value());
    REQUIRE(root.diagnostics().front().message == "elements are nested deeper than 256");
  }
}
