// What the links of a server reach, from measured copies between its cards and their hosts.
//
// A copy moves at the least capacity on its route. So a link that is (nearly) the narrowest of some measured routes
// reaches the most that was measured over these, and one that is not, at least what was measured over it. Links of one
// kind that agree within a few percent get their median; one that does not, a slot that runs at half its width, say,
// stays on its own. Copies both ways tell the cap of the sum likewise. Copies that the driver stages are scored only:
// what they reach follows from the links (metrics/copy_limits.hpp).
#pragma once

#include "base/result.hpp"
#include "calibration/measurements.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"
#include "metrics/copy_rates.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace takt {

/// Relative errors of predicted copies.
struct CopyErrors {
  std::size_t rows = 0;
  double median = 0.0, worst = 0.0;
};

struct FittedLinks {
  ServerSpec server;
  CopyErrors before, after;
};

/// `server` with the capacities that the copies of `measured` tell, each link that changed with `source`; kinds other
/// than copies are passed over. Where every copy between cards was staged, peer-to-peer is off. Errors: a transfer that
/// is none, a card that the server does not have (with the row), a server that cannot be built.
Result<FittedLinks> fit_links(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                              const std::vector<Measurement>& measured, const std::string& source);

}  // namespace takt
