// SPDX-License-Identifier: Apache-2.0
//
// A compare-exchange of 16 bytes. Both machines have it, but the Machine concept does not require
// it, because only one algorithm (OneFile) is built on it.
#pragma once

#include <cstdint>

namespace holdfast {

class NativeMachine;
class SimMachine;

/// Two words that one compare-exchange changes together. Its alignment keeps it within one line.
/// Loads read its words one by one, as any other words.
struct alignas(16) DoubleWord {
  uint64_t first = 0;
  uint64_t second = 0;

  bool operator==(const DoubleWord&) const = default;
};

/// Stores `desired` to `*at` if `*at` equals `expected`; otherwise sets `expected` to the value
/// found. Returns whether it stored. Both words change at one instant, and after a power failure no
/// legal image has one new word without the other.
///
/// It is a sequentially consistent read-modify-write, whether it stores or not. If
/// machine.rmw_orders_pwb(), the thread's earlier write-backs are complete before it stores.
///
/// Thread safety: any thread, on volatile or mapped memory. Errors: Error(misuse) if the address is
/// not a multiple of 16; Error(unsupported) on a simulated machine with a hardware design. Cost:
/// natively one locked instruction (a loop of exclusive accesses on AArch64 and POWER).
bool compare_exchange(NativeMachine& machine, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired);
bool compare_exchange(SimMachine& machine, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired);

/// Throws the Error(misuse) for an address that is not a multiple of 16.
[[noreturn]] void throw_misaligned_double_word();

}  // namespace holdfast
