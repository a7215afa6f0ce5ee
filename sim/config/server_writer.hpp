// A ServerSpec as the text of a server file: what read_server reads, in the order of its keys.
#pragma once

#include "config/hardware_spec.hpp"

#include <map>
#include <string>

namespace takt {

/// The server file of `server`; read_server of the text with the same link types gives an equal spec, apart from
/// places. Link figures are written where they differ from what `link_types` says of their type. `server` has at most
/// one NVSwitch, host memories named as their sockets ("cpu0 memory"), and link types that `link_types` knows.
std::string write_server(const ServerSpec& server, const std::map<std::string, LinkType>& link_types);

}  // namespace takt
