#include "report/format.hpp"
#include "report/topology_export.hpp"

#include <fmt/format.h>
#include <map>
#include <vector>

namespace takt {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string_view shape_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::card:
      return "box";
    case DeviceKind::nvswitch:
      return "hexagon";
    case DeviceKind::pcie_switch:
      return "diamond";
    case DeviceKind::socket:
      return "box3d";
    case DeviceKind::nic:
      return "cds";
    case DeviceKind::network_switch:
      return "octagon";
    case DeviceKind::host_memory:
      return "cylinder";
    case DeviceKind::nvme:
      return "folder";
  }
  return "ellipse";
}

/// Colours that stay apart for the colour-blind (Okabe and Ito).
std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
    case LinkKind::nvswitch:
      return "#009E73";
    case LinkKind::pcie:
      return "#000000";
    case LinkKind::socket:
      return "#D55E00";
    case LinkKind::memory:
      return "#999999";
    case LinkKind::network:
      return "#0072B2";
    case LinkKind::fabric:
      return "#CC79A7";
  }
  return "#000000";
}

std::string link_label(const Link& link) {
  std::string label;
  if (link.kind == LinkKind::pcie) label = fmt::format("Gen{} x{}", link.generation, link.lanes);
  if (link.kind == LinkKind::nvlink || link.kind == LinkKind::nvswitch) label = fmt::format("NV{}", link.lanes);
  const std::string capacity = format_bandwidth(link.capacity);
  return label.empty() ? capacity : label + "\\n" + capacity;
}

class Drawing {
 public:
  explicit Drawing(const Topology& topology) : topology_(topology) {}

  std::string text() {
    text_ = fmt::format(
        "graph {} {{\n  label={};\n  labelloc=t;\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=10];\n"
        "  edge [fontname=\"Helvetica\", fontsize=8];\n",
        in_quotes(topology_.id()), in_quotes(topology_.title()));
    for (std::int32_t server = 0; server < topology_.server_count(); ++server) draw_server(server);
    for (std::size_t v = 0; v < topology_.device_count(); ++v) {
      if (device(v).kind == DeviceKind::network_switch) draw_device("  ", v);
    }
    for (std::size_t link = 0; link < topology_.link_count(); ++link) draw_link(id_at<LinkId>(link));
    return std::move(text_) + "}\n";
  }

 private:
  const Device& device(std::size_t vertex) const { return topology_.device(id_at<VertexId>(vertex)); }

  void draw_server(std::int32_t server) {
    std::map<std::int32_t, std::vector<std::size_t>> by_socket;
    for (std::size_t v = 0; v < topology_.device_count(); ++v) {
      const bool here = device(v).server == server && device(v).kind != DeviceKind::network_switch;
      if (here) by_socket[device(v).socket].push_back(v);
    }
    const bool several = topology_.server_count() > 1;
    if (several) text_ += fmt::format("  subgraph cluster_server{} {{\n    label=\"server {}\";\n", server, server);
    for (const auto& [socket, vertices] : by_socket) {
      const bool boxed = socket >= 0;
      if (boxed) {
        text_ += fmt::format(
            "    subgraph cluster_socket{} {{\n      label=\"NUMA node {}\"; fontname=\"Helvetica\"; fontsize=9;\n"
            "      style=rounded; color=\"#999999\";\n",
            socket, socket);
      }
      for (const std::size_t v : vertices) draw_device("      ", v);
      if (boxed) text_ += "    }\n";
    }
    if (several) text_ += "  }\n";
  }

  void draw_device(std::string_view indent, std::size_t vertex) {
    const Device& shown = device(vertex);
    std::string label = shown.name;
    if (!shown.cpu.empty()) label += "\n" + shown.cpu;
    for (std::size_t at = label.find('\n'); at != std::string::npos; at = label.find('\n', at))
      label.replace(at, 1, "\\n");
    text_ += fmt::format("{}v{} [label=\"{}\", shape={}];\n", indent, vertex, label, shape_of(shown.kind));
  }

  void draw_link(LinkId id) {
    const Link& link = topology_.link(id);
    if (index(link.reverse) < index(id)) return;  // drawn with its other direction
    // What joins equals does not order them: sockets stay beside each other, and so do the cards of a bridge.
    const bool among_equals = link.kind == LinkKind::nvlink || link.kind == LinkKind::socket;
    text_ += fmt::format("  v{} -- v{} [label=\"{}\", color=\"{}\"{}{}];\n", index(topology_.link_source(id)),
                         index(topology_.link_target(id)), link_label(link), colour_of(link.kind),
                         link.assumed ? ", style=dashed" : "", among_equals ? ", constraint=false" : "");
  }

  const Topology& topology_;
  std::string text_;
};

}  // namespace

std::string topology_dot(const Topology& topology) {
  return Drawing(topology).text();
}

}  // namespace takt
