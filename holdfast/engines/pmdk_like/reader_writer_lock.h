// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/isolation/combining/crwwp.h"

namespace holdfast {

/// One lock for many readers or one writer: C-RW-WP over a global lock for the writers.
template <class M>
class ReaderWriterLock {
 public:
  explicit ReaderWriterLock(M& machine) : writers_(machine), readers_(machine) {}

  /// For a writer.
  void lock() {
    writers_.acquire();
    readers_.exclude();
  }
  void unlock() {
    readers_.admit();
    writers_.release();
  }

  /// For a reader. Writers have the preference, so one that they keep overtaking stands in line
  /// with them: false, it keeps writers out alone. leave() wants to know.
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
