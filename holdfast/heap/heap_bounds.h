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
#include "holdfast/heap/page_guard.h"

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
/// Cost of a check: one comparison, with numbers that the constructor loads. So loops construct the
/// bounds once. A check is slower close to the heap's end. The first check of a thread, and the
/// first one of new space, also load the heap's size.
///
/// Thread safety: one transaction.
template <class H>
class HeapBounds {
  static constexpr bool kBounded = requires {
    typename H::Machine;
    typename H::Engine;
  };

 public:
  [[gnu::always_inline]] HeapBounds() {
    if constexpr (kBounded) {
      context_ = static_cast<Context*>(H::Machine::context());
      if (context_ != nullptr) {
        first_ = reinterpret_cast<uintptr_t>(context_->data) + header_bytes();
        limit_ = context_->known_words;
        end_ = reinterpret_cast<uintptr_t>(context_->data) + context_->known_bytes;
      }
    }
  }

  /// Throws Error(corrupt) unless n bytes at p lie in the heap, and p begins a word.
  ///
  /// The rotation moves the bits that an aligned offset lacks to the top, so that one comparison
  /// refuses a misaligned offset, too.
  template <class T>
  T* check(T* p, size_t n = sizeof(T)) const {
    if constexpr (kBounded) {
      const uint64_t offset = reinterpret_cast<uintptr_t>(p) - first_;
      if (std::rotr(offset, kWordShift) >= limit_ || n > kNear) [[unlikely]] {
        check_slowly(context_, p, n);
      }
    }
    return p;
  }

  /// Returns whether the n bytes behind the object p, which has been checked, lie in the heap.
  template <class T>
  bool has_behind(const T* p, uint64_t n) const {
    if constexpr (kBounded) {
      const auto at = reinterpret_cast<uintptr_t>(p + 1);
      if (at > end_ || n > end_ - at) [[unlikely]] {  // end_ may be too low
        return has_behind_slowly(context_, p + 1, n);
      }
    }
    return true;
  }

  /// Returns whether a guard is asked about each pointer that is checked.
  bool guarded() const {
    if constexpr (kBounded) {
      return context_ != nullptr && context_->guard != nullptr;
    }
    return false;
  }

  /// Returns a limit for the number of objects of `bytes` bytes in the heap.
  uint64_t most(size_t bytes) const {
    if constexpr (kBounded) {
      if (context_ != nullptr) {
        return refresh(*context_) / bytes;
      }
    }
    return UINT64_MAX / 2;
  }

 private:
  static constexpr int kWordShift = 3;
  /// Objects up to this size have the fast check. It accepts no address that is closer to the end.
  static constexpr size_t kNear = 1024;

  /// No block lies in the heap's header.
  static constexpr size_t header_bytes() { return sizeof(DataHeader<typename H::Engine>); }
  static uint64_t offset_of(const Context& context, const void* p) {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(context.data);
  }
  // Static, so that the compiler may keep an object's members in registers.
  /// The exact check.
  [[gnu::noinline, gnu::cold]] static void check_slowly(Context* context, const void* p, size_t n) {
    if (context == nullptr) {
      return;
    }
    if (!inside(*context, context->known_bytes, p, n) &&
        !inside(*context, refresh(*context), p, n)) {
      throw_wild_pointer(offset_of(*context, p));
    }
    if (context->guard != nullptr) {
      context->guard->check(p, n);
    }
  }
  static bool inside(const Context& context, size_t known, const void* p, size_t n) {
    const uint64_t offset = offset_of(context, p);
    return offset % sizeof(uint64_t) == 0 && offset >= header_bytes() && offset <= known &&
           n <= known - offset;
  }
  [[gnu::noinline, gnu::cold]] static bool has_behind_slowly(Context* context, const void* at,
                                                             uint64_t n) {
    if (context == nullptr) {
      return true;
    }
    const bool fits = n <= refresh(*context) - offset_of(*context, at);
    if (fits && context->guard != nullptr) {
      context->guard->check(at, n);
    }
    return fits;
  }
  /// Loads and returns the size of the heap in this transaction's state. A pointer to new space is
  /// visible only to transactions that see the growth. Opening has checked the header. With a guard
  /// the context learns nothing, so each pointer is checked slowly.
  static size_t refresh(Context& context) {
    const auto* h = reinterpret_cast<const DataHeader<typename H::Engine>*>(context.data);
    const size_t known = h->limit.load() * h->chunk_bytes.load();
    constexpr size_t kLeast = header_bytes() + kNear;
    if (context.guard == nullptr) {
      context.known_bytes = known;
      context.known_words = known < kLeast ? 0 : ((known - kLeast) >> kWordShift) + 1;
    }
    return known;
  }

  Context* context_ = nullptr;
  // Without a context every address is good.
  uintptr_t first_ = 0;          ///< where blocks begin
  uint64_t limit_ = UINT64_MAX;  ///< of an offset from there, in words, for the fast check
  uintptr_t end_ = UINTPTR_MAX;  ///< of the heap, as far as it is known
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
