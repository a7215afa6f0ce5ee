#include "plan/zero_modules.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace takt {
namespace {

struct Module {
  std::string name;
  std::uint32_t used = 0;                 ///< of its first parameter
  std::vector<std::uint32_t> parameters;
};

/// "q.w" and "q.b" are of module "q"; "q.lora_A" is one of its own.
std::string module_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  if (dot == std::string::npos) return parameter;
  const std::string_view last = std::string_view(parameter).substr(dot + 1);
  return last == "w" || last == "b" ? parameter.substr(0, dot) : parameter;
}

std::vector<Module> modules_of(const BlockKind& kind) {
  std::vector<Module> modules;
  for (std::uint32_t i = 0; i < kind.parameters.size(); ++i) {
    const Parameter& parameter = kind.parameters[i];
    const std::string name = module_of(parameter.name);
    const auto found = std::find_if(modules.begin(), modules.end(), [&](const Module& m) { return m.name == name; });
    if (found == modules.end()) {
      modules.push_back({name, parameter.used, {i}});
    } else {
      found->used = std::min(found->used, parameter.used);
      found->parameters.push_back(i);
    }
  }
  std::stable_sort(modules.begin(), modules.end(), [](const Module& a, const Module& b) { return a.used < b.used; });
  return modules;
}

/// How the kernels of a module are called.
std::string kernel_stem(const std::string& module) {
  static const std::map<std::string, std::string> stems = {
      {"q", "q_proj"},       {"k", "k_proj"},         {"v", "v_proj"},       {"qkv", "qkv_proj"},
      {"o", "o_proj"},       {"gate", "gate_proj"},   {"up", "up_proj"},     {"down", "down_proj"},
      {"ln1", "input norm"}, {"ln2", "mlp norm"},     {"norm", "final norm"}, {"embed", "embedding"},
      {"lm_head", "lm_head"}, {"positions", "position embedding"}};
  if (module.ends_with(".lora_A")) return "lora_A";
  if (module.ends_with(".lora_B")) return "lora_B";
  const auto found = stems.find(module);
  return found == stems.end() ? module : found->second;
}

/// The first kernel of a module at or behind `from`, with the dequantisation that is its own; the end if there is none.
std::size_t first_kernel(std::span<const Kernel> kernels, std::size_t from, const std::string& stem) {
  for (std::size_t i = from; i < kernels.size(); ++i) {
    if (!std::string_view(kernels[i].name).starts_with(stem)) continue;
    return i > from && kernels[i - 1].kind == KernelKind::dequantise ? i - 1 : i;
  }
  return kernels.size();
}

ModulePass pass_over(const std::vector<Module>& modules, std::span<const Kernel> kernels) {
  std::vector<std::size_t> begins;
  std::size_t at = 0;
  for (const Module& module : modules) {
    const std::size_t begin = first_kernel(kernels, at, kernel_stem(module.name));
    if (begin < kernels.size()) at = begin;
    begins.push_back(begin);
  }
  // A module without kernels of its own begins where the next one does.
  for (std::size_t m = modules.size(); m-- > 1;) begins[m - 1] = std::min(begins[m - 1], begins[m]);
  ModulePass pass;
  if (modules.empty()) {
    pass.before = kernels;
    return pass;
  }
  pass.before = kernels.subspan(0, begins.front());
  for (std::size_t m = 0; m < modules.size(); ++m) {
    const std::size_t end = m + 1 < modules.size() ? begins[m + 1] : kernels.size();
    pass.visits.push_back({modules[m].parameters, kernels.subspan(begins[m], end - begins[m])});
  }
  return pass;
}

}  // namespace

ModulePass forward_pass(const BlockKind& kind, std::span<const Kernel> kernels) {
  return pass_over(modules_of(kind), kernels);
}

ModulePass backward_pass(const BlockKind& kind, std::span<const Kernel> kernels) {
  std::vector<Module> modules = modules_of(kind);
  std::reverse(modules.begin(), modules.end());
  return pass_over(modules, kernels);
}

}  // namespace takt
