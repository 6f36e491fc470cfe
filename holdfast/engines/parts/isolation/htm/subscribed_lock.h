// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The single global lock that hardware transactions with tracked loads subscribe to. Each
/// transaction loads a word that the holder stores to. Taking the lock therefore dooms all running
/// transactions, and a transaction that begins under it gives up. (Transactions that do not track
/// loads announce themselves and use GlobalLock.)
///
/// Two words: `word` excludes other takers, `flag` is loaded by transactions. The flag is no
/// Atomic, because `soft` transactions notice only stores made with outside_store().
template <class M>
class SubscribedLock {
 public:
  using Htm = typename M::HtmThread;

  explicit SubscribedLock(M& machine) : machine_(machine), line_(make_object<Line>(machine)) {}

  /// Acquire: a caller that finds the lock free sees every store of its last holder.
  void await_free() {
    while (line_->word.load(std::memory_order_acquire) != 0) {
      const PhaseScope<M> waiting(Phase::lock_wait);
      machine_.wait_while(line_->word, uint64_t{1});
    }
  }

  /// Sequentially consistent: stays behind the caller's fence.
  bool held() const { return line_->word.load() != 0; }

  /// Must come first in a hardware transaction. Throws HtmAbort if the lock is held.
  void subscribe(Htm& htm) {
    if (!machine_.skips(Site{"lock.subscribe"}) && htm.load(&line_->flag) != 0) {
      htm.abort(AbortCode::lock);
    }
  }

  void acquire(Htm& htm) {
    uint64_t expected = 0;
    while (!line_->word.compare_exchange(expected, 1)) {
      await_free();
      expected = 0;
    }
    htm.outside_store(&line_->flag, uint64_t{1});
    // Separates the flag's store from the holder's first load: before that load, every transaction
    // is doomed or over.
    machine_.fence(Site{"lock.fence"});
  }

  /// Release: a transaction that finds the word free sees the holder's stores. Outside stores
  /// become visible in program order (total store order; `soft` releases line by line), so the
  /// flag's store follows the data. The flag changes before the word, so that a transaction that
  /// finds the word free does not find the flag set.
  void release(Htm& htm) {
    htm.outside_store(&line_->flag, uint64_t{0});
    line_->word.store(0, std::memory_order_release);
  }

 private:
  struct alignas(kMaxLineBytes) Line {
    typename M::template Atomic<uint64_t> word{};
    alignas(kMaxLineBytes) uint64_t flag = 0;
  };
  M& machine_;
  Line* line_;
};

}  // namespace holdfast
