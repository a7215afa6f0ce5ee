// Which measurements between cards and hosts no machine like the stated one can have made.
//
// Nothing moves faster over a link than its nominal rate. Of n equal copies at once let c_l cross link l of rate r_l:
// the last ends no earlier than any link has carried its share, so that all together reach at most
//
//     n x min over l of r_l / c_l.
//
// For a collective of S bytes let the n cards fall into k groups of which data leaves over links of a rate C in all:
// cards of a NVLink domain are a group and C is what leaves it; if one domain holds all, each card is a group and C its
// NVLinks. Every group has to send (or, in an all-gather, receive) what the others lack, (k - 1) S in all, twice in an
// all-reduce. In the rate that nccl-tests call busbw, (n - 1) / n x S / time and twice that in an all-reduce, this is
//
//     busbw <= (n - 1) / n x C / (k - 1),
//
// and twice that in an all-reduce that NVSwitches may do, as they reduce on the way.
//
// A few percent are let pass: clocks are not exact, and nominal rates are rounded. Memory of hosts bounds nothing here:
// a copy may end in a cache.
#pragma once

#include "base/result.hpp"
#include "calibration/measurements.hpp"
#include "config/card_spec.hpp"
#include "config/hardware_spec.hpp"

#include <map>
#include <string>
#include <vector>

namespace takt {

/// An error for each copy and collective beyond what the nominal rates of `server` allow, at its row. Rows that state no
/// transfer or collective of this server are passed over: the fits refuse them. Errors, too: a server that cannot be
/// built.
Diagnostics beyond_links(const ServerSpec& server, const std::map<std::string, CardSpec>& cards,
                         const std::vector<Measurement>& measured);

}  // namespace takt
