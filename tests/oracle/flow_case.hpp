// Reads a flow case and makes a plan of it: a rank a flow, whose CPU works until the flow starts.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "topology/resource.hpp"

namespace takt::oracle {

struct FlowCase {
  ResourceTable resources;
  Plan plan;                          ///< rank i is flow i: op 0 waits until it starts, op 1 is the flow
  std::vector<double> finish_s;       ///< expected
  std::vector<double> duration_s;     ///< expected, latency included
};

FlowCase read_flow_case(const std::string& path);

}  // namespace takt::oracle
