// Buckets of DistributedDataParallel against data/ddp_buckets.csv, which an independent program worked out from
// PyTorch's reducer.
#include "plan/ddp_bucket.hpp"

#include "catch.hpp"
#include "support/source_dir.hpp"
#include "toy.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace takt;
using toy::parameter;

namespace {

struct Shape {
  std::int64_t hidden, intermediate, layers, query_heads, kv_heads, head_dim, vocabulary;
  bool tied = false;
  bool bias = false;
};

const Shape toy4{512, 1408, 4, 8, 4, 64, 8000};
const Shape tiny_llama{2048, 5632, 22, 32, 4, 64, 32000};
const Shape qwen_half_b{896, 4864, 24, 14, 2, 64, 151936, true, true};
const Shape llama_1b{2048, 8192, 16, 32, 8, 64, 128256, true};
const Shape llama_8b{4096, 14336, 32, 32, 8, 128, 128256};

/// Parameters in the order in which Hugging Face's Llama and Qwen register them, each with its place in the forward.
BlockKind decoder_layer(const Shape& s) {
  const std::int64_t q = s.query_heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  BlockKind kind = toy::block("layer", {});
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in, std::uint32_t used) {
    kind.parameters.push_back(parameter(name + ".w", out, in, used));
    const bool in_qkv = name == "q" || name == "k" || name == "v";
    if (s.bias && in_qkv) kind.parameters.push_back(parameter(name + ".b", out, 1, used + 1));
  };
  linear("q", q, s.hidden, 10);
  linear("k", kv, s.hidden, 20);
  linear("v", kv, s.hidden, 30);
  linear("o", s.hidden, q, 40);
  linear("gate", s.intermediate, s.hidden, 60);
  linear("up", s.intermediate, s.hidden, 70);
  linear("down", s.hidden, s.intermediate, 80);
  kind.parameters.push_back(parameter("ln1.w", s.hidden, 1, 0));
  kind.parameters.push_back(parameter("ln2.w", s.hidden, 1, 50));
  return kind;
}

/// The layer with frozen weights and adapters of rank `rank` on the linears that `targets` names.
BlockKind lora_layer(const Shape& s, std::int64_t rank, const std::string& targets) {
  BlockKind kind = decoder_layer(s);
  std::vector<Parameter> adapted;
  for (Parameter& p : kind.parameters) {
    p.trainable = false;
    adapted.push_back(p);
    const std::string module = p.name.substr(0, p.name.find('.'));
    const bool linear = p.name == module + ".w" && module.substr(0, 2) != "ln";
    if (!linear || (targets == "qv" && module != "q" && module != "v")) continue;
    adapted.push_back(parameter(module + ".lora_A", rank, p.columns, p.used + 2));
    adapted.push_back(parameter(module + ".lora_B", p.rows, rank, p.used + 3));
  }
  kind.parameters = adapted;
  return kind;
}

/// All trainable gradients of a model, with names, in a fixed order.
struct Gradients {
  std::vector<ReducedTensor> tensors;
  std::vector<std::string> names;
  std::int64_t elements = 0;

  void add(const Parameter& p, const std::string& name, double bytes) {
    if (!p.trainable) return;
    tensors.push_back({Bytes(static_cast<std::int64_t>(bytes) * p.elements()), bytes});
    names.push_back(name);
    elements += p.elements();
  }
};

struct Model {
  BlockKind embedding, layer, head;
  std::int64_t layers = 0;
  double bytes = 4.0;

  Gradients in_arrival_order() const {
    Gradients all;
    for (const std::uint32_t i : arrival_order(head)) all.add(head.parameters[i], head.parameters[i].name, bytes);
    for (std::int64_t l = layers; l-- > 0;) {
      for (const std::uint32_t i : arrival_order(layer)) {
        all.add(layer.parameters[i], std::to_string(l) + "." + layer.parameters[i].name, bytes);
      }
    }
    for (const Parameter& p : embedding.parameters) all.add(p, p.name, bytes);
    return all;
  }
  Gradients in_registration_order() const {
    Gradients all;
    for (const Parameter& p : embedding.parameters) all.add(p, p.name, bytes);
    for (std::int64_t l = 0; l < layers; ++l) {
      for (const Parameter& p : layer.parameters) all.add(p, p.name, bytes);
    }
    for (const Parameter& p : head.parameters) all.add(p, p.name, bytes);
    return all;
  }
};

Model full_model(const Shape& s, double bytes) {
  Model model{toy::block("embedding", {parameter("embed", s.vocabulary, s.hidden)}), decoder_layer(s),
              toy::block("head", {parameter("norm", s.hidden)}), s.layers, bytes};
  if (!s.tied) model.head.parameters.push_back(parameter("lm_head", s.vocabulary, s.hidden, 1));
  return model;
}

Model lora_model(const Shape& s, std::int64_t rank, const std::string& targets) {
  return {toy::block("embedding", {}), lora_layer(s, rank, targets), toy::block("head", {}), s.layers, 4.0};
}

Model model_of(const std::string& name) {
  const auto has = [&](const std::string& part) { return name.find(part) != std::string::npos; };
  const Shape& shape = has("toy4")        ? toy4
                       : has("TinyLlama") ? tiny_llama
                       : has("Qwen2.5")   ? qwen_half_b
                       : has("Llama-3.2") ? llama_1b
                                          : llama_8b;
  if (!has("LoRA")) return full_model(shape, has("bf16") ? 2.0 : 4.0);
  const std::size_t rank_at = name.find("r=") + 2;
  return lora_model(shape, std::stoll(name.substr(rank_at)), has(" qv ") ? "qv" : "all");
}

std::string sizes(const std::vector<Bucket>& buckets) {
  std::string text;
  for (const Bucket& bucket : buckets) text += (text.empty() ? "" : " ") + std::to_string(bucket.bytes.count());
  return text;
}

std::string members(const Bucket& bucket, const Gradients& gradients) {
  std::string text;
  for (const std::uint32_t member : bucket.members) text += (text.empty() ? "" : " ") + gradients.names[member];
  return text;
}

constexpr Bytes cap{25 << 20};

std::string answer(const std::string& key, const Model& model) {
  const Gradients arrival = model.in_arrival_order();
  const std::vector<Bytes> limits = {first_bucket_limit, cap};
  const std::vector<Bucket> steady = assign_buckets(arrival.tensors, limits);
  if (key == "n_params_total" || key == "trainable_params") return std::to_string(arrival.elements);
  if (key == "iter1_buckets(find_unused=False)") {  // no limit (D2)
    return std::to_string(assign_buckets(arrival.tensors, std::vector<Bytes>{Bytes(INT64_MAX)}).size());
  }
  if (key == "steady_buckets") return std::to_string(steady.size());
  if (key == "steady_bucket_bytes") return sizes(steady);
  if (key == "steady_bucket0_members") return members(steady[0], arrival);
  if (key == "steady_bucket1_members") return members(steady[1], arrival);
  if (key == "steady_last_bucket_members") return members(steady.back(), arrival);
  if (key == "find_unused_bucket_bytes") {
    return sizes(registration_buckets(model.in_registration_order().tensors, limits));
  }
  return "no answer for " + key;
}

}  // namespace

TEST_CASE("DDP buckets of known models (D1 to D5, D8)", "[plan]") {
  std::ifstream file(takt::test::source_dir() + "/tests/plan/data/ddp_buckets.csv");
  REQUIRE(file.good());
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.front() == '#' || line == "case,key,expected") continue;
    std::istringstream fields(line);
    std::string name, key, expected;
    std::getline(fields, name, ',');
    std::getline(fields, key, ',');
    std::getline(fields, expected);
    INFO(name << ": " << key);
    REQUIRE(answer(key, model_of(name)) == expected);
    ++rows;
  }
  REQUIRE(rows == 88);
}

TEST_CASE("the tensor that reaches the limit closes its bucket and is inside", "[plan]") {
  const auto tensors = [](std::vector<std::int64_t> bytes) {
    std::vector<ReducedTensor> list;
    for (const std::int64_t b : bytes) list.push_back({Bytes(b), 2.0});
    return list;
  };
  const std::vector<Bytes> limits = {Bytes(10), Bytes(100)};
  REQUIRE(sizes(assign_buckets(tensors({4, 6, 99, 1, 1}), limits)) == "10 100 1");
  REQUIRE(sizes(assign_buckets(tensors({4, 5, 500, 100, 100}), limits)) == "509 100 100");
  REQUIRE(assign_buckets(tensors({}), limits).empty());
}

TEST_CASE("gradients of different element sizes never share a bucket", "[plan]") {
  const std::vector<ReducedTensor> tensors = {{Bytes(4), 4.0}, {Bytes(6), 2.0}, {Bytes(6), 4.0}, {Bytes(3), 2.0}};
  const std::vector<Bytes> limits = {Bytes(10), Bytes(100)};
  const std::vector<Bucket> buckets = assign_buckets(tensors, limits);
  REQUIRE(buckets.size() == 2);
  REQUIRE(buckets[0].members == std::vector<std::uint32_t>{0, 2});
  REQUIRE(buckets[1].members == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("gradients arrive with the share of the backward that their linears take", "[plan]") {
  // Elements 30 (down) and 10 (q) of 40: down arrives after 3/4 of 4 equal kernels, q after all.
  BlockKind kind = toy::block("layer", {parameter("q.w", 10, 1, 1), parameter("down.w", 30, 1, 2)});
  kind.backward.assign(4, toy::kernel("k", toy::ms(1)));
  const std::vector<Arrival> order = arrivals(kind);
  REQUIRE(order.size() == 2);
  REQUIRE(kind.parameters[order[0].parameter].name == "down.w");
  REQUIRE(order[0].after_kernels == 3);
  REQUIRE(order[1].after_kernels == 4);
  // Frozen linears take their share too.
  kind.parameters[1].trainable = false;
  REQUIRE(arrivals(kind).size() == 1);
  REQUIRE(arrivals(kind)[0].after_kernels == 4);
}
