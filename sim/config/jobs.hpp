// A file of jobs: scenarios that run at the same time on one machine, each on its own cards or slices.
//
//     [hardware]
//     topology = "8x-rtx-pro-6000"
//
//     [[job]]
//     scenario = "qlora.toml"         # beside this file
//     cards = [0]
//     copies = 8                      # on cards 0, 1, ..., 7
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/hardware_change.hpp"
#include "config/reader.hpp"

namespace takt {

/// [[job]]
struct JobEntry {
  std::string name;                 ///< in reports; empty: the scenario's
  std::string scenario;             ///< path, from the folder of the file of jobs
  std::vector<std::int64_t> cards;  ///< empty: those of the scenario
  std::int64_t copies = 1;          ///< equal jobs; each takes the next cards, or the next slice of a card
  NodeChanges set;                  ///< keys of the scenario with other values
  SourcePlace place;
};

struct JobsFile {
  std::string file;
  std::string name;      ///< the file's stem
  std::string title;
  std::string topology;  ///< hardware.topology, in place of what the scenarios name
  std::vector<JobEntry> jobs;
  SourcePlaces places;
};

/// Whether a document is a file of jobs and not a scenario: it has [[job]].
bool names_jobs(const Document& document);

/// Errors: no valid TOML, unknown, missing or wrong keys, no job.
Result<JobsFile> read_jobs(const SourceText& source);

std::vector<KeyDescription> job_key_reference();

}  // namespace takt
