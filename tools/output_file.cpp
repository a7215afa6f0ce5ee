#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace takt {
namespace {

Diagnostic cannot_write(const std::string& path, const std::string& reason) {
  SourcePlace place;
  place.file = path;
  return {Severity::error, place, "cannot write the file: " + reason, ""};
}

}  // namespace

std::optional<Diagnostic> write_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".tmp" + std::to_string(::getpid());
  std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
  if (!stream) return cannot_write(path, std::system_category().message(errno));
  stream << text;
  stream.close();
  std::error_code error;
  if (!stream) {
    const std::string reason = std::system_category().message(errno);
    std::filesystem::remove(draft, error);
    return cannot_write(path, reason);
  }
  std::filesystem::rename(draft, path, error);
  if (!error) return std::nullopt;
  const std::string reason = error.message();
  std::filesystem::remove(draft, error);
  return cannot_write(path, reason);
}

}  // namespace takt
