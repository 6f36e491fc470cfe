// SPDX-License-Identifier: Apache-2.0
//
// A heap that counts, for tests of a workload's footprint.
#pragma once

#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>

#include "holdfast/heap/plain_heap.h"
#include "holdfast/machine/machine.h"

namespace holdfast::testing {

/// A plain heap that counts the words which fields load and store, and the lines stored to. Use one
/// at a time.
class CountingHeap : public PlainHeap {
 public:
  template <class T>
  class Field {
   public:
    using value_type = T;

    Field() = default;
    Field(const T& value) { store(value); }  // NOLINT(google-explicit-constructor)
    Field& operator=(const T& value) {
      store(value);
      return *this;
    }
    T load() const {
      ++loads;
      return value_;
    }
    void store(const T& value) {
      ++stores;
      if (counts_lines) {
        lines.insert(reinterpret_cast<uintptr_t>(this) / kLineBytes);
      }
      value_ = value;
    }
    operator T() const { return load(); }  // NOLINT(google-explicit-constructor)
    T operator->() const
      requires std::is_pointer_v<T>
    {
      return load();
    }
    template <class U>
    Field& operator+=(const U& by) {
      return *this = static_cast<T>(load() + by);
    }
    template <class U>
    Field& operator-=(const U& by) {
      return *this = static_cast<T>(load() - by);
    }
    void promote() const {}

   private:
    T value_;
  };

  static void reset() {
    loads = stores = 0;
    lines.clear();
  }

  static inline uint64_t loads = 0;
  static inline uint64_t stores = 0;
  static inline std::set<uintptr_t> lines;  ///< that were stored to
  static inline bool counts_lines = true;
};

}  // namespace holdfast::testing
