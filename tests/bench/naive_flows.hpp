// The textbook way to play flows: at every arrival and every completion, all rates anew by progressive filling. Slow
// and plain, to compare the engine with.
#pragma once

#include "oracle/flow_case.hpp"

#include <vector>

namespace takt::bench {

/// When each flow of the case ends, in seconds.
std::vector<double> play_naively(const oracle::FlowCase& flow_case);

}  // namespace takt::bench
