// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>

namespace holdfast {

/// A shared volatile word on the native machine: a std::atomic that offers only the operations
/// which both machines have. Contract: MemoryOps in machine.h.
template <class T>
class NativeAtomic {
 public:
  constexpr NativeAtomic(T value = T()) : value_(value) {}  // NOLINT(google-explicit-constructor)
  NativeAtomic(const NativeAtomic&) = delete;
  NativeAtomic& operator=(const NativeAtomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const { return value_.load(order); }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return value_.exchange(value, order);
  }
  /// Strong: it fails only if the value differs. `expected` then holds the value found.
  bool compare_exchange(T& expected, T desired,
                        std::memory_order order = std::memory_order_seq_cst) {
    return value_.compare_exchange_strong(expected, desired, order);
  }
  T fetch_add(T by, std::memory_order order = std::memory_order_seq_cst)
    requires std::integral<T>
  {
    return value_.fetch_add(by, order);
  }

 private:
  std::atomic<T> value_;
};

}  // namespace holdfast
