// SPDX-License-Identifier: Apache-2.0
//
// Reads that ask for checksums.
#pragma once

#include <cstddef>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Knows whether the pages of a heap's file agree with their checksums.
class PageGuard {
 public:
  virtual ~PageGuard() = default;
  /// Throws Error(corrupt) if a page with one of the n bytes at p, in the data region, differs from
  /// its checksum.
  virtual void check(const void* p, size_t n) = 0;
};

/// While it exists, HeapBounds asks the guard about each pointer that the running transaction
/// follows, before the bytes are loaded. So nothing comes from a damaged page. A null guard changes
/// nothing, and other transactions pay nothing.
class Guarded {
 public:
  Guarded(void* running, PageGuard* guard)
      : context_(guard == nullptr ? nullptr : static_cast<Context*>(running)) {
    if (context_ != nullptr) {
      context_->guard = guard;
      forget_bounds();
    }
  }
  ~Guarded() {
    if (context_ != nullptr) {
      context_->guard = nullptr;
    }
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  /// HeapBounds then accepts nothing without a look at the context.
  void forget_bounds() { context_->known_bytes = context_->known_words = 0; }

  Context* const context_;
};

}  // namespace holdfast
