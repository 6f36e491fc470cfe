// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The single global lock that hardware transactions with tracked loads subscribe to: each loads a
/// word that the holder stores to, so that taking the lock dooms all that run, and who begins under
/// it gives up. (Transactions that do not track loads use GlobalLock, and announce themselves.)
///
/// Two words: `word` keeps takers apart, `flag` is what transactions load. A plain word, because
/// `soft` transactions learn only of stores made with outside_store().
template <class M>
class SubscribedLock {
 public:
  using Htm = typename M::HtmThread;

  explicit SubscribedLock(M& machine) : machine_(machine), line_(make_array<Line>(machine, 1)) {}

  /// Acquire: who finds it free sees everything its last holder did.
  void await_free() {
    while (line_->word.load(std::memory_order_acquire) != 0) {
      const PhaseScope<M> waiting(Phase::lock_wait);
      machine_.wait_while(line_->word, uint64_t{1});
    }
  }

  /// Sequentially consistent: not before the caller's fence.
  bool held() const { return line_->word.load() != 0; }

  /// First thing in a hardware transaction. Throws HtmAbort if the lock is held.
  void subscribe(Htm& htm) {
    if (!machine_.skips(Site{"lock.subscribe"}) && htm.load(&line_->flag) != 0) {
      htm.abort();
    }
  }

  void acquire(Htm& htm) {
    uint64_t expected = 0;
    while (!line_->word.compare_exchange(expected, 1)) {
      await_free();
      expected = 0;
    }
    htm.outside_store(&line_->flag, uint64_t{1});
    // The store is visible, so every transaction is doomed or over, before the holder's first load.
    machine_.fence(Site{"lock.fence"});
  }

  /// Releases: whoever begins afterwards sees the holder's stores. Outside stores become visible in
  /// program order, that to the flag last (total store order; `soft` releases line by line). The
  /// flag before the word: who finds the word free should not find the flag set.
  void release(Htm& htm) {
    htm.outside_store(&line_->flag, uint64_t{0});
    line_->word.store(0, std::memory_order_release);
  }

 private:
  struct alignas(2 * kLineBytes) Line {
    typename M::template Atomic<uint64_t> word{};
    alignas(2 * kLineBytes) uint64_t flag = 0;
  };
  M& machine_;
  Line* line_;
};

}  // namespace holdfast
