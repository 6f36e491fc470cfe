// SPDX-License-Identifier: Apache-2.0
//
// The compare-exchange of 16 bytes, processor by processor.
//
// libatomic is not used, because its 16-byte operations may take a lock. A process killed while it
// holds that lock would leave one of the two words changed in the file. Instead: CMPXCHG16B, which
// all x86-64 processors since 2006 have; exclusive pairs on AArch64; LQARX on POWER8 and later.
#include "holdfast/machine/double_word.h"

#include <bit>

#include "holdfast/base/sanitizers.h"
#if HOLDFAST_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast {
namespace {

#if defined(__x86_64__)

/// Inline assembly, because without -mcx16 for the whole program clang turns the builtin into a
/// call of libatomic.
bool exchange(DoubleWord* at, DoubleWord& expected, const DoubleWord& desired) {
  bool same;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(same), "+m"(*at), "+a"(expected.first), "+d"(expected.second)
               : "b"(desired.first), "c"(desired.second)
               : "memory");
  return same;
}

#elif defined(__powerpc64__)

__extension__ using Pair = unsigned __int128;

bool exchange(DoubleWord* at, DoubleWord& expected, const DoubleWord& desired) {
  const Pair wanted = std::bit_cast<Pair>(expected);
  const Pair found = __sync_val_compare_and_swap(reinterpret_cast<Pair*>(at), wanted,
                                                 std::bit_cast<Pair>(desired));
  expected = std::bit_cast<DoubleWord>(found);
  return found == wanted;
}

#elif defined(__aarch64__)

/// The two loaded words belong to one instant only if the exclusive store succeeds. So a pair is
/// stored in any case: the new one, or the one found.
bool exchange(DoubleWord* at, DoubleWord& expected, const DoubleWord& desired) {
  for (;;) {
    DoubleWord found;
    uint32_t lost;
    asm volatile("ldaxp %0, %1, [%2]"
                 : "=&r"(found.first), "=&r"(found.second)
                 : "r"(at)
                 : "memory");
    const bool same = found == expected;
    const DoubleWord fresh = same ? desired : found;
    asm volatile("stlxp %w0, %1, %2, [%3]"
                 : "=&r"(lost)
                 : "r"(fresh.first), "r"(fresh.second), "r"(at)
                 : "memory");
    if (lost == 0) {
      // Separates the store from later accesses of the thread.
      asm volatile("dmb ish" ::: "memory");
      expected = found;
      return same;
    }
  }
}

#else
#error "this processor's compare-exchange of 16 bytes is missing"
#endif

// ThreadSanitizer does not see the order that inline assembly gives. Without these two functions it
// would report a race between an access before the exchange and one of a thread that has loaded the
// new words: between the mapping of new space and a load from there, for example. Loads read the
// words one by one, so each word has an order of its own.
#if HOLDFAST_THREAD_SANITIZER
void show_release(DoubleWord* at) {
  __tsan_release(&at->first);
  __tsan_release(&at->second);
}
void show_acquire(DoubleWord* at) {
  __tsan_acquire(&at->first);
  __tsan_acquire(&at->second);
}
#else
void show_release(DoubleWord* /*at*/) {}
void show_acquire(DoubleWord* /*at*/) {}
#endif

}  // namespace

bool compare_exchange(NativeMachine& /*machine*/, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired) {
  if (reinterpret_cast<uintptr_t>(at) % sizeof(DoubleWord) != 0) [[unlikely]] {
    throw_misaligned_double_word();
  }
  show_release(at);  // before the exchange: another thread may load the new words at once
  const bool stored = exchange(at, expected, desired);
  show_acquire(at);
  return stored;
}

}  // namespace holdfast
