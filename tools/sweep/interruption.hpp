// Ctrl-C while something long runs: it is asked to come to an end instead of being cut off.
#pragma once

namespace takt {

/// While one of these lives, SIGINT and SIGTERM only set a flag; a second one ends the process as usual.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const;
};

}  // namespace takt
