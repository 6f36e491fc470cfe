// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "holdfast/machine/machine.h"

namespace holdfast {
class SimMachine;
}

namespace holdfast::sim {

class MemorySystem;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final
struct SimThread;

/// The hardware transactions of one simulated thread. Contract: HtmThread in machine.h. Only that
/// thread uses it.
///
/// As on real hardware, all accesses of a thread with an open transaction belong to the
/// transaction, unless it is suspended. This includes outside_load() and Atomic operations, because
/// all of these are the same instructions.
class SimHtmThread {
 public:
  SimHtmThread(MemorySystem& memory, SimThread& thread) : memory_(memory), thread_(thread) {}

  AbortCause begin(Tracking tracking);
  void suspend();
  void resume();
  void track(Tracking tracking);
  void commit();
  [[noreturn]] void abort(AbortCode code);
  AbortCause caught();
  AbortCode caught_code() const;
  void cancel();
  bool open() const;
  bool doomed() const;

  template <Word T>
  T load(const T* p);
  template <Word T>
  void store(T* p, std::type_identity_t<T> value);
  template <Word T>
  T outside_load(const T* p) {
    return load(p);
  }
  template <Word T>
  void outside_store(T* p, std::type_identity_t<T> value) {
    store(p, value);
  }

  void load_range(void* to, const void* from, size_t n);
  void store_range(void* to, const void* from, size_t n);
  void outside_load_range(void* to, const void* from, size_t n) { load_range(to, from, n); }
  void outside_store_range(void* to, const void* from, size_t n) { store_range(to, from, n); }

 private:
  MemorySystem& memory_;
  SimThread& thread_;
};

}  // namespace holdfast::sim
