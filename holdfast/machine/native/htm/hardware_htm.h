// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactions of one thread: RTM on x86-64, the POWER8 and POWER9 kind on POWER. Which
// instructions: rtm.h, power_tm.h.
//
// How an abort arrives. The processor puts registers and memory back as they were at begin(), and
// goes on there: begin() returns a second time, with the cause. Nothing is thrown, nobody catches;
// what the engine's attempt had in its frame is as it was, and what the body had built (vectors,
// exceptions in flight) never was. The caller's frame must still be there: begin() is inlined into
// it, and the engine commits in the function that began.
//
// While a transaction is suspended (POWER) stores are not rolled back, and a store to a line that
// the transaction has accessed dooms it; once it is doomed, loads of what it had stored give what
// was there before. The C++ stack is full of both kinds, so suspended code runs on a stack of its
// own, and takes two references: see suspended().
#pragma once

#include <cassert>
#include <memory>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/memory/words.h"

#if defined(__x86_64__)
#include "holdfast/machine/native/htm/rtm.h"
#elif defined(__powerpc64__)
#include "holdfast/machine/native/htm/power_tm.h"
#else
#include "holdfast/machine/native/htm/no_hardware_tm.h"
#endif

namespace holdfast::native {

/// See "Hardware transactional memory" in machine.h. Loads and stores are plain instructions:
/// acquire and release, which cost nothing on x86 and keep engines' arguments about program order
/// true on POWER.
class HardwareThread {
 public:
  HardwareThread() = default;
  HardwareThread(const HardwareThread&) = delete;
  HardwareThread& operator=(const HardwareThread&) = delete;

  /// Called once, where transactions will be suspended.
  void prepare_to_suspend();

  [[gnu::always_inline]] AbortCause begin(Tracking tracking) {
    const hardware::Arrival here = hardware::begin(tracking);
    if (here.inside) [[likely]] {
      return AbortCause::none;
    }
    cause_ = here.cause();
    return cause_;
  }
  static void commit() { hardware::end(); }
  [[noreturn]] static void abort() { leave<kExplicitAbort>(); }
  AbortCause caught() const { return cause_; }
  static void cancel() {
    if (hardware::active()) {
      leave<kCancelAbort>();
    }
  }
  static bool open() { return hardware::active(); }
  static bool doomed() { return hardware::doomed(); }
  static void suspend() {
    assert(hardware::kSuspends);
    order_stores();
    hardware::suspend();
  }
  static void resume() { hardware::resume(); }
  static void track(Tracking tracking) {
    if (tracking == Tracking::all) {
      hardware::resume_loads();
    } else {
      order_stores();
      hardware::suspend_loads();
    }
  }

  /// Runs f(a, b) while the transaction is suspended, on a stack that no transaction has touched. f
  /// stores only to lines that the transaction has neither loaded nor stored to. What it loads of
  /// the transaction's own stores counts only if the transaction is not doomed afterwards.
  void suspended(void (*f)(void* a, void* b), void* a, void* b);

  template <Word T>
  static T load(const T* p) {
    return load_word<__ATOMIC_ACQUIRE>(p);
  }
  template <Word T>
  static void store(T* p, T value) {
    store_word<__ATOMIC_RELEASE>(p, value);
  }
  static void load_range(void* to, const void* from, size_t n) {
    copy_words<__ATOMIC_ACQUIRE>(to, from, n);
  }
  static void store_range(void* to, const void* from, size_t n) {
    copy_words<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(to, from, n);
  }

 private:
  /// An engine now looks for readers that its stores might tear. A store that still waits in the
  /// store buffer has not got its line yet, and would not be doomed by a reader that comes after
  /// the look: so the stores come first. Fences are allowed inside transactions.
  static void order_stores() { full_fence(); }

  template <uint8_t kCode>
  [[noreturn]] static void leave() {
    assert(hardware::active());  // outside, the instruction does nothing
    hardware::abort<kCode>();
    hardware::resume();  // suspended, it had only been doomed
    __builtin_unreachable();
  }

  AbortCause cause_ = AbortCause::none;
  std::unique_ptr<std::byte[]> stack_;
};

}  // namespace holdfast::native
