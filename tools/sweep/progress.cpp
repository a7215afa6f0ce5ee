#include "sweep/progress.hpp"

#include "report/format.hpp"

#include <fmt/format.h>
#include <ostream>
#include <string>

namespace takt {
namespace {

constexpr std::chrono::milliseconds between_lines{200};
constexpr const char* clear_line = "\r\x1b[K";

/// "12 s", "4 min", "3.2 h".
std::string rough_time(double seconds) {
  constexpr double minute = 60.0, hour = 3600.0;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

}  // namespace

Progress::Progress(std::ostream& err, Terminal terminal, std::uint64_t points, std::uint64_t present)
    : err_(err), terminal_(terminal), points_(points), present_(present) {}

Progress::~Progress() {
  if (terminal_ == Terminal::yes) err_ << clear_line << std::flush;
}

void Progress::point_done() {
  ++done_;
  if (terminal_ == Terminal::no || Clock::now() - shown_ < between_lines) return;
  shown_ = Clock::now();
  show();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double Progress::rate() const {
  const double time = seconds();
  return time > 0.0 ? static_cast<double>(done_) / time : 0.0;
}

void Progress::show() {
  constexpr std::uint64_t width = 20;
  const std::uint64_t total = present_ + done_;
  const std::uint64_t filled = points_ > 0 ? total * width / points_ : width;
  const double left = static_cast<double>(points_ - total) / rate();
  err_ << clear_line
       << fmt::format("[{:<{}}] {} of {} points, {} a second, {} left", std::string(filled, '='), width,
                      format_count(static_cast<std::int64_t>(total)), format_count(static_cast<std::int64_t>(points_)),
                      format_number(rate()), rough_time(left))
       << std::flush;
}

}  // namespace takt
