#include "flow_case.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace takt::oracle {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Duration seconds(double value) { return Duration(std::llround(value * picoseconds_per_second)); }

struct Path {
  std::vector<Demand> demands;
  double latency_s = 0.0;
};

Program flow_program(double start_s, double bytes) {
  Program program;
  program.streams = {{StreamKind::host_to_device, "flow"}};
  program.labels = {"start", "flow"};
  Op wait, flow;
  wait.work = HostWork{seconds(start_s)};
  flow.work = Copy{0, Bytes(std::llround(bytes))};
  flow.label = 1;
  program.ops = {wait, flow};
  return program;
}

}  // namespace

FlowCase read_flow_case(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  const bool rtt_weighted = path.find("__native_rttweighted") != std::string::npos;
  FlowCase result;
  std::map<std::string, std::size_t> links;
  std::vector<double> latencies;
  std::map<std::string, Path> routes;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto field = split(line, ',');
    if (field[0] == "link") {
      links[field[1]] = result.resources.size();
      result.resources.push_back({field[1], ResourceKind::link, std::stod(field[2])});
      latencies.push_back(std::stod(field[3]));
    } else if (field[0] == "route") {
      Path& route = routes[field[1] + ">" + field[2]];
      for (const std::string& name : split(field[3], ';')) {
        const std::size_t link = links.at(name);
        route.demands.push_back({id_at<ResourceId>(link), 1.0});
        route.latency_s += latencies[link];
      }
    } else if (field[0] == "flow") {
      const Path& route = routes.at(field[3] + ">" + field[4]);
      RankBinding rank;
      rank.role = id_at<RoleId>(result.plan.programs.size());
      rank.name = "flow " + field[1];
      CopyPath copy;
      copy.name = field[3] + " to " + field[4];
      copy.demands = route.demands;
      copy.latency = seconds(route.latency_s);
      if (rtt_weighted) copy.weight = 1.0 / route.latency_s;
      rank.paths.push_back(copy);
      result.plan.programs.push_back(flow_program(std::stod(field[2]), std::stod(field[5])));
      result.plan.ranks.push_back(rank);
      result.finish_s.push_back(0.0);
      result.duration_s.push_back(0.0);
    } else if (field[0] == "done") {
      const auto flow = static_cast<std::size_t>(std::stoul(field[1]));
      result.finish_s.at(flow) = std::stod(field[2]);
      result.duration_s.at(flow) = std::stod(field[3]);
    }
  }
  return result;
}

}  // namespace takt::oracle
