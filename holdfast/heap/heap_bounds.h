// SPDX-License-Identifier: Apache-2.0
//
// Checks of pointers and lists that come from a file, which may be damaged.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "holdfast/base/status.h"
#include "holdfast/engines/engine.h"
#include "holdfast/heap/layout.h"

namespace holdfast {

/// Throws Error(corrupt). `what`: the damaged part; the sentence goes on with "is damaged".
[[noreturn]] void throw_damaged(const std::string& what);
/// Throws Error(corrupt) for a pointer to `offset` in the heap's data.
[[noreturn]] void throw_wild_pointer(uint64_t offset);

/// The addresses at which blocks of the running transaction's heap H may lie. Code that follows a
/// pointer from the heap checks it first, because the file may be damaged. Attempts of transactions
/// see consistent states (engine.h), so a pointer that fails the check is damage, and not the view
/// of a transaction that will abort.
///
/// A heap without engine and machine has no file, and no bounds.
///
/// Cost of a check: two comparisons. The first check of a thread, and the first one after the heap
/// has grown, also load the heap's size.
///
/// Thread safety: one transaction.
template <class H>
class HeapBounds {
  static constexpr bool kBounded = requires {
    typename H::Machine;
    typename H::Engine;
  };

 public:
  HeapBounds() {
    if constexpr (kBounded) {
      context_ = static_cast<Context*>(H::Machine::context());
    }
  }

  /// Throws Error(corrupt) unless n bytes at p lie in the heap, and p begins a word.
  template <class T>
  T* check(T* p, size_t n = sizeof(T)) const {
    if constexpr (kBounded) {
      if (context_ != nullptr && !inside(p, n)) [[unlikely]] {
        refresh();
        if (!inside(p, n)) {
          throw_wild_pointer(offset_of(p));
        }
      }
    }
    return p;
  }

  /// Returns whether the n bytes behind the object p, which has been checked, lie in the heap.
  template <class T>
  bool has_behind(const T* p, uint64_t n) const {
    if constexpr (kBounded) {
      const uint64_t at = offset_of(p + 1);
      if (context_ != nullptr && n > context_->known_bytes - at) [[unlikely]] {
        refresh();
        return n <= context_->known_bytes - at;
      }
    }
    return true;
  }

  /// Returns a limit for the number of objects of `bytes` bytes in the heap.
  uint64_t most(size_t bytes) const {
    if constexpr (kBounded) {
      if (context_ != nullptr) {
        refresh();
        return context_->known_bytes / bytes;
      }
    }
    return UINT64_MAX / 2;
  }

 private:
  uint64_t offset_of(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(context_->data);
  }
  /// No block lies in the heap's header. The rotation moves the bits that an aligned offset lacks
  /// to the top, so that one comparison refuses a misaligned offset, too.
  bool inside(const void* p, size_t n) const {
    constexpr size_t kFirst = sizeof(DataHeader<typename H::Engine>);
    const uint64_t offset = offset_of(p) - kFirst;
    return n + kFirst <= context_->known_bytes &&
           std::rotr(offset, 3) <= (context_->known_bytes - kFirst - n) >> 3;
  }
  /// Loads the size of the heap in this transaction's state. A pointer to new space is visible only
  /// to transactions that see the growth. Opening has checked the header.
  [[gnu::noinline]] void refresh() const {
    const auto* h = reinterpret_cast<const DataHeader<typename H::Engine>*>(context_->data);
    context_->known_bytes = h->limit.load() * h->chunk_bytes.load();
  }

  Context* context_ = nullptr;
};

/// Finds the cycle of a damaged list, in a number of steps that is proportional to the cycle's
/// length (Brent's algorithm).
///
/// Thread safety: one transaction.
class CycleCheck {
 public:
  /// Throws Error(corrupt) if the walk that arrives at `p` has been there before.
  void arrive(const void* p) {
    if (p == mark_) [[unlikely]] {
      throw_damaged("a list in the heap, which leads back to itself,");
    }
    if (++steps_ == next_mark_) {
      mark_ = p;
      next_mark_ *= 2;
    }
  }

 private:
  const void* mark_ = nullptr;
  uint64_t steps_ = 0;
  uint64_t next_mark_ = 8;
};

}  // namespace holdfast
