#include "config/xml.hpp"

#include <algorithm>
#include <pugixml.hpp>

namespace takt {
namespace {

/// Real files nest about ten deep (hwloc) or six (NCCL); the limit keeps a hostile one from exhausting the stack.
constexpr int max_depth = 256;

/// Byte offsets to lines and columns.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  SourcePlace place(std::size_t offset, const std::string& file) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const std::size_t start = *(after - 1);
    std::string_view line = text_.substr(start);
    line = line.substr(0, line.find_first_of("\r\n"));
    const auto number = static_cast<std::uint32_t>(after - starts_.begin());
    return {file, number, static_cast<std::uint32_t>(offset - start + 1), std::string(line)};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_ = {0};
};

struct TreeCopy {
  const SourceText& source;
  const LineIndex& lines;
  Diagnostics errors;

  SourcePlace place(const pugi::xml_node& node) const {
    return lines.place(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, node.offset_debug())), source.file);
  }

  XmlElement copy(const pugi::xml_node& node, int depth) {
    const SourcePlace at = place(node);
    XmlElement element{node.name(), {}, {}, at.line, at.column, node.child_value()};
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      element.attributes.emplace_back(attribute.name(), attribute.value());
    }
    if (depth == max_depth) {
      errors.push_back({Severity::error, at, "elements are nested deeper than " + std::to_string(max_depth), ""});
      return element;
    }
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() == pugi::node_element && errors.empty()) element.children.push_back(copy(child, depth + 1));
    }
    return element;
  }
};

}  // namespace

std::optional<std::string> XmlElement::attribute(std::string_view key) const {
  for (const auto& [name_of_attribute, value] : attributes) {
    if (name_of_attribute == key) return value;
  }
  return std::nullopt;
}

Result<XmlElement> read_xml(const SourceText& source) {
  const LineIndex lines(source.text);
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(source.text.data(), source.text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (parsed.status == pugi::status_no_document_element) {
    return Diagnostic{Severity::error, {source.file, 0, 0, ""}, "no XML element in the file", ""};
  }
  if (!parsed) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, parsed.offset));
    return Diagnostic{Severity::error, lines.place(std::min(offset, source.text.size()), source.file),
                      std::string("not well-formed XML: ") + parsed.description(),
                      "is the file complete, and is it XML?"};
  }
  TreeCopy tree{source, lines, {}};
  const pugi::xml_node root = document.document_element();
  for (pugi::xml_node other = root.next_sibling(); other; other = other.next_sibling()) {
    if (other.type() != pugi::node_element) continue;
    return Diagnostic{Severity::error, tree.place(other), "a second root element <" + std::string(other.name()) + ">",
                      "an XML document has one root; are these two files in one?"};
  }
  XmlElement element = tree.copy(root, 1);
  if (!tree.errors.empty()) return std::move(tree.errors);
  return element;
}

SourcePlace place_of(const XmlElement& element, const SourceText& source) {
  std::string_view rest = source.text;
  for (std::uint32_t line = 1; line < element.line; ++line) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {source.file, element.line, element.column, std::string(rest.substr(0, rest.find_first_of("\r\n")))};
}

}  // namespace takt
