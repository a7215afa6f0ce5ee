// N20-N26: the search finds the rings, trees and NVLS graphs that NCCL finds on 42 servers, alone and in pairs.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cases.hpp"

using namespace takt;
using namespace takt::test;

namespace {

bool same_speed(NcclSpeed speed, double gigabytes) { return std::abs(to_gigabytes(speed) - gigabytes) < 0.006; }

std::string types(const nccl::ChannelGraph& graph) {
  return std::string(to_text(graph.type_intra)) + "/" + std::string(to_text(graph.type_inter));
}

void compare_graph(ColumnCounts& counts, const std::string& name, const std::string& cell, const std::string& label,
                   const nccl::ChannelGraph& graph) {
  counts.add(label + " channels", name, static_cast<double>(graph.channels) == number_after(cell, "n="));
  counts.add(label + " speed inside", name, same_speed(graph.speed_intra, number_after(cell, "intra=")));
  counts.add(label + " speed between", name, same_speed(graph.speed_inter, number_after(cell, "inter=")));
  if (label != "NVLS") counts.add(label + " types", name, types(graph) == word_after(cell, "typ="));
}

/// The ring turned so that its smallest rank comes first.
std::vector<std::int64_t> turned(std::vector<std::int64_t> ring) {
  std::rotate(ring.begin(), std::min_element(ring.begin(), ring.end()), ring.end());
  return ring;
}

std::vector<std::int64_t> numbers(const std::string& text) {
  std::stringstream stream(text);
  std::vector<std::int64_t> values;
  for (std::int64_t value = 0; stream >> value;) values.push_back(value);
  return values;
}

std::vector<std::int64_t> order_of(const nccl::ChannelGraph& graph, std::int64_t channel) {
  const auto order = graph.channel(channel);
  return {order.begin(), order.end()};
}

}  // namespace

TEST_CASE("Graphs are those NCCL finds", "[nccl]") {
  ColumnCounts counts;
  for (const Row& row : expected_rows("GRAPH")) {
    const std::string& name = row[1];
    const NcclPlan& plan = plan_of_case(name);
    const nccl::Communicator& found = plan.communicator;
    const nccl::Reach reach = found.nodes.size() == 1 ? nccl::Reach::one_node : nccl::Reach::several_nodes;
    const nccl::SpeedLimits limits = nccl::speed_limits(found.kinds.front().machine, reach);
    counts.add("maxBw", name, same_speed(limits.path, number_after(row[4], "maxBw=")));
    counts.add("totalBw", name, same_speed(limits.card, number_after(row[5], "totalBw=")));
    compare_graph(counts, name, row[6], "ring", found.ring);
    counts.add("ring same channels", name, static_cast<int>(found.ring.same) == number_after(row[6], "same="));
    counts.add("ring cross NIC", name, static_cast<int>(found.ring.cross_nic) == number_after(row[6], "xnic="));
    compare_graph(counts, name, row[7], "tree", found.tree);
    counts.add("tree pattern", name, static_cast<int>(found.tree_pattern) == number_after(row[7], "pat="));
    compare_graph(counts, name, row[8], "NVLS", found.nvls);
    counts.add("CTAs", name, static_cast<double>(found.channels) == number_after(row[9], "nChannels="));
    counts.add("NVLS CTAs", name, static_cast<double>(found.nvls_channels) == number_after(row[9], "nvlsChannels="));
  }
  INFO(counts.report());
  CHECK(counts.all_match());
}

TEST_CASE("Channels go in the order NCCL takes", "[nccl]") {
  ColumnCounts counts;
  for (const Row& row : expected_rows("RING")) {
    const NcclPlan& plan = plan_of_case(row[1]);
    const auto channel = std::stoll(row[2].substr(2));
    const std::string name = row[1] + " " + row[2];
    const auto expected = numbers(row[2].substr(row[2].find(':') + 1));
    counts.add("ring", name, turned(order_of(plan.communicator.kinds.front().ring, channel)) == turned(expected));
  }
  for (const Row& row : expected_rows("TREE")) {
    const NcclPlan& plan = plan_of_case(row[1]);
    const auto channel = std::stoll(row[2].substr(2));
    const auto expected = numbers(row[2].substr(row[2].find(':') + 1));
    counts.add("tree", row[1] + " " + row[2],
               order_of(plan.communicator.kinds.front().tree, channel) == expected);
  }
  INFO(counts.report());
  CHECK(counts.all_match());
}
