// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "holdfast/base/bytes.h"

namespace holdfast {

/// A shared word of the simulated machine, in memory from allocate(). Contract: MemoryOps in
/// machine.h.
///
/// Memory orders. Under total store order every load is an acquire and every store a release. A
/// sequentially consistent store and every read-modify-write also empty the thread's store buffer.
/// So the functions ignore all other orders.
template <Word T>
class SimAtomic {
 public:
  SimAtomic() = default;
  /// Sets the initial value, before another thread can see the word.
  SimAtomic(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  T load(std::memory_order = std::memory_order_seq_cst) const {
    return sim::from_bits<T>(memory().load(address(), sizeof(T)));
  }

  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    memory().store(address(), sizeof(T), sim::to_bits(value));
    if (order == std::memory_order_seq_cst) {
      memory().store_load_fence();
    }
  }

  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return modify([&](uint64_t, uint64_t& fresh) {
      fresh = sim::to_bits(value);
      return true;
    });
  }

  bool compare_exchange(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                        std::memory_order = std::memory_order_seq_cst) {
    const uint64_t wanted = sim::to_bits(expected);
    bool same = false;
    const T found = modify([&](uint64_t old, uint64_t& fresh) {
      fresh = sim::to_bits(desired);
      return same = old == wanted;
    });
    expected = found;
    return same;
  }

  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst)
    requires std::is_integral_v<T>
  {
    return modify([&](uint64_t old, uint64_t& fresh) {
      fresh = sim::to_bits(static_cast<T>(sim::from_bits<T>(old) + by));
      return true;
    });
  }

 private:
  friend class SimMachine;

  static sim::MemorySystem& memory() { return SimMachine::memory(); }
  uintptr_t address() const { return sim::MemorySystem::checked(bytes_at(&value_)); }
  template <class F>
  T modify(F&& f) {
    return sim::from_bits<T>(memory().read_modify_write(address(), sizeof(T), f));
  }

  alignas(sizeof(T)) T value_{};
};

template <Word T>
T SimMachine::wait_while(const SimAtomic<T>& word, std::type_identity_t<T> old) {
  for (bool waited = false;; waited = true) {
    const T value = word.load();
    if (waited) {
      memory().await_loads();  // no processor predicts the end of a wait, so the line must arrive
    }
    if (sim::to_bits(value) != sim::to_bits(old) ||
        !wait_for_change(word.address(), sizeof(T), sim::to_bits(old))) {
      return value;
    }
  }
}

}  // namespace holdfast
