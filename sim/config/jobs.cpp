#include "config/jobs.hpp"

#include "config/key_table.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

constexpr KeyMaker<JobEntry> job_key;
constexpr KeyMaker<JobsFile> file_key;

/// job.set: keys of the scenario, in quotes or as tables.
Key<JobEntry> set_key() {
  const auto read = [](const Node& node, const std::string& path, JobEntry& job, Reading& reading) {
    if (!node.as<Node::Table>()) {
      return reading.error(node.place, path + " must be a table, not " + describe(node),
                           "for example set = { batch.micro_batch = 2 }");
    }
    job.set = leaves_of(node);
  };
  return {{"set", Presence::optional, "table", "", "keys of the scenario with other values: { batch.micro_batch = 2 }"},
          read,
          [](const JobEntry& job) { return inline_table(job.set); },
          {}};
}

const KeyTable<JobEntry>& job_keys() {
  static const KeyTable<JobEntry> table({
      job_key.optional("name", at(&JobEntry::name), Text{}, "what reports call it; default: the scenario's name"),
      job_key.required("scenario", at(&JobEntry::scenario), Text{}, "a scenario file, beside the file of jobs or a path"),
      job_key.optional("cards", at(&JobEntry::cards), IntegerList{{0, 1'000'000}, "scenario"},
                       "numbers of the cards that it takes; default: the scenario's"),
      job_key.optional("copies", at(&JobEntry::copies), Integer{1, 1024},
                       "equal jobs; each takes the next cards, or the next slice of a card"),
      set_key(),
  });
  return table;
}

const KeyTable<JobsFile>& jobs_keys() {
  static const KeyTable<JobsFile> table({
      file_key.optional("title", at(&JobsFile::title), Text{}, "the question; default: the file's name"),
      file_key.required("hardware.topology", at(&JobsFile::topology), Text{},
                        "the machine of all jobs, in place of what their scenarios name"),
      file_key.list("job", at(&JobsFile::jobs), job_keys(), "scenarios that run at the same time"),
  });
  return table;
}

}  // namespace

bool names_jobs(const Document& document) {
  return find(std::get<Node::Table>(document.root.value), "job") != nullptr;
}

Result<JobsFile> read_jobs(const SourceText& source) {
  const Result<Document> document = parse_toml(source);
  if (!document) return document.diagnostics();
  JobsFile jobs;
  Reading reading;
  jobs.file = source.file;
  jobs.name = file_stem(source.file);
  jobs_keys().read(document->root, "", jobs, reading);
  if (jobs.title.empty()) jobs.title = jobs.name;
  if (jobs.jobs.empty() && !has_error(reading.diagnostics)) {
    reading.error({source.file, 0, 0, {}}, "the file has no job", "add [[job]] with scenario and cards");
  }
  jobs.places = std::move(reading.places);
  return finish(std::move(jobs), std::move(reading));
}

std::vector<KeyDescription> job_key_reference() { return jobs_keys().describe(); }

}  // namespace takt
