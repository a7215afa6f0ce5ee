// Results as text: tables for people, JSON for programs, traces for Perfetto. Pure functions; nothing is written here.
#pragma once

#include "metrics/step_metrics.hpp"

#include <span>
#include <string>
#include <vector>

namespace takt {

/// "0.1.0".
std::string takt_version();

/// One run on one screen: step time, where it goes, overlap, links, memory, blame.
std::string run_table(const RunResult& result);

/// Memory over a step: the peak of each phase, when and by which op, what it is made of, and what the card holds beside.
std::string memory_table(const RunResult& result);

/// How much too much a run that does not fit needs, and the changes that were tried; empty for one that fits.
std::string fit_changes_table(const RunResult& result);

/// Side by side, at most four runs: which is faster by how much, and what limits each.
std::string compare_table(std::span<const RunResult> results);

/// Schema takt.result/1 (DESIGN section 7), pretty-printed, ending in a newline. Keys are only added, never renamed.
std::string results_json(std::span<const RunResult> results);

/// One header line and a line a result.
std::string results_csv(std::span<const RunResult> results);

/// Chrome trace event format, for Perfetto: a process a rank, a thread a stream (segments expanded to kernels), flow
/// arrows between the members of a collective, counters for links (if the timeline recorded rates) and memory.
std::string chrome_trace(const RunResult& result, const Plan& plan, const Topology& topology, const Timeline& timeline);

/// Rank 0's streams as a picture: a row for the CPU, where it waits, and one for each stream, a box for each op.
std::string timeline_svg(const RunResult& result, const Plan& plan, const Timeline& timeline);

/// `takt topo show`: devices, path-type matrix, bandwidth matrix (nominal and effective), NVLink domains, assumptions.
std::string topology_table(const Topology& topology);

/// `takt check --keys`: the reference of keys as a table, or as Markdown for the README.
enum class KeyFormat { table, markdown };
std::string key_reference(KeyFormat format);

}  // namespace takt
