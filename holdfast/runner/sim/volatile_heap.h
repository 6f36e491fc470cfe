// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "holdfast/base/scoped_value.h"
#include "holdfast/heap/field.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// The interface of Heap over the volatile memory of a simulated machine, for structures of a
/// thread without transactions. Each access is the machine's, and costs what the machine says.
/// Nothing is durable or isolated. Memory is freed only with the machine.
class VolatileHeap {
  struct Words {
    template <Word T>
    static T load(const T* p) {
      return SimMachine::load(p);
    }
    template <Word T>
    static void store(T* p, T value) {
      SimMachine::store(p, value);
    }
    static void promote(const void* /*p*/, size_t /*n*/) {}
  };

 public:
  template <class T>
  using Field = holdfast::Field<T, Words>;

  /// Makes this machine's memory the one that the functions below allocate, as long as the result
  /// lives.
  static ScopedValue<SimMachine*> enter(SimMachine& machine) { return {current_, &machine}; }

  template <class T, class... A>
  static T* make(A&&... args) {
    return new (allocate(sizeof(T))) T(std::forward<A>(args)...);
  }
  template <class T>
  static void destroy(T* object) {
    object->~T();
  }
  static void* allocate(size_t bytes) { return current_->allocate(bytes, kLineBytes); }
  static void deallocate(void* /*block*/, size_t /*bytes*/) {}

 private:
  // NOLINTNEXTLINE(readability-identifier-naming): a member
  static inline thread_local SimMachine* current_ = nullptr;
};

}  // namespace holdfast
