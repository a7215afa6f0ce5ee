// Hardware that a scenario changes: keys of data files with other values, for this run only.
//
//     [hardware.link.pcie5-x16]       # a kind of link of topologies/links.toml
//     effective = "40 GB/s"
//
// The changed files go through the same readers and checks as unchanged ones; messages point to the change.
#pragma once

#include "config/node.hpp"

#include <string>
#include <vector>

namespace takt {

/// `key` of a file is `value` instead of what the file says.
struct NodeChange {
  std::string key;  ///< dotted
  SourcePlace key_place;
  Node value;
};

using NodeChanges = std::vector<NodeChange>;

struct HardwareChanges {
  NodeChanges links;    ///< of links.toml: "pcie5-x16.effective"
  NodeChanges cards;    ///< by the card's id: "h200-nvl.memory.bandwidth"
  NodeChanges server;   ///< of the server's file: "peer_to_peer.enabled"
  NodeChanges cluster;  ///< of the cluster's file: "oversubscription"
};

/// The changes of one card, with keys as they stand in its file.
NodeChanges changes_of_card(const HardwareChanges& changes, const std::string& card);

/// The changes as text: equal texts mean equal changes.
std::string text_of(const NodeChanges& changes);

/// `document` with the changes in place of what stood at their keys, and tables in between. Errors: an empty key, a key
/// below something that is no table.
Result<Document> apply_changes(Document document, const NodeChanges& changes);

/// The leaves of a table as changes: every value that is no table, with its dotted path.
NodeChanges leaves_of(const Node& table);

/// The changes as one inline TOML table.
std::string inline_table(const NodeChanges& changes);

}  // namespace takt
