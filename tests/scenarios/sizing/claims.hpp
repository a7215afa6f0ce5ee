// What Takt computes for each row of sizing_claims.csv, in the unit of the row.
#pragma once

#include "config/library.hpp"
#include "metrics/sizing/fit.hpp"

#include <functional>
#include <map>
#include <string>

namespace takt::test {

using Claims = std::map<std::string, std::function<double()>>;  ///< by the row's id

Claims memory_claims();    ///< parameters, states, room, offload, checkpoints: on what `takt fit` computes
Claims hardware_claims();  ///< cards, kernels, host, power: on card files and the rules beside `takt fit`
Claims traffic_claims();   ///< bytes and floors: on what `takt fit` computes and a run at nominal rates executes

constexpr double giga = 1e9;

inline double in_gb(Bytes size) {
  return static_cast<double>(size.count()) / giga;
}

CardSpec card_file(const std::string& id);
CardSpec slice_file(const std::string& id, const std::string& profile);

/// What a row asks `fit`.
struct Asked {
  std::string model;
  Method method = Method::full;
  Optimizer optimizer = Optimizer::adamw;
  std::int64_t cards = 1;
  Offload offload = Offload::none;
  std::string card = "h200-nvl";
};
FitResult fitted(const Asked& asked);

inline const std::string b8 = "llama-3.1-8b", b32 = "qwen3-32b", b70 = "llama-3.3-70b";

}  // namespace takt::test
