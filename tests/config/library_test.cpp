// Finding models, cards, servers and clusters by name and by path.
#include "config/library.hpp"

#include "catch.hpp"
#include "support/source_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace takt;

namespace {

namespace fs = std::filesystem;

/// A folder of data files that goes away with the test.
class DataFolder {
 public:
  DataFolder() {
    std::string pattern = (fs::temp_directory_path() / "takt-library-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~DataFolder() { fs::remove_all(path_); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path_ + '/' + name).parent_path());
    std::ofstream(path_ + '/' + name) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string synthetic(const std::string& name) {
  return "name = \"" + name +
         "\"\nkind = \"synthetic\"\nlayers = 1\nlayer_bytes = \"2 B\"\nforward = \"1 ms\"\nbackward = \"2 ms\"\n"
         "source = \"test\"\n";
}

const std::string box = "title = \"box\"\nsource = \"test\"\n[cards]\ncount = 2\ncard = \"c\"\n";
const std::string pair_of_boxes = "title = \"two\"\nsource = \"test\"\nserver = \"box\"\ncount = 2\n";

const SourcePlace asked_at{"run.toml", 2, 8, "name = \"x\""};

}  // namespace

TEST_CASE("the first folder that has a name wins", "[config]") {
  const DataFolder mine;
  const DataFolder builtin;
  mine.write("models/a.toml", synthetic("mine"));
  builtin.write("models/a.toml", synthetic("built in"));
  builtin.write("models/b.toml", synthetic("built in"));
  Library library({{mine.path(), builtin.path()}});
  REQUIRE(library.model("a", asked_at)->name == "mine");
  REQUIRE(library.model("b", asked_at)->name == "built in");
  REQUIRE(library.model_names() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a file is read once", "[config]") {
  const DataFolder folder;
  folder.write("models/a.toml", synthetic("first"));
  Library library({{folder.path()}});
  REQUIRE(library.model("a", asked_at)->name == "first");
  folder.write("models/a.toml", synthetic("second"));
  REQUIRE(library.model("a", asked_at)->name == "first");
}

TEST_CASE("a topology is a server or a cluster, on its shelf or by path", "[config]") {
  const DataFolder folder;
  folder.write("topologies/servers/box.toml", box);
  folder.write("topologies/clusters/two.toml", pair_of_boxes);
  folder.write("elsewhere/mine.toml", pair_of_boxes);
  folder.write("elsewhere/box.toml", box);
  Library library({{folder.path()}});
  REQUIRE(std::holds_alternative<ServerSpec>(*library.topology("box", asked_at)));
  REQUIRE(std::get<ClusterSpec>(*library.topology("two", asked_at)).server == "box");
  REQUIRE(library.topology_names() == std::vector<std::string>{"box", "two"});
  REQUIRE(std::holds_alternative<ClusterSpec>(*library.topology(folder.path() + "/elsewhere/mine.toml", asked_at)));
  // beside the scenario that names it
  const SourcePlace in_folder{folder.path() + "/elsewhere/run.toml", 2, 8, ""};
  REQUIRE(std::holds_alternative<ServerSpec>(*library.topology("./box.toml", in_folder)));
  REQUIRE_FALSE(library.topology("./box.toml", asked_at).has_value());
}

TEST_CASE("a model may be a Hugging Face config.json", "[config]") {
  const DataFolder folder;
  folder.write("tiny/config.json",
               R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
                   "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "num_key_value_heads": 2, "vocab_size": 1000, "hidden_act": "silu"})");
  Library library({{folder.path()}});
  const Result<ModelSpec> model = library.model(folder.path() + "/tiny/config.json", asked_at);
  INFO(render(model.diagnostics()));
  REQUIRE(model.has_value());
  REQUIRE(model->transformer->hidden == 64);
  REQUIRE(model->transformer->kv_heads == 2);
}

TEST_CASE("kinds of links of all folders are known to a server, the first folder's first", "[config]") {
  const auto link_type = [](const std::string& id, const std::string& rate) {
    return "[" + id + "]\nkind = \"pcie\"\nnominal = \"" + rate + "\"\neffective = \"" + rate + "\"\nsource = \"t\"\n";
  };
  const DataFolder mine;
  const DataFolder builtin;
  mine.write("topologies/links.toml", link_type("a", "1 GB/s"));
  builtin.write("topologies/links.toml", link_type("a", "9 GB/s") + link_type("b", "2 GB/s"));
  builtin.write("topologies/servers/box.toml", box + "[[link]]\nfrom = \"gpu0\"\nto = \"gpu1\"\ntype = \"a\"\n" +
                                                   "[[link]]\nfrom = \"gpu0\"\nto = \"gpu1\"\ntype = \"b\"\n");
  Library library({{mine.path(), builtin.path()}});
  const Result<ServerSpec> server = library.server("box", asked_at);
  INFO(render(server.diagnostics()));
  REQUIRE(server.has_value());
  REQUIRE(server->links[0].type.nominal == Bandwidth(1e9));
  REQUIRE(server->links[1].type.nominal == Bandwidth(2e9));
}

TEST_CASE("a name that is not there is answered with near ones, at the place that asked", "[config]") {
  const DataFolder folder;
  folder.write("models/llama-3.1-8b.toml", synthetic("x"));
  folder.write("models/llama-3.3-70b.toml", synthetic("y"));
  Library library({{folder.path()}});
  REQUIRE(render(library.model("lama-3.3-70b", asked_at).diagnostics()) ==
          "run.toml:2:8: error: there is no model \"lama-3.3-70b\"\n"
          "    2 | name = \"x\"\n"
          "      |        ^\n"
          "hint: did you mean \"llama-3.3-70b\"?\n");
  REQUIRE(library.model("llama", asked_at).diagnostics()[0].hint == "there is llama-3.1-8b, llama-3.3-70b");
  REQUIRE(library.model("folder/none.toml", asked_at).diagnostics()[0].message ==
          "there is no file \"folder/none.toml\"");
}

TEST_CASE("TAKT_PATH comes before the built-in folder", "[config]") {
  const SearchPath path = search_path("/a::b");
  REQUIRE(path.folders.size() >= 3);
  REQUIRE(path.folders[0] == "/a");
  REQUIRE(path.folders[1] == "b");
  REQUIRE(search_path(nullptr).folders.back() == takt::test::source_dir());
}

TEST_CASE("every data file of the project reads without a message", "[config]") {
  Library library({{takt::test::source_dir()}});
  const SourcePlace here{"test", 0, 0, ""};
  const auto require_clean = [](const auto& result) {
    INFO(render(result.diagnostics()));
    REQUIRE(result.has_value());
    REQUIRE(result.diagnostics().empty());
  };
  for (const std::string& name : library.model_names()) require_clean(library.model(name, here));
  for (const std::string& name : library.card_names()) require_clean(library.card(name, here));
  for (const std::string& name : library.topology_names()) require_clean(library.topology(name, here));
}

namespace {

std::string card_file(const std::string& gemm) {
  return "name = \"c\"\narchitecture = \"Hopper\"\ncompute_capability = \"9.0\"\nsm_count = 132\nboost_clock = \"1 "
         "GHz\"\n"
         "l2_cache = \"50 MB\"\ntdp = \"600 W\"\nsource = \"test\"\n[peak]\nbf16 = \"800 TFLOP/s\"\n[memory]\n"
         "nominal = \"141 GB\"\nvisible = \"140 GB\"\nbandwidth = \"4800 GB/s\"\n" +
         gemm;
}

}  // namespace

TEST_CASE("a card may take the constants and residuals of another, with its own efficiency", "[config]") {
  const DataFolder folder;
  folder.write("topologies/cards/a.toml",
               card_file("[gemm.bf16]\nefficiency = 0.8\nlaunch_us = 3.5\nresiduals = \"r.csv\"\n"));
  folder.write("topologies/cards/r.csv", "n,k,256,512\n1024,2048,-30,15\n");
  folder.write("topologies/cards/b.toml", card_file("[gemm.bf16]\nlike = \"a\"\nefficiency = 0.6\ninterval = 0.3\n"));
  folder.write("topologies/cards/c.toml", card_file("[gemm.bf16]\nlike = \"a\"\n"));
  Library library({{folder.path()}});
  const GemmCalibration b = library.card("b", asked_at)->gemm.at(Precision::bf16);
  CHECK(b.constants.efficiency == 0.6);
  CHECK(b.constants.launch_us == 3.5);
  CHECK(b.interval == 0.3);
  REQUIRE(b.residuals != nullptr);
  CHECK(b.residuals->cells.at(0).log_ratio == std::vector<double>{-0.030, 0.015});
  CHECK(library.card("c", asked_at)->gemm.at(Precision::bf16).constants.efficiency == 0.8);
}

TEST_CASE("a calibration that leads nowhere is refused where it is asked for", "[config]") {
  const DataFolder folder;
  const auto messages = [&folder](const std::string& gemm) {
    folder.write("topologies/cards/x.toml", card_file(gemm));
    Library library({{folder.path()}});
    std::string text = render(library.card("x", asked_at).diagnostics());
    for (std::size_t at; (at = text.find(folder.path() + '/')) != std::string::npos;)
      text.erase(at, folder.path().size() + 1);
    return text;
  };
  CHECK(messages("[gemm.bf16]\nlike = \"y\"\n") ==
        "topologies/cards/x.toml:16:8: error: there is no card \"y\"\n   16 | like = \"y\"\n      |        ^\n"
        "hint: did you mean \"x\"?\n");
  CHECK(messages("[gemm.bf16]\nlike = \"x\"\n") ==
        "topologies/cards/x.toml:16:8: error: x has no bf16 calibration of its own\n   16 | like = \"x\"\n      |      "
        "  ^\n"
        "hint: name a card whose file has the constants\n");
  folder.write("topologies/cards/bad.csv", "n,k,512,256\n1024,2048,0,0\n");
  CHECK(messages("[gemm.bf16]\nresiduals = \"bad.csv\"\n") ==
        "topologies/cards/bad.csv:1:1: error: the columns after n and k are values of M, ascending\n");
}
