#include "plan/rank_speed.hpp"

namespace takt {

namespace {

// SplitMix64: a counter through two multiplications and shifts, so that any rank's number is found without those before
// it. S. Vigna, prng.di.unimi.it/splitmix64.c, public domain.
std::uint64_t split_mix(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

double random_share(std::uint64_t seed, std::uint64_t rank) {
  const std::uint64_t z = split_mix(split_mix(seed) ^ rank);
  return static_cast<double>(z >> 11U) / 9007199254740992.0;  // 2^53
}

double rank_speed(const Assumptions& assumptions, std::int64_t rank) {
  const auto straggler = assumptions.stragglers.find(rank);
  const double factor = straggler == assumptions.stragglers.end() ? 1.0 : straggler->second;
  const double share = random_share(static_cast<std::uint64_t>(assumptions.seed), static_cast<std::uint64_t>(rank));
  return 1.0 / (factor * (1.0 + assumptions.jitter * share));
}

}  // namespace takt
