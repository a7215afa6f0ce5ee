#include "graphviz.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace takt {
namespace {

Diagnostic failure(std::string message, std::string hint) {
  return {Severity::error, {}, std::move(message), std::move(hint)};
}

/// A file that goes away with its owner. `path` holds no quotes: mkstemp fills in letters and digits.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() / "takt-XXXXXX").string();
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor < 0) return;
    written_ = ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(descriptor);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool written() const { return written_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool written_ = false;
};

}  // namespace

Result<std::string> svg_of_dot(const std::string& drawing) {
  const TemporaryFile input(drawing);
  if (!input.written()) return failure("cannot write a temporary file for Graphviz", "is the disk full?");
  std::FILE* pipe = ::popen(("dot -Tsvg '" + input.path() + "' 2>/dev/null").c_str(), "r");
  if (!pipe) return failure("cannot start Graphviz' dot", "");
  std::string svg;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 1; n > 0;) {
    n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    svg.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  constexpr int not_found = 127;  // the shell's answer
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found) {
    return failure("an SVG needs Graphviz' dot, which is not installed", "install graphviz, or use --format dot");
  }
  if (status != 0 || svg.empty()) return failure("Graphviz' dot could not draw the topology", "try --format dot");
  return svg;
}

}  // namespace takt
