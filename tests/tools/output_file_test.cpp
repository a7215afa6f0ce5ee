#include "output_file.hpp"

#include "catch.hpp"

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

using namespace takt;

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("an output file is replaced; links and pipes stay what they are", "[tools]") {
  const fs::path folder = fs::temp_directory_path() / "takt-output-file";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "target.csv") << "old";
  fs::create_symlink("target.csv", folder / "link.csv");
  REQUIRE(!write_file((folder / "link.csv").string(), "new"));
  CHECK(fs::is_symlink(folder / "link.csv"));
  CHECK(contents(folder / "target.csv") == "new");

  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), S_IRUSR | S_IWUSR) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(!write_file(pipe, "sent"));
  CHECK(fs::is_fifo(pipe));
  std::array<char, 16> read{};
  CHECK(::read(reader, read.data(), read.size()) == 4);
  ::close(reader);

  REQUIRE(write_file(folder.string(), "text"));
  CHECK(write_file(folder.string(), "text")->message == "cannot write the file: Is a directory");
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 3);   // and no drafts
  fs::remove_all(folder);
}
