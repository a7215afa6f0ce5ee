// Offloaded states and the memory of servers: sizes that can be worked out by hand.
#include "metrics/host_memory.hpp"

#include "catch.hpp"
#include "support/scenarios.hpp"

using namespace takt;

namespace {

constexpr const char* scenario_70b = "llama-3.3-70b-full-zero3-offload-8x-h200-nvl";
constexpr double parameters_70b = 70'553'706'496.0;

HostMemory of(Overrides overrides) {
  return test::finished(scenario_70b, overrides).result.host_memory;
}

}  // namespace

TEST_CASE("70B needs 16 bytes a parameter of host memory: two sockets of 1,152 GB hold it, of 384 GB do not", "[scenarios][offload]") {
  const HostMemory memory = of({});
  CHECK(static_cast<double>(memory.needed.count()) == Approx(16.0 * parameters_70b).epsilon(1e-3));
  CHECK(memory.fits());
  const auto with = [](const char* size) {
    return of({{"platform.socket.memory", size}});
  };
  CHECK_FALSE(with("384 GB").fits());
  CHECK(with("1152 GB").fits());
}

TEST_CASE("parameters that wait in host memory take two bytes more", "[scenarios][offload]") {
  const HostMemory memory = of({{"parallel.offload_params", "cpu"}});
  CHECK(static_cast<double>(memory.needed.count()) == Approx(18.0 * parameters_70b).epsilon(1e-3));
}

TEST_CASE("nothing offloaded takes nothing", "[scenarios][offload]") {
  const HostMemory memory = of({{"parallel.offload_optimizer", "none"}});
  CHECK(memory.needed == Bytes{});
  CHECK(memory.fits());
}
