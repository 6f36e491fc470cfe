// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/basics/retry.h"

namespace holdfast::undo {

/// One lock for readers and writers, as the frame of undo engines takes it.
template <class M>
class OneLock {
 public:
  OneLock(M& machine, const Options& /*options*/) : lock_(machine) {}

  void lock() { lock_.acquire(); }
  void unlock() { lock_.release(); }
  bool enter(int /*slot*/) {
    lock_.acquire();
    return false;
  }
  void leave(int /*slot*/, bool /*shared*/) { lock_.release(); }

 private:
  GlobalLock<M> lock_;
};

}  // namespace holdfast::undo
