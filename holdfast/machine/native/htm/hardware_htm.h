// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactions of one thread: RTM on x86-64 (rtm.h), transactional memory of POWER8 and
// POWER9 on POWER (power_tm.h).
//
// How an abort arrives. The processor restores registers and memory as they were at begin() and
// continues there: begin() returns a second time, with the cause. Nothing is thrown or caught. The
// frame of the engine's attempt is as it was at begin(). Objects that the body has built since then
// (vectors, exceptions in flight) have never existed. The frame that called begin() must still
// exist. Therefore begin() is inlined, and the engine commits in the function that has begun.
//
// Suspended code on POWER. Stores made while a transaction is suspended are not rolled back, and a
// store to a line that the transaction has accessed dooms it. Once the transaction is doomed, loads
// of locations that it has stored to return the old values. The C++ stack is full of such lines, so
// suspended code runs on a stack of its own and takes two references: see suspended().
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

/// The transactions of one thread in hardware. Contract: HtmThread in machine.h. Only that thread
/// calls it.
///
/// Loads and stores are plain instructions, with orders acquire and release. These cost nothing on
/// x86, and keep the engines' arguments about program order true on POWER.
class HardwareThread {
 public:
  HardwareThread() = default;
  HardwareThread(const HardwareThread&) = delete;
  HardwareThread& operator=(const HardwareThread&) = delete;

  /// Allocates the stack for suspended code. Called once, if transactions will be suspended.
  void prepare_to_suspend();

  [[gnu::always_inline]] AbortCause begin(Tracking tracking) {
    const hardware::Arrival here = hardware::begin(tracking);
    if (here.inside) [[likely]] {
      return AbortCause::none;
    }
    cause_ = here.cause();
    code_ = here.code();
    return cause_;
  }
  static void commit() { hardware::end(); }
  [[noreturn]] static void abort(AbortCode code) {
    switch (code) {  // the instruction takes a constant
      case AbortCode::none:
        leave<status_code(AbortCode::none)>();
      case AbortCode::lock:
        leave<status_code(AbortCode::lock)>();
      case AbortCode::log:
        leave<status_code(AbortCode::log)>();
      case AbortCode::alias:
        leave<status_code(AbortCode::alias)>();
      case AbortCode::revoked:
        leave<status_code(AbortCode::revoked)>();
      case AbortCode::stale:
        leave<status_code(AbortCode::stale)>();
    }
    __builtin_unreachable();
  }
  AbortCause caught() const { return cause_; }
  AbortCode caught_code() const { return code_; }
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
  /// stores only to lines that the transaction has neither loaded nor stored to. A value that f
  /// loads from the transaction's own stores is valid only if the transaction is not doomed
  /// afterwards.
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
  /// Separates the transaction's stores from the engine's following look for readers. A store that
  /// waits in the store buffer does not own its line yet. A reader that comes after the look would
  /// not doom the transaction then, and could see half of its stores. Fences are allowed inside
  /// transactions.
  static void order_stores() { full_fence(); }

  template <uint8_t kCode>
  [[noreturn]] static void leave() {
    assert(hardware::active());  // outside a transaction the instruction does nothing
    hardware::abort<kCode>();
    hardware::resume();  // reached only while suspended, where the instruction only dooms
    __builtin_unreachable();
  }

  AbortCause cause_ = AbortCause::none;
  AbortCode code_ = AbortCode::none;
  std::unique_ptr<std::byte[]> stack_;
};

}  // namespace holdfast::native
