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

/// Devices and pipes are written to as they are: what takes their place would not be one.
std::optional<Diagnostic> write_through(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) return cannot_write(path, std::system_category().message(errno));
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> write_file(const std::string& named, const std::string& text) {
  std::error_code missing;
  const std::filesystem::file_status status = std::filesystem::status(named, missing);
  if (std::filesystem::exists(status) && std::filesystem::is_directory(status))
    return cannot_write(named, std::system_category().message(EISDIR));
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return write_through(named, text);
  // A link stays one: its target is replaced.
  std::string path = named;
  if (std::filesystem::exists(status)) path = std::filesystem::canonical(named, missing).string();
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
