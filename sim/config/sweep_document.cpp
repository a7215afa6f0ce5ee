#include "config/sweep_document.hpp"

#include "config/scenario_keys.hpp"
#include "config/sweep_range.hpp"
#include "config/toml_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <tuple>
#include <utility>

namespace takt {
namespace {

constexpr const char* section = "sweep";

/// Reads the axes of a file and of the command line.
class SweepReader {
 public:
  SweepReader(SweepDocument& sweep, Reading& reading) : sweep_(sweep), reading_(reading) {}

  void read_file(const Node& node) {
    const auto* table = node.as<Node::Table>();
    if (table == nullptr) {
      return reading_.error(node.place, "sweep must be a table, not " + describe(node), "write [sweep]");
    }
    read_members(*table, "");
    // toml++ hands keys out sorted; axes stand in the order of the file.
    const auto order = [](const SweepAxis& axis) {
      const SourcePlace& place = axis.keys.front().place;
      return std::tuple(place.line, place.column);
    };
    std::stable_sort(sweep_.axes.begin(), sweep_.axes.end(),
                     [&](const SweepAxis& a, const SweepAxis& b) { return order(a) < order(b); });
  }

  /// An override: an axis, or a fixed value.
  void read_override(const NodeChange& change, NodeChanges& fixed) {
    remove(change.key);
    if (is_axis(change))
      add_axis(change.key, change.key_place, change.value);
    else
      fixed.push_back(change);
  }

  /// Checks every value by itself, and counts the points.
  void check() {
    for (std::size_t a = 0; a < sweep_.axes.size(); ++a) {
      for (const SweepAxis::OneKey& one : sweep_.axes[a].keys) {
        check_values(one);
        if (first_use(one.key) == &one) continue;
        reading_.error(one.place, fmt::format("{} is on two axes", one.key), "put all its values into one list");
      }
      count_points(sweep_.axes[a]);
    }
  }

 private:
  void read_members(const Node::Table& table, const std::string& prefix) {
    for (const Member& member : table) {
      const std::string key = prefix + member.key;
      if (key == "skip_unfit")
        read_skip_unfit(member.value);
      else if (key == "zip")
        read_zips(member.value);
      else if (member.value.as<Node::Table>() != nullptr && !is_range(member.value)) {
        read_members(*member.value.as<Node::Table>(), key + '.');
      } else {
        add_axis(key, member.key_place, member.value);
      }
    }
  }

  void read_skip_unfit(const Node& node) {
    const auto* skip = node.as<bool>();
    if (skip == nullptr) return reading_.error(node.place, "skip_unfit is true or false, not " + describe(node));
    sweep_.unfit = *skip ? Unfit::skip : Unfit::run;
  }

  void read_zips(const Node& node) {
    const auto* groups = node.as<Node::Array>();
    if (groups == nullptr) {
      return reading_.error(node.place, "zip must be a list of tables, not " + describe(node), "write [[sweep.zip]]");
    }
    for (const Node& group : *groups) read_zip(group);
  }

  /// The keys of a group go together.
  void read_zip(const Node& node) {
    if (node.as<Node::Table>() == nullptr) {
      return reading_.error(node.place, "a zipped group is a table of lists, not " + describe(node),
                            "write [[sweep.zip]] and its keys below");
    }
    const std::size_t first = sweep_.axes.size();
    read_members(*node.as<Node::Table>(), "");
    SweepAxis group;
    for (std::size_t a = first; a < sweep_.axes.size(); ++a) {
      group.keys.push_back(std::move(sweep_.axes[a].keys.front()));
    }
    sweep_.axes.resize(first);
    if (group.keys.empty()) return;
    std::stable_sort(group.keys.begin(), group.keys.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.place.line, a.place.column) < std::tuple(b.place.line, b.place.column);
    });
    for (const SweepAxis::OneKey& one : group.keys) {
      if (one.values.size() == group.size()) continue;
      return reading_.error(one.place,
                            fmt::format("{} has {} values, but {}, with which it goes, has {}", one.key,
                                        one.values.size(), group.keys.front().key, group.size()),
                            "zipped lists have the same length");
    }
    sweep_.axes.push_back(std::move(group));
  }

  void add_axis(const std::string& key, const SourcePlace& place, const Node& value) {
    SweepAxis::OneKey one{key, place, {}};
    if (const auto* list = value.as<Node::Array>()) {
      one.values = *list;
      if (list->empty()) return reading_.error(value.place, fmt::format("the list of {} is empty", key));
    } else if (is_range(value)) {
      one.values = range_values(value, key, numbers_of(key), reading_);
      if (one.values.empty()) return;
    } else {
      return reading_.error(value.place, fmt::format("an axis is a list or a range, not {}", describe(value)),
                            fmt::format("write [{}], or {{ from = 1, to = 8, factor = 2 }}", toml_value(value)));
    }
    sweep_.axes.push_back({{std::move(one)}});
  }

  static RangeNumbers numbers_of(const std::string& key) {
    const KeyOutline* outline = scenario_keys().outline(key);
    return outline != nullptr && outline->type.starts_with("integer") ? RangeNumbers::whole : RangeNumbers::any;
  }

  static bool is_axis(const NodeChange& change) {
    if (is_range(change.value)) return true;
    const auto* list = change.value.as<Node::Array>();
    if (list == nullptr) return false;
    const KeyOutline* outline = scenario_keys().outline(change.key);
    const bool takes_a_list = outline != nullptr && outline->type.starts_with("list of");
    return !takes_a_list ||
           std::any_of(list->begin(), list->end(), [](const Node& item) { return item.as<Node::Array>() != nullptr; });
  }

  void remove(const std::string& key) {
    for (SweepAxis& axis : sweep_.axes) {
      std::erase_if(axis.keys, [&](const SweepAxis::OneKey& one) { return one.key == key; });
    }
    std::erase_if(sweep_.axes, [](const SweepAxis& axis) { return axis.keys.empty(); });
  }

  const SweepAxis::OneKey* first_use(const std::string& key) const {
    for (const SweepAxis& axis : sweep_.axes) {
      for (const SweepAxis::OneKey& one : axis.keys) {
        if (one.key == key) return &one;
      }
    }
    return nullptr;
  }

  void check_values(const SweepAxis::OneKey& one) {
    for (const Node& value : one.values) {
      const Result<Document> alone =
          apply_changes({sweep_.base.file, Node{Node::Table{}, {}}}, {{one.key, one.place, value}});
      Reading own;
      own.diagnostics = alone.diagnostics();
      Scenario scratch;
      if (alone) scenario_keys().read_present(alone->root, scratch, own);
      for (Diagnostic& said : own.diagnostics) {
        const bool known =
            std::find(reading_.diagnostics.begin(), reading_.diagnostics.end(), said) != reading_.diagnostics.end();
        if (said.severity == Severity::error && !known) reading_.diagnostics.push_back(std::move(said));
      }
    }
  }

  void count_points(const SweepAxis& axis) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (sweep_.points <= most / axis.size()) {
      sweep_.points *= axis.size();
    } else {
      reading_.error(axis.keys.front().place, "the sweep has more points than a 63-bit number counts");
    }
  }

  SweepDocument& sweep_;
  Reading& reading_;
};

/// Takes [sweep] out of a document.
std::optional<Node> take_section(Document& document) {
  auto& table = std::get<Node::Table>(document.root.value);
  const auto found =
      std::find_if(table.begin(), table.end(), [](const Member& member) { return member.key == section; });
  if (found == table.end()) return std::nullopt;
  Node node = std::move(found->value);
  table.erase(found);
  return node;
}

}  // namespace

std::vector<std::string> SweepDocument::keys() const {
  std::vector<std::string> keys;
  for (const SweepAxis& axis : axes) {
    for (const SweepAxis::OneKey& one : axis.keys) keys.push_back(one.key);
  }
  return keys;
}

std::vector<const Node*> SweepDocument::values(std::uint64_t point) const {
  std::vector<const Node*> values;
  std::uint64_t inner = points;  // points of this axis and those behind it
  for (const SweepAxis& axis : axes) {
    inner /= axis.size();
    const auto position = static_cast<std::size_t>(point / inner % axis.size());
    for (const SweepAxis::OneKey& one : axis.keys) values.push_back(&one.values[position]);
  }
  return values;
}

Result<Scenario> SweepDocument::scenario(std::uint64_t point) const {
  const std::vector<const Node*> at_point = values(point);
  NodeChanges changes;
  std::size_t next = 0;
  for (const SweepAxis& axis : axes) {
    for (const SweepAxis::OneKey& one : axis.keys) changes.push_back({one.key, one.place, *at_point[next++]});
  }
  return scenario_with(base, changes);
}

bool is_sweep(const Document& document) {
  return find_path(document.root, section) != nullptr;
}

Result<SweepDocument> parse_sweep(const SourceText& source, const Overrides& overrides) {
  Result<Document> document = parse_scenario(source);
  if (!document) return document.diagnostics();
  NodeChanges own, others;
  for (const Override& item : overrides) {
    (item.key.starts_with("sweep.") ? own : others).push_back(change_of(item));
  }
  document = apply_changes(std::move(*document), own);
  if (!document) return document.diagnostics();

  SweepDocument sweep;
  Reading reading;
  const std::optional<Node> node = take_section(*document);
  sweep.base = std::move(*document);
  SweepReader reader(sweep, reading);
  if (node) reader.read_file(*node);
  NodeChanges fixed;
  for (const NodeChange& change : others) reader.read_override(change, fixed);
  if (sweep.axes.empty() && !has_error(reading.diagnostics)) {
    reading.error({source.file, 0, 0, {}}, "this has no axes: it is one scenario",
                  "takt run runs it; add axes under [sweep] or with --set KEY=[...]");
  }
  reader.check();
  Result<Document> base = apply_changes(std::move(sweep.base), fixed);
  for (const Diagnostic& said : base.diagnostics()) reading.diagnostics.push_back(said);
  if (base) sweep.base = std::move(*base);
  return finish(std::move(sweep), std::move(reading));
}

}  // namespace takt
