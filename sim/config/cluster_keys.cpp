// topologies/clusters/*.toml.
#include "config/key_table.hpp"
#include "config/toml_text.hpp"

namespace takt {
namespace {

const KeyTable<ClusterSpec>& cluster_keys() {
  constexpr KeyMaker<ClusterSpec> key;
  static const KeyTable<ClusterSpec> table({
      key.required("title", at(&ClusterSpec::title), Text{}, "one line for reports"),
      key.required("server", at(&ClusterSpec::server), Text{}, "a file of topologies/servers by its name, or a path"),
      key.required("count", at(&ClusterSpec::count), Integer{1, 65'536}, "equal servers"),
      key.optional("fabric", at(&ClusterSpec::fabric),
                   Choice<FabricKind>{{{"rail-optimised", FabricKind::rail_optimised}, {"fat-tree", FabricKind::fat_tree}}},
                   "how the NICs are joined"),
      key.optional("nic_speed", at(&ClusterSpec::nic_speed), Amount<Bandwidth>{Bandwidth(0), Bandwidth(1e13)},
                   "per NIC and direction; 0 = as the server file says"),
      key.optional("oversubscription", at(&ClusterSpec::oversubscription), Real{1, 64},
                   "downlinks of a leaf switch over its uplinks"),
      key.optional("switch_latency", at(&ClusterSpec::switch_latency),
                   Amount<Duration>{Duration(0), std::chrono::seconds(1)}, "of one switch"),
      key.required("source", at(&ClusterSpec::source), Text{}, "where the layout and the figures come from"),
  });
  return table;
}

}  // namespace

Result<ClusterSpec> read_cluster(const SourceText& source, const NodeChanges& changes) {
  const Result<Document> document = parse_changed(source, changes);
  if (!document) return document.diagnostics();
  ClusterSpec cluster;
  Reading reading;
  cluster_keys().read(document->root, "", cluster, reading);
  cluster.id = file_stem(source.file);
  cluster.file = source.file;
  cluster.places = reading.places;
  return finish(std::move(cluster), std::move(reading));
}

std::vector<KeyDescription> cluster_key_reference() { return cluster_keys().describe(); }

}  // namespace takt
