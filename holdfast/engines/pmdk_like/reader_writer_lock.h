// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"

namespace holdfast {

/// A lock for many readers or one writer: C-RW-WP over a global lock for the writers. Writers have
/// the preference.
template <class M>
class ReaderWriterLock {
 public:
  explicit ReaderWriterLock(M& machine) : writers_(machine), readers_(machine) {}

  /// Excludes readers and other writers.
  void lock() {
    writers_.acquire();
    readers_.exclude();
  }
  void unlock() {
    readers_.admit();
    writers_.release();
  }

  /// Excludes writers. Returns true if the reader shares the lock with other readers. A reader that
  /// writers keep overtaking waits in line with them instead. Then it holds the writers' lock:
  /// false. Pass the result to leave().
  bool enter(int slot) {
    const bool shared = readers_.enter(slot);
    if (!shared) {
      writers_.acquire();
    }
    return shared;
  }
  void leave(int slot, bool shared) {
    if (shared) {
      readers_.leave(slot);
    } else {
      writers_.release();
    }
  }

 private:
  GlobalLock<M> writers_;
  Crwwp<M> readers_;
};

}  // namespace holdfast
