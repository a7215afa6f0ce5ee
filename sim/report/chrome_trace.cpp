// The Chrome trace event format, as Perfetto and chrome://tracing load it.
//
// A process a rank, a thread a stream, thread 0 the CPU. Segments are expanded to their kernels, each stretched as the
// segment was. An arrow runs from the last member of a collective to those that waited for it. Counters show each
// rank's allocated memory, in all and by category, and, if the timeline recorded rates, the rate on each link and memory.
#include "config/json.hpp"
#include "metrics/memory_use.hpp"
#include "report/report.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace takt {
namespace {

constexpr double picoseconds_per_microsecond = 1e6;  // the format counts in microseconds
constexpr std::int64_t host_thread = 0;

double microseconds(Duration time) {
  return static_cast<double>(time.count()) / picoseconds_per_microsecond;
}

std::int64_t thread_of(StreamId stream) {
  return static_cast<std::int64_t>(index(stream)) + 1;
}

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case CollectiveKind::all_reduce:
      return "all-reduce";
    case CollectiveKind::broadcast:
      return "broadcast";
  }
  return "collective";
}

class TraceWriter {
 public:
  TraceWriter(const Plan& plan, const ResourceTable& resources, const Timeline& timeline)
      : plan_(plan), resources_(resources), timeline_(timeline) {}

  std::string write(const RunResult& result) {
    text_ = "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
            write_json(Json::Object{{"scenario", result.scenario.name}, {"takt_version", takt_version()}},
                       JsonLayout::compact) +
            ",\"traceEvents\":[";
    for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      name_rank(rank);
      add_ops(rank);
      add_memory(rank);
    }
    add_arrows();
    add_rates();
    return text_ + "\n]}\n";
  }

 private:
  const Program& program(std::size_t rank) const { return plan_.programs[index(plan_.ranks[rank].role)]; }

  void event(Json::Object members) {
    text_ += (first_ ? "\n" : ",\n") + write_json(Json(std::move(members)), JsonLayout::compact);
    first_ = false;
  }

  void metadata(const char* what, std::size_t process, std::int64_t thread, Json::Object args) {
    event({{"name", what},
           {"ph", "M"},
           {"pid", static_cast<std::int64_t>(process)},
           {"tid", thread},
           {"args", std::move(args)}});
  }

  void name_rank(std::size_t rank) {
    metadata("process_name", rank, host_thread, {{"name", plan_.ranks[rank].name}});
    metadata("process_sort_index", rank, host_thread, {{"sort_index", static_cast<std::int64_t>(rank)}});
    metadata("thread_name", rank, host_thread, {{"name", "CPU"}});
    const std::vector<Stream>& streams = program(rank).streams;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      metadata("thread_name", rank, thread_of(id_at<StreamId>(i)), {{"name", streams[i].name}});
    }
  }

  void span(const std::string& name, const char* category, std::size_t rank, std::int64_t thread, Duration begin,
            Duration end, Json::Object args) {
    event({{"name", name},
           {"cat", category},
           {"ph", "X"},
           {"pid", static_cast<std::int64_t>(rank)},
           {"tid", thread},
           {"ts", microseconds(begin)},
           {"dur", microseconds(end - begin)},
           {"args", std::move(args)}});
  }

  void add_ops(std::size_t rank) {
    const Program& program = this->program(rank);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const OpRecord& record = timeline_.ops[rank][i];
      const std::string label = op.label < program.labels.size() ? program.labels[op.label] : "op";
      Json::Object args;
      if (op.unit != no_unit) args.push_back({"unit", static_cast<std::int64_t>(op.unit)});
      if (const auto* segment = std::get_if<Segment>(&op.work)) {
        add_kernels(rank, op, *segment, record, label);
      } else if (const auto* call = std::get_if<Collective>(&op.work)) {
        const CollectiveCall& shape = program.comms[index(call->comm)].calls[call->call];
        args.push_back({"collective", name_of(shape.kind)});
        args.push_back({"communicator", program.comms[index(call->comm)].name});
        args.push_back({"bytes", shape.bytes.count()});
        args.push_back({"waited_us", microseconds(record.start - record.ready)});
        span(label, "communication", rank, thread_of(op.stream), record.start, record.end, std::move(args));
      } else if (const auto* copy = std::get_if<Copy>(&op.work)) {
        args.push_back({"bytes", copy->bytes.count()});
        span(label, "copy", rank, thread_of(op.stream), record.start, record.end, std::move(args));
      } else if (std::holds_alternative<HostWork>(op.work)) {
        span(label, "host", rank, host_thread, record.start, record.end, std::move(args));
      }
    }
  }

  void add_kernels(std::size_t rank, const Op& op, const Segment& segment, const OpRecord& record,
                   const std::string& label) {
    const double stretch = segment.time > Duration{} ? static_cast<double>((record.end - record.start).count()) /
                                                           static_cast<double>(segment.time.count())
                                                     : 0.0;
    Duration done{};
    Duration begin = record.start;
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
      const Kernel& kernel = program(rank).kernels[segment.first_kernel + k];
      done += kernel.time;
      const bool last = k + 1 == segment.kernel_count;
      const auto stretched = static_cast<std::int64_t>(std::llround(stretch * static_cast<double>(done.count())));
      const Duration end = last ? record.end : record.start + Duration(stretched);
      Json::Object args = {{"part", label}, {"stand_alone_us", microseconds(kernel.time)}};
      if (op.unit != no_unit) args.push_back({"unit", static_cast<std::int64_t>(op.unit)});
      span(kernel.name, "kernel", rank, thread_of(op.stream), begin, end, std::move(args));
      begin = end;
    }
  }

  void add_memory(std::size_t rank) {
    std::array<bool, memory_categories> used{};
    const std::vector<MemoryState> states = memory_states(plan_, timeline_, id_at<RankId>(rank));
    for (const MemoryState& state : states) {
      for (std::size_t i = 0; i < memory_categories; ++i) used[i] = used[i] || state.by_category[i] != Bytes{};
    }
    for (const MemoryState& state : states) {
      counter("allocated memory", rank, state.when, "bytes", static_cast<double>(state.allocated.count()));
      Json::Object parts;
      for (std::size_t i = 0; i < memory_categories; ++i) {
        if (used[i]) parts.push_back({takt::name_of(static_cast<MemoryCategory>(i)), state.by_category[i].count()});
      }
      counter("memory by category", rank, state.when, std::move(parts));
    }
  }

  void counter(const std::string& name, std::size_t process, Duration when, const char* unit, double value) {
    counter(name, process, when, Json::Object{{unit, value}});
  }

  /// Several series are stacked.
  void counter(const std::string& name, std::size_t process, Duration when, Json::Object series) {
    event({{"name", name},
           {"ph", "C"},
           {"pid", static_cast<std::int64_t>(process)},
           {"ts", microseconds(when)},
           {"args", std::move(series)}});
  }

  /// Ops by which each rank takes part in the calls of a communicator slot, in order of the calls.
  std::vector<OpId> calls_of(RankId rank, CommSlot slot) const {
    std::vector<OpId> calls;
    const Program& program = this->program(index(rank));
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const auto* call = std::get_if<Collective>(&program.ops[i].work);
      if (call != nullptr && call->comm == slot) calls.push_back(id_at<OpId>(i));
    }
    return calls;
  }

  void add_arrows() {
    std::int64_t arrow = 0;
    for (const Communicator& communicator : plan_.communicators) {
      std::vector<std::vector<OpId>> calls;
      for (const RankId member : communicator.members) calls.push_back(calls_of(member, communicator.slot));
      if (calls.size() < 2) continue;
      for (std::size_t call = 0; call < calls.front().size(); ++call) {
        add_arrow(communicator, calls, call, ++arrow);
      }
    }
  }

  void add_arrow(const Communicator& communicator, const std::vector<std::vector<OpId>>& calls, std::size_t call,
                 std::int64_t arrow) {
    const RankId first = communicator.members.front();
    const RankId last = timeline_.ops[index(first)][index(calls.front()[call])].last_member;
    std::vector<std::size_t> order;  // positions of members: the last one, then the others
    for (std::size_t m = 0; m < calls.size(); ++m) {
      if (communicator.members[m] == last) order.push_back(m);
    }
    for (std::size_t m = 0; m < calls.size(); ++m) {
      if (communicator.members[m] != last) order.push_back(m);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t member = index(communicator.members[order[i]]);
      const std::size_t op = index(calls[order[i]][call]);
      const char* phase = i == 0 ? "s" : i + 1 == order.size() ? "f" : "t";
      Json::Object members = {{"name", "collective"},
                              {"cat", "collective"},
                              {"ph", phase},
                              {"id", arrow},
                              {"pid", static_cast<std::int64_t>(member)},
                              {"tid", thread_of(program(member).ops[op].stream)},
                              {"ts", microseconds(timeline_.ops[member][op].start)}};
      if (i + 1 == order.size()) members.push_back({"bp", "e"});
      event(std::move(members));
    }
  }

  void add_rates() {
    if (timeline_.rates.empty()) return;
    const std::size_t process = plan_.ranks.size();
    metadata("process_name", process, host_thread, {{"name", "links and memories"}});
    metadata("process_sort_index", process, host_thread, {{"sort_index", static_cast<std::int64_t>(process)}});
    for (const RateChange& change : timeline_.rates) {
      counter(resources_[index(change.resource)].name, process, change.time, "GB/s", change.rate / 1e9);
    }
  }

  const Plan& plan_;
  const ResourceTable& resources_;
  const Timeline& timeline_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string chrome_trace(const RunResult& result, const Plan& plan, const Topology& topology,
                         const Timeline& timeline) {
  return TraceWriter(plan, topology.resources(), timeline).write(result);
}

}  // namespace takt
