// How far a sweep has come, on one line of a terminal: points done, points a second, time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>

namespace takt {

enum class Terminal { yes, no };

class Progress {
 public:
  /// Writes to `err` if that is a terminal, else never. `present` points were done before the start.
  Progress(std::ostream& err, Terminal terminal, std::uint64_t points, std::uint64_t present);
  /// Takes the line off the terminal.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void point_done();

  double seconds() const;
  /// Points a second since the start.
  double rate() const;

 private:
  void show();

  using Clock = std::chrono::steady_clock;
  std::ostream& err_;
  Terminal terminal_;
  std::uint64_t points_, present_, done_ = 0;
  Clock::time_point start_ = Clock::now(), shown_ = Clock::now();
};

}  // namespace takt
