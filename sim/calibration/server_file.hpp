// A server's file with what was measured between its cards.
#pragma once

#include "calibration/collective_fit.hpp"
#include "calibration/link_fit.hpp"

#include <string>

namespace takt {

struct CalibratedServer {
  ServerSpec server;
  CopyErrors copies_before, copies_after;
  FittedCollectives collectives;
};

/// Links first, then collectives on them. `source` says where the measurements are from. Errors: those of both fits;
/// measurements of a card that the server does not have, or beyond its links' nominal rates; neither copies nor
/// collectives.
Result<CalibratedServer> calibrated_server(const ServerSpec& base, const std::map<std::string, CardSpec>& cards,
                                           const std::vector<Measurement>& measured, const std::string& source);

/// The file, with what was measured and how well it is met in its head.
std::string server_file_text(const CalibratedServer& calibrated, const std::map<std::string, LinkType>& link_types,
                             const std::string& base, const std::string& source);

}  // namespace takt
