#include "engine/team.hpp"

#include <utility>

namespace takt {
namespace {

// How long a wait goes on before it changes its manner: about 100 microseconds of watching, then of giving way.
constexpr int watched = 2'000;
constexpr int gave_way = 100;

void breathe() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace

Team::Team(std::size_t threads) : members_(threads) {
  for (std::size_t member = 1; member < threads; ++member) {
    members_[member].thread = std::thread([this, member] { stand_by(member); });
  }
}

Team::~Team() {
  stopping_.store(true, std::memory_order_relaxed);
  call_.fetch_add(1, std::memory_order_release);
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

void Team::for_each(std::size_t count, const std::function<void(std::size_t)>& body) {
  body_ = &body;
  count_ = count;
  const std::uint32_t call = call_.load(std::memory_order_relaxed) + 1;
  call_.store(call, std::memory_order_release);
  call_.notify_all();
  do_share(0);
  for (std::size_t member = 1; member < members_.size(); ++member) {
    if (!begin_share(members_[member], call)) continue;
    do_share(member);
    members_[member].done.store(call, std::memory_order_relaxed);
  }
  for (std::size_t member = 1; member < members_.size(); ++member) {
    for (int i = 0; members_[member].done.load(std::memory_order_acquire) != call; ++i) {
      if (i < watched) breathe();
      else std::this_thread::yield();
    }
  }
  for (Member& member : members_) {
    if (member.failure) std::rethrow_exception(std::exchange(member.failure, nullptr));
  }
}

}  // namespace takt
