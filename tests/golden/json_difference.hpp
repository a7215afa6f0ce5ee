// Two JSON values key by key, for people who must judge whether a golden result may change.
#pragma once

#include "config/json.hpp"

#include <string>
#include <vector>

namespace takt {

/// Lines such as "results[0].step_time_s: expected 20.0, now 21.5 (+7.5 %)"; empty if both are equal.
std::vector<std::string> differences(const Json& expected, const Json& actual, const std::string& path = "");

}  // namespace takt
