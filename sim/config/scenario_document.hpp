// A scenario file parsed once and read many times, each time with other overrides: what sweeps do.
#pragma once

#include "config/hardware_change.hpp"
#include "config/node.hpp"
#include "config/scenario.hpp"

namespace takt {

/// The tree of a scenario file. Errors: not valid TOML.
Result<Document> parse_scenario(const SourceText& source);

/// A scenario from a tree and overrides; the document is not changed.
Result<Scenario> scenario_from(const Document& document, const Overrides& overrides = {});
Result<Scenario> scenario_with(const Document& document, const NodeChanges& changes);

/// An override as a change of the tree. A value that is no TOML is the text that it is, so that `finetune.method=qlora`
/// needs no quotes.
NodeChange change_of(const Override& item);

/// `document` with each override's value in place of what stood at its key, in order. Overrides stand at "command line",
/// with `key=value` as the source line. Errors: an empty key, a key below something that is no table.
Result<Document> apply_overrides(Document document, const Overrides& overrides);

}  // namespace takt
