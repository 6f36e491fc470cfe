// SPDX-License-Identifier: Apache-2.0
//
// native/htm/: hardware transactions of the native machine, run in software (soft_*.h) or by the
// processor (hardware_*.h, rtm.h, power_tm.h).
#pragma once

#include "holdfast/machine/native/htm/hardware_htm.h"
#include "holdfast/machine/native/htm/soft_htm.h"

namespace holdfast::native {

/// The transactions of one thread, in software or in hardware, as the machine was opened. Contract:
/// HtmThread in machine.h. Only that thread calls it.
///
/// Every access asks which of the two it is, by a pointer that `soft` needs anyway. This is one
/// branch that always goes the same way.
class alignas(kMaxLineBytes) HtmThread : private SoftThread {
 public:
  HtmThread(SoftShared& shared, int slot, bool suspends) : SoftThread(shared, slot) {
    if (!in_software() && suspends) {
      hardware_.prepare_to_suspend();
    }
  }

  [[gnu::always_inline]] AbortCause begin(Tracking tracking) {
    if (in_software()) [[likely]] {
      return SoftThread::begin(tracking);
    }
    return hardware_.begin(tracking);
  }
  void suspend() { in_software() ? SoftThread::suspend() : HardwareThread::suspend(); }
  void resume() { in_software() ? SoftThread::resume() : HardwareThread::resume(); }
  void track(Tracking tracking) {
    in_software() ? SoftThread::track(tracking) : HardwareThread::track(tracking);
  }
  void commit() { in_software() ? SoftThread::commit() : HardwareThread::commit(); }
  [[noreturn]] void abort(AbortCode code) {
    if (in_software()) {
      SoftThread::abort(code);
    }
    HardwareThread::abort(code);
  }
  AbortCause caught() { return in_software() ? SoftThread::caught() : hardware_.caught(); }
  AbortCode caught_code() const {
    return in_software() ? SoftThread::caught_code() : hardware_.caught_code();
  }
  /// In hardware, if a transaction is open, this does not return: begin() does, with cause `other`.
  void cancel() { in_software() ? SoftThread::cancel() : HardwareThread::cancel(); }
  bool open() const { return in_software() ? SoftThread::open() : HardwareThread::open(); }
  bool doomed() const { return in_software() ? SoftThread::doomed() : HardwareThread::doomed(); }

  /// Suspends, calls F(a, b), resumes. The rules for F are those of run_suspended()
  /// (engines/parts/isolation/htm/suspended.h).
  template <auto F, class A, class B>
  void suspended(A& a, B& b) {
    if (in_software()) [[likely]] {
      SoftThread::suspend();
      F(a, b);
      SoftThread::resume();
    } else {
      hardware_.suspended([](void* x, void* y) { F(*static_cast<A*>(x), *static_cast<B*>(y)); }, &a,
                          &b);
    }
  }

  template <Word T>
  T load(const T* p) {
    return in_software() ? SoftThread::load(p) : HardwareThread::load(p);
  }
  template <Word T>
  void store(T* p, T value) {
    in_software() ? SoftThread::store(p, value) : HardwareThread::store(p, value);
  }
  void load_range(void* to, const void* from, size_t n) {
    in_software() ? SoftThread::load_range(to, from, n) : HardwareThread::load_range(to, from, n);
  }
  void store_range(void* to, const void* from, size_t n) {
    in_software() ? SoftThread::store_range(to, from, n) : HardwareThread::store_range(to, from, n);
  }

  // Accesses from outside. In hardware the coherence protocol dooms the transactions in conflict.
  template <Word T>
  T outside_load(const T* p) {
    return in_software() ? SoftThread::outside_load(p) : HardwareThread::load(p);
  }
  template <Word T>
  void outside_store(T* p, T value) {
    in_software() ? SoftThread::outside_store(p, value) : HardwareThread::store(p, value);
  }
  void outside_load_range(void* to, const void* from, size_t n) {
    in_software() ? SoftThread::outside_load_range(to, from, n)
                  : HardwareThread::load_range(to, from, n);
  }
  void outside_store_range(void* to, const void* from, size_t n) {
    in_software() ? SoftThread::outside_store_range(to, from, n)
                  : HardwareThread::store_range(to, from, n);
  }

 private:
  HardwareThread hardware_;
};

}  // namespace holdfast::native
