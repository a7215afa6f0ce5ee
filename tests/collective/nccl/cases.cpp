#include "cases.hpp"

#include "collective/nccl/topology_xml.hpp"
#include "support/source_dir.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace takt::test {
namespace {

const std::string folder = takt::test::source_dir() + "/tests/collective/nccl/fixtures/";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no fixture " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  std::stringstream text(read_file(folder + "graphs_and_times.csv"));
  for (std::string line; std::getline(text, line);) {
    Row row;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

/// Case names are a fixture, a variant, and how many servers: "rtx4090_4_P2Pdisabled_n1".
struct Case {
  std::string fixture;
  std::size_t servers = 1;
  NcclSettings settings;
};

Case case_named(const std::string& name) {
  if (name.starts_with("gpu1x")) {
    return {"gpu1_node_h100_ib", static_cast<std::size_t>(std::stoi(name.substr(5))), {}};
  }
  Case found;
  // The expectations leave cards of one server together even where the network is faster (N12b).
  found.settings.net_disable_intra = Switch::on;
  std::string rest = name;
  if (rest.ends_with("_nonvls")) {
    found.settings.nvls = Switch::off;
    rest = rest.substr(0, rest.size() - 7);
  }
  const std::size_t count = rest.rfind("_n");
  found.servers = static_cast<std::size_t>(std::stoi(rest.substr(count + 2)));
  rest = rest.substr(0, count);
  if (rest.ends_with("_P2PLEVEL_SYS")) {
    found.settings.p2p_level = NcclPathType::sys;
    rest = rest.substr(0, rest.size() - 13);
  }
  if (rest == "rtx4090_4_P2Pdisabled") {
    found.settings.p2p_disable = Switch::on;
    rest = "rtx4090_4_direct_amd1s";
  }
  found.fixture = rest;
  return found;
}

template <class Enum>
Enum named(const std::string& name, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (to_text(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  throw std::runtime_error("unknown name " + name);
}

}  // namespace

std::vector<Row> expected_rows(const std::string& kind) {
  static const std::vector<Row> all = read_rows();
  std::vector<Row> rows;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rows), [&](const Row& row) { return row.front() == kind; });
  return rows;
}

NcclSystem fixture_system(const std::string& name) {
  const std::string path = folder + name + ".xml";
  Result<NcclSystem> system = read_nccl_topology({path, read_file(path)});
  if (!system) throw std::runtime_error(render(system.diagnostics()));
  return *std::move(system);
}

std::vector<NcclSystem> servers_of(const NcclSystem& system, std::size_t count) {
  std::vector<NcclSystem> servers(count, system);
  std::int64_t rank = 0;
  for (NcclSystem& server : servers) {
    for (NcclGpu& gpu : server.gpus) gpu.rank = rank++;
  }
  return servers;
}

const NcclPlan& plan_of_case(const std::string& name) {
  static std::map<std::string, NcclPlan> plans;
  const auto known = plans.find(name);
  if (known != plans.end()) return known->second;
  const Case wanted = case_named(name);
  Result<NcclPlan> plan = plan_nccl(servers_of(fixture_system(wanted.fixture), wanted.servers), wanted.settings);
  if (!plan) throw std::runtime_error(render(plan.diagnostics()));
  return plans.emplace(name, *std::move(plan)).first->second;
}

double number_after(const std::string& cell, const std::string& key) {
  return std::stod(word_after(cell, key));
}

std::string word_after(const std::string& cell, const std::string& key) {
  const std::size_t start = cell.find(key);
  if (start == std::string::npos) throw std::runtime_error("no " + key + " in " + cell);
  const std::size_t from = start + key.size();
  return cell.substr(from, cell.find(' ', from) - from);
}

CollectiveKind collective_kind(const std::string& name) {
  if (name == "AllGather") return CollectiveKind::all_gather;
  if (name == "ReduceScatter") return CollectiveKind::reduce_scatter;
  if (name == "AllReduce") return CollectiveKind::all_reduce;
  throw std::runtime_error("unknown collective " + name);
}

NcclAlgorithm algorithm_named(const std::string& name) {
  return named<NcclAlgorithm>(name, nccl_algorithms);
}
NcclProtocol protocol_named(const std::string& name) {
  return named<NcclProtocol>(name, nccl_protocols);
}

void ColumnCounts::add(const std::string& column, const std::string& row, bool matches) {
  auto count = std::find_if(counts_.begin(), counts_.end(), [&](const Count& c) { return c.column == column; });
  if (count == counts_.end()) count = counts_.insert(counts_.end(), {column, 0, 0, {}});
  ++count->rows;
  if (matches)
    ++count->matching;
  else if (count->first_difference.empty())
    count->first_difference = row;
}

std::string ColumnCounts::report() const {
  std::string text;
  for (const Count& count : counts_) {
    text += count.column + " " + std::to_string(count.matching) + "/" + std::to_string(count.rows);
    text += count.first_difference.empty() ? "\n" : " (first difference: " + count.first_difference + ")\n";
  }
  return text;
}

bool ColumnCounts::all_match() const {
  return std::all_of(counts_.begin(), counts_.end(), [](const Count& c) { return c.matching == c.rows; });
}

}  // namespace takt::test
