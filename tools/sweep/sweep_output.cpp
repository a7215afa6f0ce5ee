#include "sweep/sweep_output.hpp"

#include "options.hpp"

#include <array>
#include <filesystem>

namespace takt {

Result<std::unique_ptr<SweepOutput>> open_sweep_output(const std::string& path, std::vector<SweepColumn> columns,
                                                       const Provenance& provenance, Opening opening) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (opening == Opening::create && std::filesystem::exists(path)) {
    return usage_error(path + " exists", "--resume continues it; else remove it or name another file");
  }
  if (ending == ".csv") return open_line_output(path, std::move(columns), LineFormat::csv, opening);
  if (ending == ".jsonl" || ending == ".ndjson") {
    return open_line_output(path, std::move(columns), LineFormat::json, opening);
  }
  if (ending == ".sqlite" || ending == ".db") {
    return open_sqlite_output(path, std::move(columns), provenance, opening);
  }
  return usage_error("--out cannot be '" + path + "': its ending says nothing",
                     "use .csv, .jsonl (JSON lines) or .sqlite");
}

}  // namespace takt
