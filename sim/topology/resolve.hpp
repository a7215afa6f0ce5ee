// A server file's names resolved to positions, its bridges to links, and everything checked that needs no routes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"

namespace takt {

/// A link between two devices of ServerSpec::devices. NVLinks of a pair are one link with their number as lanes.
struct ResolvedLink {
  std::size_t from = 0;
  std::size_t to = 0;
  LinkType type;
  bool assumed = false;
  std::int64_t host_bridge = 0;
};

/// Cards joined by NVLink, as positions in ServerSpec::devices.
struct ResolvedDomain {
  std::vector<std::size_t> cards;
  bool switched = false;
  SourcePlace place;
};

struct ResolvedServer {
  std::vector<ResolvedLink> links;      ///< those of the file in its order, then those of the bridges
  std::vector<ResolvedDomain> domains;  ///< bridges in the order of the file, then switches
};

/// Errors: an unknown or repeated device name, an unknown card id, a link from a device to itself, a PCIe link wider or
/// newer than its card, more lanes than a socket has, a bridge that the cards cannot form.
Result<ResolvedServer> resolve_server(const ServerSpec& server, const std::map<std::string, CardSpec>& cards);

/// `count` NVLinks as one link; `one` may be empty (nominal 0), then `card` gives the nominal rate.
LinkType nvlinks_of(const LinkType& one, std::int64_t count, const CardSpec& card);

}  // namespace takt
