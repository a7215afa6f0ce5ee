// A server in the state that a scenario's [platform] sets: other peer-to-peer rules, slower links, NICs elsewhere.
#pragma once

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"
#include "config/platform_settings.hpp"

#include <map>
#include <string>

namespace takt {

/// What the settings are checked against and looked up in.
struct PlatformParts {
  const std::map<std::string, CardSpec>& cards;
  const std::map<std::string, LinkType>& link_types;
};

/// `server` with the settings in place of what its file says. A link of another generation or width becomes the kind of
/// links.toml, and keeps what its own file measured where that is less. Errors, at the setting's place: a device that
/// does not exist or hangs on nothing, a link that is slower already, more lanes than the cards have, sockets, NICs,
/// switches or host memory that the server does not have, peer-to-peer under a translating IOMMU without NVLink.
/// Warnings: ACS where no two cards share a switch.
Result<ServerSpec> in_platform_state(ServerSpec server, const PlatformState& state, const PlatformParts& parts);

}  // namespace takt
