// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "holdfast/base/status.h"

namespace holdfast {

/// A set of partitions of a heap. A partition is a part of the data that transactions of different
/// threads use independently of other parts: the objects that transactions naming the partition
/// have made. A transaction that names none may use everything.
///
///   heap.update({2}, [&] { ... });       // uses objects of partition 2 only
///   heap.update({0, 3}, [&] { ... });    // moves something from one partition to another
///
/// Thread safety: a value.
class Partitions {
 public:
  /// The most partitions that a heap can have.
  static constexpr int kMost = 64;

  static constexpr Partitions all() { return Partitions(~uint64_t{0}); }
  /// No partition: a transaction that uses the heap's own metadata only. For Heap.
  static constexpr Partitions none() { return Partitions(uint64_t{0}); }

  /// Throws Error(misuse) for a number outside of 0 to kMost - 1.
  Partitions(std::initializer_list<int> numbers) {
    for (const int number : numbers) {
      if (number < 0 || number >= kMost) {
        throw Error(Status(Code::misuse, "partition " + std::to_string(number) +
                                             " does not exist; partitions are 0 to " +
                                             std::to_string(kMost - 1)));
      }
      bits_ |= uint64_t{1} << number;
    }
  }

  bool is_all() const { return bits_ == ~uint64_t{0}; }
  bool is_none() const { return bits_ == 0; }
  bool covers(Partitions others) const { return (others.bits_ & ~bits_) == 0; }
  /// The lowest number; kMost for none.
  int first() const { return std::countr_zero(bits_); }
  /// One more than the highest number; 0 for none.
  int end() const { return kMost - std::countl_zero(bits_); }

  /// Calls f(number) for each partition below `end`, in ascending order.
  template <class F>
  void for_each_below(int end, F&& f) const {
    for (uint64_t rest = bits_; rest != 0; rest &= rest - 1) {
      const int number = std::countr_zero(rest);
      if (number >= end) {
        return;
      }
      f(number);
    }
  }

  friend bool operator==(const Partitions&, const Partitions&) = default;

 private:
  explicit constexpr Partitions(uint64_t bits) : bits_(bits) {}

  uint64_t bits_ = 0;
};

}  // namespace holdfast
