#include "engine/team.hpp"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

// How long a wait goes on before it changes its manner: about 100 microseconds of watching, then of giving way.
constexpr int watched = 2'000;
constexpr int gave_way = 100;

// A call done by all saves about so much. Credit is bounded, so that a core that is taken now is noticed soon.
constexpr std::chrono::microseconds saved_by_a_call{20};
constexpr std::chrono::milliseconds most_credit{20};

// How many calls the caller does alone when there is no credit: 10 milliseconds to half a second of calls.
constexpr int fewest_calls_alone = 256;
constexpr int most_calls_alone = 8'192;

void breathe() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace

Team::Team(std::size_t threads) : members_(threads), credit_(most_credit), next_calls_alone_(fewest_calls_alone) {
  for (std::size_t member = 1; member < threads; ++member) {
    members_[member].thread = std::thread([this, member] { stand_by(member); });
  }
}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  call_.fetch_add(1);
  call_.notify_all();
  for (Member& member : members_) {
    if (member.thread.joinable()) member.thread.join();
  }
}

std::uint32_t Team::next_call(std::uint32_t last) const {
  for (int i = 0; i < watched + gave_way; ++i) {
    if (const std::uint32_t call = call_.load(std::memory_order_acquire); call != last) return call;
    if (i < watched) breathe();
    else std::this_thread::yield();
  }
  call_.wait(last, std::memory_order_acquire);
  return call_.load(std::memory_order_acquire);
}

void Team::stand_by(std::size_t member) {
  for (std::uint32_t call = 0;;) {
    call = next_call(call);
    if (stopping_.load(std::memory_order_relaxed)) return;
    if (!begin_share(members_[member], call)) continue;
    do_share(member);
    members_[member].done.store(call, std::memory_order_release);
  }
}

/// Whether it is for us to do: nobody has begun it. A member that comes late, for a call that is over, finds it begun.
bool Team::begin_share(Member& member, std::uint32_t call) {
  std::uint32_t before = call - 1;
  return member.begun.compare_exchange_strong(before, call, std::memory_order_acq_rel);
}

void Team::do_share(std::size_t member) {
  const std::size_t end = (member + 1) * count_ / members_.size();
  try {
    for (std::size_t i = member * count_ / members_.size(); i < end; ++i) (*body_)(i);
  } catch (...) {
    members_[member].failure = std::current_exception();
  }
}

/// Waits until the member has done its share; how much longer than shares take.
std::chrono::nanoseconds Team::wait_for(const Member& member, std::uint32_t call) const {
  const auto is_done = [&] { return member.done.load(std::memory_order_acquire) == call; };
  for (int i = 0; i < watched; ++i) {
    if (is_done()) return {};
    breathe();
  }
  const auto start = std::chrono::steady_clock::now();
  while (!is_done()) std::this_thread::yield();
  return std::chrono::steady_clock::now() - start;
}

/// Whether the team is worth it depends on what was lost in waits.
void Team::judge(std::chrono::nanoseconds lost) {
  credit_ = std::min<std::chrono::nanoseconds>(most_credit, credit_ + saved_by_a_call - lost);
  if (credit_ == most_credit) next_calls_alone_ = fewest_calls_alone;
  if (credit_ > std::chrono::nanoseconds{}) return;
  credit_ = most_credit / 2;
  calls_alone_ = next_calls_alone_;
  next_calls_alone_ = std::min(2 * next_calls_alone_, most_calls_alone);
}

void Team::for_each(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (calls_alone_ > 0) {
    --calls_alone_;
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  body_ = &body;
  count_ = count;
  const std::uint32_t call = call_.load(std::memory_order_relaxed) + 1;
  call_.store(call);   // in one order with what notify_all looks at
  call_.notify_all();
  do_share(0);
  for (std::size_t member = 1; member < members_.size(); ++member) {
    if (!begin_share(members_[member], call)) continue;
    do_share(member);
    members_[member].done.store(call, std::memory_order_relaxed);
  }
  std::chrono::nanoseconds lost{};
  for (std::size_t member = 1; member < members_.size(); ++member) lost += wait_for(members_[member], call);
  judge(lost);
  std::exception_ptr first_failure;
  for (Member& member : members_) {
    const std::exception_ptr failure = std::exchange(member.failure, nullptr);
    if (!first_failure) first_failure = failure;
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace takt
