// A tree of XML elements with the place of each in the file. The home of pugixml is xml.cpp.
#pragma once

#include "config/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt {

/// One element: `<name attribute="value">text, children</name>`.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  ///< in file order, entities decoded
  std::vector<XmlElement> children;                             ///< elements only, in file order
  std::uint32_t line = 0;                                       ///< of the name, from 1
  std::uint32_t column = 0;                                     ///< of the name, from 1
  std::string text;                                             ///< the first piece of text, entities decoded

  /// The value of an attribute; nothing if the element does not have it.
  std::optional<std::string> attribute(std::string_view key) const;
};

/// The root element of an XML document. Errors: not well-formed (with the place), no element at all, more than one
/// root, elements nested deeper than 256.
Result<XmlElement> read_xml(const SourceText& source);

/// Where `element` stands in the file it was read from, with the source line for the caret.
SourcePlace place_of(const XmlElement& element, const SourceText& source);

}  // namespace takt
