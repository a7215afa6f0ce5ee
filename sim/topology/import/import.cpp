#include "topology/import/import.hpp"

#include "base/text.hpp"

#include <string_view>

namespace takt {

Result<ServerSpec> import_server(const SourceText& source, const ImportOptions& options) {
  const std::string_view text = source.text;
  const bool is_xml = trim(text.substr(0, text.find('>'))).substr(0, 1) == "<";
  if (!is_xml) return import_nvidia_smi(source, options);
  const bool is_hwloc =
      text.find("<topology") != std::string_view::npos && text.find("<system") == std::string_view::npos;
  return is_hwloc ? import_lstopo(source, options) : import_nccl_xml(source, options);
}

}  // namespace takt
