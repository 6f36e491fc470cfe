// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// A lock that one writer or any number of readers hold. Writers come first: a reader that arrives
/// while a writer waits or works lets it pass.
///
/// Argument. A reader counts itself, then loads the writer's word. A writer stores its word, then
/// loads the count. Both stores are atomic read-modify-writes, which no later load passes, so at
/// least one of the two sees the other.
///
/// The writer's release is a plain store. On the simulated machine it takes its place behind the
/// writer's earlier stores, and the thread does not wait for them.
///
/// Thread safety: any thread may call any function; only holders call the release functions.
template <class M>
class SharedLock {
 public:
  explicit SharedLock(M& machine) : machine_(machine), line_(make_object<Line>(machine)) {}

  /// Acquire: the caller sees every store of the last writer. With `alone` it also waits for the
  /// readers.
  void acquire(bool alone) {
    uint64_t expected = 0;
    while (!line_->writer.compare_exchange(expected, 1)) {
      await(line_->writer, 1);
      expected = 0;
    }
    while (alone) {
      const uint64_t readers = line_->readers.load(std::memory_order_acquire);
      if (readers == 0) {
        return;
      }
      await(line_->readers, readers);
    }
  }
  /// Release: who acquires the lock next sees the writer's data.
  void release() { line_->writer.store(0, std::memory_order_release); }

  void acquire_shared() {
    for (;;) {
      line_->readers.fetch_add(1);
      if (line_->writer.load(std::memory_order_acquire) == 0) {
        return;
      }
      line_->readers.fetch_add(~uint64_t{0});
      await(line_->writer, 1);
    }
  }
  void release_shared() { line_->readers.fetch_add(~uint64_t{0}); }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  struct alignas(kMaxLineBytes) Line {
    Word writer{};
    Word readers{};
  };

  void await(Word& word, uint64_t old) {
    const PhaseScope<M> waiting(Phase::lock_wait);
    machine_.wait_while(word, old);
  }

  M& machine_;
  Line* line_;
};

}  // namespace holdfast
