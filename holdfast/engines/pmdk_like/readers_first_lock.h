// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/retry.h"

namespace holdfast {

/// A reader-writer lock in one word that prefers readers. glibc's pthread_rwlock_t, and so
/// std::shared_timed_mutex, does so by default. A reader counts itself, and is inside unless a
/// writer is inside. A writer enters when the word is 0. Readers that come and go without a gap
/// keep writers out forever. All readers write the same line.
template <class M>
class ReadersFirstLock {
 public:
  explicit ReadersFirstLock(M& machine)
      : machine_(machine), writers_(machine), line_(make_object<Line>(machine)) {}

  /// Excludes readers and other writers.
  void lock() {
    writers_.acquire();
    uint64_t nobody = 0;
    while (!line_->word.compare_exchange(nobody, kWriter)) {
      if (machine_.skips(Site{"readers_first.drain"})) {
        line_->word.fetch_add(kWriter);
        return;
      }
      const PhaseScope<M> waiting(Phase::lock_wait);
      machine_.wait_while(line_->word, nobody);
      nobody = 0;
    }
  }
  void unlock() {
    line_->word.fetch_add(-kWriter);
    writers_.release();
  }

  void enter() {
    uint64_t seen = line_->word.fetch_add(kReader);
    while ((seen & kWriter) != 0 && !machine_.skips(Site{"readers_first.writer"})) {
      const PhaseScope<M> waiting(Phase::lock_wait);
      machine_.wait_while(line_->word, seen);
      seen = line_->word.load();
    }
  }
  void leave() { line_->word.fetch_add(-kReader); }

 private:
  static constexpr uint64_t kWriter = 1;
  static constexpr uint64_t kReader = 2;

  struct alignas(kMaxLineBytes) Line {
    typename M::template Atomic<uint64_t> word{};
  };
  M& machine_;
  GlobalLock<M> writers_;  // keeps writers apart
  Line* line_;
};

}  // namespace holdfast
