// Where the members of a JSON text stand, for messages about what they say.
#pragma once

#include "config/source.hpp"

namespace takt {

/// Places of the values of all members of objects, by dotted path: "text_config.hidden_size". Members of objects inside
/// arrays are left out. `source` must be valid JSON (parse_json says so).
SourcePlaces json_places(const SourceText& source);

}  // namespace takt
