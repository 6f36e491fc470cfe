// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The lock of work that any thread may do for all, one thread at a time: to retire, replay,
/// persist or reclaim. One holding of the lock is a round. Any thread may call all functions.
///
/// The word counts: it is odd during a round. So a thread that waits notices the end of a round
/// even if the next one has begun meanwhile. With a flag in its place, a thread that does one round
/// after the other would keep the others waiting for as long as it finds work.
template <class M>
class RoundLock {
 public:
  explicit RoundLock(M& machine) : machine_(machine), shared_(make_object<Shared>(machine)) {}

  bool try_lock() {
    // Relaxed: the compare-exchange repeats the load.
    return take(shared_->rounds.load(std::memory_order_relaxed));
  }
  /// Returns false without the lock, after waiting for the end of the round that another thread
  /// does.
  bool lock_or_wait() {
    const uint64_t seen = shared_->rounds.load(std::memory_order_relaxed);
    if (take(seen)) {
      return true;
    }
    if (is_round(seen)) {
      machine_.wait_while(shared_->rounds, seen);
    }
    return false;
  }
  void lock() {
    while (!lock_or_wait()) {
    }
  }
  /// Release: the next holder sees what this round has done.
  void unlock() {
    // Relaxed: only the holder stores to it.
    const uint64_t round = shared_->rounds.load(std::memory_order_relaxed);
    shared_->rounds.store(round + 1, std::memory_order_release);
  }

  /// Does the work of a round that the caller has begun, and ends the round. Returns the result of
  /// `work`. If that gets no memory (bad_alloc) or no thread (system_error), the round ends as
  /// well, so the work must be such that another round can begin it again. After a MediumFailure
  /// the round lasts, and every wait throws.
  template <class Work>
  auto finish(Work&& work) {
    std::optional<decltype(work())> result;
    std::exception_ptr failure;
    try {
      result = work();
    } catch (const std::bad_alloc&) {
      failure = std::current_exception();
    } catch (const std::system_error&) {
      failure = std::current_exception();
    }
    unlock();
    if (failure) [[unlikely]] {
      std::rethrow_exception(failure);
    }
    return *std::move(result);
  }

  /// Asks the background thread for rounds. Relaxed, as all uses of it: it is only a hint.
  void request() {
    if (!wanted()) {
      shared_->wanted.store(1, std::memory_order_relaxed);
    }
  }
  /// One round of the background thread, if it was asked for: `work` returns whether it found
  /// something to do. Returns false if there was nothing to do.
  template <class Work>
  bool background(Work&& work) {
    if (!wanted() || !try_lock()) {
      return false;
    }
    const bool found = finish(work);
    if (!found) {
      shared_->wanted.store(0, std::memory_order_relaxed);
    }
    return found;
  }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  struct alignas(kMaxLineBytes) Shared {
    Word rounds{};
    Word wanted{};
  };

  bool wanted() const { return shared_->wanted.load(std::memory_order_relaxed) != 0; }
  static bool is_round(uint64_t rounds) { return rounds % 2 == 1; }
  bool take(uint64_t seen) {
    return !is_round(seen) && shared_->rounds.compare_exchange(seen, seen + 1);
  }

  M& machine_;
  Shared* shared_;
};

}  // namespace holdfast
