// Registration order is that of the modules: attention's linears and norms, the MLP's, then the layer's norms; GPT-2
// registers each norm before the module it feeds. Forward order differs, and gradients arrive in its reverse (D5), so
// each parameter also carries its place in the forward pass.
#include "workload/parameters.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace takt {
namespace {

/// Places in a layer's forward pass, far enough apart for a linear's weight, bias and adapters between two of them.
enum Place : std::uint32_t {
  input_norm = 0, q_place = 10, q_norm = 20, k_place = 30, k_norm = 40, v_place = 50, o_place = 60,
  attention_norm = 70, mlp_norm = 80, gate_place = 90, up_place = 100, down_place = 110, last_norm = 120
};

Place forward_place(LinearRole role) {
  switch (role) {
    case LinearRole::q:
    case LinearRole::qkv: return q_place;
    case LinearRole::k: return k_place;
    case LinearRole::v: return v_place;
    case LinearRole::o: return o_place;
    case LinearRole::gate: return gate_place;
    case LinearRole::up: return up_place;
    case LinearRole::down: return down_place;
  }
  return input_norm;
}

Parameter base_parameter(const Recipe& recipe, std::string name, std::int64_t rows, std::int64_t columns) {
  const bool trains = recipe.base_trains();
  return {.name = std::move(name),
          .rows = rows,
          .columns = columns,
          .trainable = trains,
          .bytes = recipe.weight_bytes,
          .gradient_bytes = trains ? recipe.weight_bytes : 0.0};
}

Parameter adapter_parameter(const Recipe& recipe, std::string name, std::int64_t rows, std::int64_t columns) {
  return {.name = std::move(name),
          .rows = rows,
          .columns = columns,
          .trainable = true,
          .bytes = recipe.adapter_bytes,
          .gradient_bytes = recipe.adapter_bytes};
}

class ParameterList {
 public:
  explicit ParameterList(const Recipe& recipe) : recipe_(recipe) {}

  void linear(std::size_t index) {
    const Linear& linear = recipe_.linears[index];
    const std::string name = name_of(linear.role);
    std::uint32_t used = forward_place(linear.role);
    Parameter weight = base_parameter(recipe_, name + ".w", linear.out, linear.in);
    weight.bytes = recipe_.linear_bytes;
    add(std::move(weight), used++);
    if (linear.bias) add(base_parameter(recipe_, name + ".b", linear.out, 1), used++);
    if (!recipe_.adapted[index]) return;
    add(adapter_parameter(recipe_, name + ".lora_A", recipe_.rank, linear.in), used++);
    add(adapter_parameter(recipe_, name + ".lora_B", linear.out, recipe_.rank), used);
  }

  void norm(const std::string& name, std::int64_t width, std::uint32_t used) {
    // The head's only norm and weight carry no suffix.
    const bool head = name == "norm";
    add(base_parameter(recipe_, head ? name : name + ".w", width, 1), used);
    if (recipe_.shape.layer_norm) add(base_parameter(recipe_, name + ".b", width, 1), used + 1);
  }

  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns, std::uint32_t used) {
    add(base_parameter(recipe_, name, rows, columns), used);
  }

  std::vector<Parameter> take() { return std::move(parameters_); }

 private:
  void add(Parameter parameter, std::uint32_t used) {
    parameter.used = used;
    parameters_.push_back(std::move(parameter));
  }

  const Recipe& recipe_;
  std::vector<Parameter> parameters_;
};

bool in_mlp(LinearRole role) {
  return role == LinearRole::gate || role == LinearRole::up || role == LinearRole::down;
}
bool in_attention(LinearRole role) { return !in_mlp(role); }

}  // namespace

std::vector<Parameter> embedding_parameters(const Recipe& recipe) {
  ParameterList list(recipe);
  list.matrix("embed", recipe.shape.vocabulary, recipe.shape.hidden, 0);
  if (recipe.shape.learned_positions > 0)
    list.matrix("positions", recipe.shape.learned_positions, recipe.shape.hidden, 1);
  return list.take();
}

std::vector<Parameter> layer_parameters(const Recipe& recipe) {
  const TransformerShape& shape = recipe.shape;
  ParameterList list(recipe);
  const auto linears = [&](bool (*belongs)(LinearRole)) {
    for (std::size_t i = 0; i < recipe.linears.size(); ++i)
      if (belongs(recipe.linears[i].role)) list.linear(i);
  };
  if (shape.layer_norm) {
    list.norm("ln1", shape.hidden, input_norm);
    linears(in_attention);
    if (shape.norms_per_layer > 1) list.norm("ln2", shape.hidden, mlp_norm);
    linears(in_mlp);
    return list.take();
  }
  linears(in_attention);
  if (shape.query_key_norm) {
    list.norm("q_norm", shape.head_dim, q_norm);
    list.norm("k_norm", shape.head_dim, k_norm);
  }
  linears(in_mlp);
  list.norm("ln1", shape.hidden, input_norm);
  if (shape.norms_per_layer > 2) list.norm("ln1_post", shape.hidden, attention_norm);
  if (shape.norms_per_layer > 1) list.norm("ln2", shape.hidden, mlp_norm);
  if (shape.norms_per_layer > 2) list.norm("ln2_post", shape.hidden, last_norm);
  return list.take();
}

std::vector<Parameter> head_parameters(const Recipe& recipe) {
  ParameterList list(recipe);
  list.norm("norm", recipe.shape.hidden, 0);
  if (!recipe.shape.tied_embeddings) list.matrix("lm_head", recipe.shape.vocabulary, recipe.shape.hidden, 2);
  if (recipe.shape.head_bias) list.matrix("lm_head.b", recipe.shape.vocabulary, 1, 3);
  return list.take();
}

std::vector<std::size_t> gradient_arrival(const BlockKind& block) {
  std::vector<std::size_t> order(block.parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return !block.parameters[i].trainable; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return block.parameters[a].used > block.parameters[b].used;
  });
  return order;
}

}  // namespace takt
