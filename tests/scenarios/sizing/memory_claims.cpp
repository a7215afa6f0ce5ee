// Memory, offload and storage: GB are 1e9 bytes.
#include "catch.hpp"
#include "scenarios/sizing/claims.hpp"
#include "workload/recipe.hpp"

namespace takt::test {
namespace {

constexpr Optimizer narrow = Optimizer::adamw_8bit;

double states(const Asked& asked) {
  return in_gb(fitted(asked).of_card.total());
}

double free_nominal(const Asked& asked) {
  return in_gb(fitted(asked).free_nominal());
}

double free_visible(const Asked& asked) {
  return in_gb(fitted(asked).free_visible());
}

double billions(const std::string& model) {
  return static_cast<double>(fitted({model}).parameters) / giga;
}

double adapter_millions(const std::string& model) {
  return static_cast<double>(fitted({model, Method::lora}).trained) / 1e6;
}

/// Guides round 32.76 and 70.55 billion parameters before they multiply; the exact counts give 458.67 and 987.75.
double offloaded_of_rounded(const std::string& model) {
  constexpr std::int64_t ten_million = 10'000'000, bytes_a_parameter = 14;
  const FitResult exact = fitted({.model = model, .cards = 8, .offload = Offload::cpu});
  const std::int64_t rounded = (exact.parameters + ten_million / 2) / ten_million * ten_million;
  const Bytes guide = offloaded_size(rounded);
  CHECK(exact.offloaded - guide == Bytes((exact.parameters - rounded) * bytes_a_parameter));
  return in_gb(guide);
}

void add_states(Claims& claims) {
  claims["M01"] = [] { return billions(b8); };
  claims["M02"] = [] { return billions(b32); };
  claims["M03"] = [] { return billions(b70); };
  claims["M04"] = [] { return states({b70}); };
  claims["M05"] = [] { return states({b70, Method::lora}); };
  claims["M06"] = claims["M06b"] = [] { return states({b70, Method::qlora}); };
  claims["M07"] = [] { return states({b8, Method::qlora}); };
  claims["M08"] = [] { return states({b8, Method::lora}); };
  claims["M09"] = [] { return states({b32, Method::lora}); };
  claims["M09b"] = [] { return states({b32, Method::qlora}); };
  claims["M10"] = claims["M10b"] = [] { return states({b8}); };
  claims["M11"] = [] { return states({b8, Method::full, narrow}); };
  claims["M12"] = [] { return states({.model = b8, .cards = 2}); };
  claims["M13"] = [] { return states({.model = b70, .method = Method::lora, .cards = 2}); };
  claims["M14"] = [] { return states({.model = b70, .method = Method::lora, .cards = 4}); };
  claims["M15"] = [] { return states({.model = b32, .cards = 8}); };
  claims["M16"] = [] { return states({.model = b70, .cards = 8}); };
  claims["M17"] = [] { return states({b70, Method::full, narrow, 8}); };
  claims["M18"] = [] { return states({.model = b70, .method = Method::qlora, .cards = 2}); };
  claims["M19"] = [] {  // fits four of 96 GB with 8-bit moments, and with 32-bit ones only eight
    CHECK(free_nominal({b32, Method::full, Optimizer::adamw, 4, Offload::none, "rtx-pro-6000-server"}) < 0.0);
    CHECK(free_nominal({b32, Method::full, Optimizer::adamw, 8, Offload::none, "rtx-pro-6000-server"}) > 0.0);
    return states({b32, Method::full, narrow, 4});
  };
}

void add_offload_and_storage(Claims& claims) {
  const auto on_eight = [](const std::string& model) {
    return fitted({.model = model, .cards = 8, .offload = Offload::cpu});
  };
  claims["O01"] = [] { return in_gb(fitted({.model = b8, .offload = Offload::cpu}).offloaded); };
  claims["O02"] = [] { return offloaded_of_rounded(b32); };
  claims["O03"] = [] { return offloaded_of_rounded(b70); };
  claims["O03b"] = [=] { return in_gb(on_eight(b70).offloaded); };
  claims["O04"] = [=] { return in_gb(on_eight(b70).of_card.total()); };
  claims["O05"] = [=] { return in_gb(on_eight(b70).offloaded) / 1e3; };
  claims["K01"] = [] { return in_gb(fitted({b8}).checkpoints.resumable); };
  claims["K02"] = [] { return in_gb(fitted({b32}).checkpoints.resumable); };
  claims["K03"] = [] { return in_gb(fitted({b70}).checkpoints.resumable); };
  claims["K04"] = [] { return 3.0 * in_gb(fitted({b70}).checkpoints.resumable) / 1e3; };
  claims["D01"] = [] { return adapter_millions(b70); };
  claims["D02"] = [] { return adapter_millions(b8); };
  claims["D02b"] = [] { return adapter_millions(b32); };
  claims["D06"] = [] {
    const FitResult adapter = fitted({b8, Method::lora});
    return static_cast<double>(adapter.parameters) / static_cast<double>(adapter.trained);
  };
  claims["D09"] = [] { return in_gb(fitted({b70, Method::lora}).checkpoints.weights); };
  claims["D10"] = [] { return in_gb(fitted({b70, Method::lora}).checkpoints.training_state); };
  claims["F01"] = [] { return in_gb(fitted({b70, Method::lora}).whole.frozen_weights); };
  claims["C25"] = [] { return nf4_double_quantised_bytes; };
}

void add_room(Claims& claims) {
  const auto on = [](const std::string& card, const std::string& model, Method method) {
    return Asked{.model = model, .method = method, .card = card};
  };
  const std::string pro = "rtx-pro-6000-workstation";
  claims["R02"] = [] { return free_visible({b8}); };
  claims["R03"] = [=] { return free_nominal(on(pro, b70, Method::qlora)); };
  claims["R04"] = [=] { return free_visible(on(pro, b70, Method::qlora)); };
  claims["R05"] = [=] { return free_visible(on("h200-nvl", b70, Method::qlora)); };
  claims["R06"] = [=] { return free_visible(on(pro, b8, Method::lora)); };
  claims["R07"] = [=] { return free_visible(on(pro, b32, Method::lora)); };
  claims["R08"] = [=] { return free_visible(on("h200-nvl", b70, Method::lora)); };
  claims["R09"] = [=] { return free_nominal(on("rtx-pro-5000-72", b70, Method::qlora)); };
  claims["R10"] = [=] { return free_nominal(on("rtx-pro-5000-72", b8, Method::lora)); };
  claims["R11"] = [=] { return free_nominal(on("rtx-pro-5000-72", b32, Method::lora)); };
  claims["R12"] = [=] { return free_nominal(on("rtx-pro-5000-48", b70, Method::qlora)); };
  const double lora_states = states({b8, Method::lora});
  claims["R13"] = [=] { return in_gb(slice_file("rtx-pro-6000-server", "1g.24gb").memory_nominal) - lora_states; };
  claims["R14"] = [=] { return in_gb(slice_file("h200-nvl", "1g.18gb").memory_visible) - lora_states; };
  claims["R15"] = [] { return in_gb(card_file("h200-nvl").memory_visible); };
  claims["R16"] = [=] { return in_gb(card_file(pro).memory_visible); };
  claims["R17"] = [=] { return in_gb(card_file("h200-nvl").memory_visible - card_file(pro).memory_visible); };
}

}  // namespace

Claims memory_claims() {
  Claims claims;
  add_states(claims);
  add_offload_and_storage(claims);
  add_room(claims);
  return claims;
}

}  // namespace takt::test
