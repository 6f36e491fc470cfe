// SPDX-License-Identifier: Apache-2.0
//
// The operators new and delete of a test program, of which one call can be made to fail. One file
// of a program includes this. A sanitizer keeps its own operators: it compares new with delete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/sanitized.h"

namespace holdfast::failing_memory {

inline constexpr uint64_t kNever = ~uint64_t{0};

/// Allocations of this thread before the one that fails. That one makes it kNever.
inline thread_local uint64_t until_failure = kNever;

inline void* allocated(size_t bytes, size_t alignment) {
  if (until_failure != kNever && until_failure-- == 0) {
    throw std::bad_alloc();
  }
  void* const p = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  return p != nullptr ? p : throw std::bad_alloc();
}

}  // namespace holdfast::failing_memory

#if !HOLDFAST_ADDRESS_SANITIZER && !HOLDFAST_THREAD_SANITIZER

// Not inlined: a compiler that sees free() behind a new expression warns of it.
[[gnu::noinline]] void* operator new(size_t bytes) {
  return holdfast::failing_memory::allocated(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  return holdfast::failing_memory::allocated(bytes, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, size_t /*bytes*/) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::align_val_t /*alignment*/) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, size_t /*bytes*/,
                                       std::align_val_t /*alignment*/) noexcept {
  std::free(p);
}

#endif
