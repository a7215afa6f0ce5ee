// Checks of our own promises. A user's mistake never ends here: it is a Diagnostic.
#pragma once

#include <stdexcept>
#include <string>

namespace takt {

/// A broken promise inside Takt. The command reports it as an internal error and exits with status 3.
class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws ContractViolation unless `condition` holds.
inline void expects(bool condition, const char* promise) {
  if (!condition) [[unlikely]] throw ContractViolation(promise);
}

[[noreturn]] inline void unreachable(const std::string& why) { throw ContractViolation(why); }

}  // namespace takt
