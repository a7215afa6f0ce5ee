#include "engine/program_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/contract.hpp"
#include "base/ids.hpp"

namespace takt {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

}  // namespace

ProgramIndex::ProgramIndex(const Program& program, std::pmr::memory_resource* memory)
    : first_dependent_(memory),
      dependents_(memory),
      pending_(memory),
      epoch_(memory),
      call_number_(memory),
      host_work_(memory),
      issue_offset_(memory),
      epochs_(memory) {
  add_edges(program);
  add_issue_times(program);
}

void ProgramIndex::add_edges(const Program& program) {
  const auto count = static_cast<std::uint32_t>(program.ops.size());
  std::array<std::byte, 2048> small;   // many programs are of two ops
  std::pmr::monotonic_buffer_resource memory(small.data(), small.size());
  std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> edges(&memory);   // (before, after)
  std::pmr::vector<std::uint32_t> last_of_stream(program.streams.size(), none, &memory);
  std::pmr::vector<std::uint32_t> last_of_comm(program.comms.size(), none, &memory);
  std::pmr::vector<std::uint32_t> calls(program.comms.size(), 0, &memory);
  call_number_.assign(count, 0);
  pending_.assign(count, 0);
  std::pmr::vector<std::uint32_t> before(&memory);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Op& op = program.ops[i];
    before.clear();
    for (const OpId wait : op.waits) {
      expects(index(wait) < i, "an op waits for a later op");
      before.push_back(static_cast<std::uint32_t>(wait));
    }
    if (!on_host(op)) {
      std::uint32_t& last = last_of_stream[index(op.stream)];
      if (last != none) before.push_back(last);
      last = i;
    }
    if (const auto* collective = std::get_if<Collective>(&op.work)) {
      std::uint32_t& last = last_of_comm[index(collective->comm)];
      if (last != none) before.push_back(last);
      last = i;
      call_number_[i] = calls[index(collective->comm)]++;
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    pending_[i] = static_cast<std::uint32_t>(before.size());
    for (const std::uint32_t b : before) edges.emplace_back(b, i);
  }
  first_dependent_.assign(count + 1, 0);
  for (const auto& [b, a] : edges) ++first_dependent_[b + 1];
  for (std::uint32_t i = 0; i < count; ++i) first_dependent_[i + 1] += first_dependent_[i];
  dependents_.resize(edges.size());
  std::pmr::vector<std::uint32_t> cursor(first_dependent_.begin(), first_dependent_.end() - 1, &memory);
  for (const auto& [b, a] : edges) dependents_[cursor[b]++] = a;
}

void ProgramIndex::add_issue_times(const Program& program) {
  const auto count = static_cast<std::uint32_t>(program.ops.size());
  issue_offset_.resize(count);
  epoch_.resize(count);
  Duration clock{};
  std::uint32_t epoch = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Op& op = program.ops[i];
    epoch_[i] = epoch;
    clock += op.host_before;
    if (const auto* work = std::get_if<HostWork>(&op.work)) {
      issue_offset_[i] = clock;
      clock += work->time;
      host_work_.push_back(i);
    } else if (std::holds_alternative<HostWait>(op.work)) {
      issue_offset_[i] = clock;
      epochs_.push_back({i, clock});
      clock = Duration{};
      ++epoch;
    } else if (const auto* segment = std::get_if<Segment>(&op.work)) {
      issue_offset_[i] = clock + (segment->kernel_count > 0 ? program.kernel_issue[segment->first_kernel] : Duration{});
      clock += op.issue_cost;
    } else {
      clock += op.issue_cost;
      issue_offset_[i] = clock;
    }
  }
  epochs_.push_back({none, clock});
}

}  // namespace takt
