// How long a segment takes when the CPU is slow.
//
// Kernel j of a segment is issued o(j) after the first one, o(0) = 0, and cannot start before that; kernels of a stream
// run one after another. The end of kernel n after the first kernel's issue, with the stream free, is
//
//     e(0) = t(0),   e(n) = max(e(n - 1), o(n)) + t(n)   =   max over j of (o(j) + t(j) + ... + t(n)).
//
// The last value is Segment::issue_bound; it depends on the segment alone, so equal segments share it. A kernel that
// stands for several launches of equal length is the same recurrence over its launches: they run back to back, or the
// last of them starts as soon as it is issued.
#include "plan/builder.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"

namespace takt {
namespace {

bool is_communication(StreamKind kind) {
  return kind == StreamKind::all_gather || kind == StreamKind::reduce_scatter || kind == StreamKind::all_reduce;
}

}  // namespace

ProgramBuilder::ProgramBuilder(BuilderOptions options) : options_(options) {
  program_.ops.reserve(1024);  // a step of eighty sharded layers
}

StreamId ProgramBuilder::stream(StreamKind kind, std::string name) {
  program_.streams.push_back({kind, std::move(name)});
  streams_.emplace_back();
  return id_at<StreamId>(program_.streams.size() - 1);
}

CommSlot ProgramBuilder::comm(std::string name) {
  program_.comms.push_back({std::move(name), {}});
  return id_at<CommSlot>(program_.comms.size() - 1);
}

void ProgramBuilder::begin_measured() {
  for (StreamState& stream : streams_) stream.open = false;
  program_.first_measured = static_cast<std::uint32_t>(program_.ops.size());
}

void ProgramBuilder::phase(Phase phase) { phase_ = phase; }
void ProgramBuilder::unit(std::uint32_t unit) { unit_ = unit; }

void ProgramBuilder::kernel(StreamId stream, const Kernel& kernel, std::string_view label) {
  const std::span<const Kernel> one(&kernel, 1);
  if (can_join(stream)) {
    extend(program_.ops.back(), one);
    return;
  }
  const Segment segment = add_kernels(empty_segment(), one);
  Op& op = append(stream, segment, label);
  op.issue_cost = segment.issue;
  state(stream).open = options_.join_kernels;
}

void ProgramBuilder::kernels(StreamId stream, std::span<const Kernel> kernels, std::string_view label) {
  if (kernels.empty()) return;
  if (!options_.join_kernels) {
    for (const Kernel& one : kernels) kernel(stream, one, label);
    return;
  }
  if (can_join(stream)) {
    extend(program_.ops.back(), kernels);
    return;
  }
  const Segment segment = shared_segment(kernels);
  Op& op = append(stream, segment, label);
  op.issue_cost = segment.issue;
  state(stream).open = true;
}

Event ProgramBuilder::collective(StreamId stream, CommSlot comm, CollectiveCall call, std::string_view label) {
  std::vector<CollectiveCall>& calls = program_.comms[index(comm)].calls;
  const auto known = std::find(calls.begin(), calls.end(), call);
  const auto number = static_cast<std::uint32_t>(known - calls.begin());
  if (known == calls.end()) calls.push_back(call);
  append(stream, Collective{comm, number}, label).issue_cost = options_.collective_launch;
  return {{*last_op_}};
}

Event ProgramBuilder::copy(StreamId stream, std::uint32_t path, Bytes bytes, std::string_view label) {
  append(stream, Copy{path, bytes}, label).issue_cost = options_.kernel_launch;
  return {{*last_op_}};
}

void ProgramBuilder::host_work(Duration time, std::string_view label) {
  Op op;
  op.work = HostWork{time};
  op.phase = phase_;
  op.unit = unit_;
  op.label = label_number(label);
  program_.ops.push_back(std::move(op));
}

void ProgramBuilder::host_wait(const Event& event) {
  for (const OpId awaited : event.ops) {
    Op op;
    op.work = HostWait{awaited};
    op.phase = phase_;
    op.unit = unit_;
    op.label = label_number("host wait");
    op.waits = {awaited};
    program_.ops.push_back(std::move(op));
  }
}

Event ProgramBuilder::record(StreamId stream) {
  StreamState& at = state(stream);
  at.open = false;
  Event event;
  if (at.last) event.ops.push_back(*at.last);
  event.ops.insert(event.ops.end(), at.pending_waits.begin(), at.pending_waits.end());
  return event;
}

void ProgramBuilder::wait(StreamId stream, const Event& event) {
  for (const OpId op : event.ops) add_wait(stream, op);
}

void ProgramBuilder::wait(StreamId stream, StreamId other) { wait(stream, record(other)); }

void ProgramBuilder::allocate(StreamId stream, MemoryCategory category, Bytes size, EffectTime when) {
  if (size == Bytes{}) return;
  state(stream).open = false;
  state(stream).pending_effects.push_back({when, category, size});
}

void ProgramBuilder::release(StreamId stream, MemoryCategory category, Bytes size) {
  if (size == Bytes{}) return;
  StreamState& at = state(stream);
  expects(at.last.has_value(), "memory is given back by a stream without ops");
  at.open = false;
  program_.ops[index(*at.last)].effects.push_back({EffectTime::end, category, Bytes{} - size});
}

void ProgramBuilder::resident(MemoryCategory category, Bytes size) {
  if (size != Bytes{}) resident_.push_back({EffectTime::issue, category, size});
}

Program ProgramBuilder::finish() && {
  if (!program_.ops.empty()) {
    std::vector<MemoryEffect>& first = program_.ops.front().effects;
    first.insert(first.begin(), resident_.begin(), resident_.end());
  }
  return std::move(program_);
}

Op& ProgramBuilder::append(StreamId stream, Work work, std::string_view label) {
  StreamState& at = state(stream);
  Op op;
  op.stream = stream;
  op.work = std::move(work);
  op.phase = phase_;
  op.unit = unit_;
  op.label = label_number(label);
  if (options_.overlap == Overlap::none && last_op_) add_wait(stream, *last_op_);
  op.host_before = std::exchange(host_delay_, {});
  op.waits = std::exchange(at.pending_waits, {});
  op.effects = std::exchange(at.pending_effects, {});
  const OpId id = id_at<OpId>(program_.ops.size());
  program_.ops.push_back(std::move(op));
  at.last = id;
  at.open = false;
  last_op_ = id;
  return program_.ops.back();
}

bool ProgramBuilder::can_join(StreamId stream) const {
  const StreamState& at = streams_[index(stream)];
  if (!at.open || !at.pending_waits.empty() || !at.pending_effects.empty()) return false;
  if (host_delay_ != Duration{}) return false;
  if (index(*at.last) + 1 != program_.ops.size()) return false;
  const Op& op = program_.ops.back();
  return op.phase == phase_ && op.unit == unit_;
}

/// Adds kernels to the last op. A segment whose kernels are shared, or no longer the last ones, gets its own copy.
void ProgramBuilder::extend(Op& op, std::span<const Kernel> kernels) {
  auto& segment = std::get<Segment>(op.work);
  if (segment.first_kernel + segment.kernel_count != program_.kernels.size()) {
    const std::vector<Kernel> own(program_.kernels.begin() + segment.first_kernel,
                                  program_.kernels.begin() + segment.first_kernel + segment.kernel_count);
    segment = add_kernels(empty_segment(), own);
  }
  segment = add_kernels(segment, kernels);
  op.issue_cost = segment.issue;
}

Segment ProgramBuilder::add_kernels(Segment segment, std::span<const Kernel> kernels) {
  program_.kernels.insert(program_.kernels.end(), kernels.begin(), kernels.end());
  for (const Kernel& kernel : kernels) {
    const std::int64_t launches = std::max<std::int64_t>(1, kernel.launches);
    const Duration issue = issue_time(kernel);
    const Duration each = issue / launches;
    program_.kernel_issue.push_back(kernel.host + each);
    const Duration first = program_.kernel_issue[segment.first_kernel];  // offsets count from here
    const Duration offset = segment.issue + kernel.host + each - first;
    segment.issue_bound = std::max(
        {std::max(segment.issue_bound, offset) + kernel.time, offset + each * (launches - 1) + kernel.time / launches});
    segment.issue += kernel.host + issue;
    segment.time += kernel.time;
    if (!bound_by_sms(kernel.kind)) segment.memory_time += kernel.time;
    segment.memory_bytes += static_cast<double>(kernel.memory.count());
    ++segment.kernel_count;
  }
  return segment;
}

Segment ProgramBuilder::empty_segment() const {
  Segment segment;
  segment.first_kernel = static_cast<std::uint32_t>(program_.kernels.size());
  return segment;
}

/// Host time of a kernel's launches with their dispatch, besides Kernel::host.
Duration ProgramBuilder::issue_time(const Kernel& kernel) const {
  return options_.kernel_launch * std::int64_t{kernel.launches} + options_.eager_op * std::int64_t{kernel.dispatches};
}

Segment ProgramBuilder::shared_segment(std::span<const Kernel> kernels) {
  for (const SharedRun& run : shared_) {
    if (run.data == kernels.data() && run.count == kernels.size()) return run.segment;
  }
  const Segment segment = add_kernels(empty_segment(), kernels);
  shared_.push_back({kernels.data(), kernels.size(), segment});
  return segment;
}

/// Overlap::perfect: compute goes on as if all communication were done.
bool ProgramBuilder::ignores(StreamId waiting, OpId op) const {
  if (options_.overlap != Overlap::perfect) return false;
  const StreamKind kind = program_.streams[index(program_.ops[index(op)].stream)].kind;
  return program_.streams[index(waiting)].kind == StreamKind::compute && is_communication(kind);
}

void ProgramBuilder::add_wait(StreamId stream, OpId op) {
  if (program_.ops[index(op)].stream == stream || ignores(stream, op)) return;  // a stream is in order by itself
  StreamState& at = state(stream);
  if (std::find(at.pending_waits.begin(), at.pending_waits.end(), op) == at.pending_waits.end()) {
    at.pending_waits.push_back(op);
    at.open = false;
  }
}

std::uint32_t ProgramBuilder::label_number(std::string_view label) {
  for (const auto& [address, number] : label_addresses_) {
    if (address == label.data() && program_.labels[number] == label) return number;
  }
  const auto known = std::find(program_.labels.begin(), program_.labels.end(), label);
  const auto number = static_cast<std::uint32_t>(known - program_.labels.begin());
  if (known == program_.labels.end()) program_.labels.emplace_back(label);
  label_addresses_.emplace_back(label.data(), number);
  return number;
}

}  // namespace takt
