// SPDX-License-Identifier: Apache-2.0
//
// A compare-exchange of 16 bytes: on both machines, but apart from the Machine concept, as one
// algorithm only (OneFile) is built on it.
#pragma once

#include <cstdint>

namespace holdfast {

class NativeMachine;
class SimMachine;

/// Within one line wherever it lies. Its words are loaded like any others, one by one.
struct alignas(16) DoubleWord {
  uint64_t first = 0;
  uint64_t second = 0;

  bool operator==(const DoubleWord&) const = default;
};

/// If `*at` is `expected` it becomes `desired`, both words at one instant, and no legal image after
/// a power failure has one of them without the other. Else `expected` becomes what is there.
///
/// A read-modify-write, and sequentially consistent, whether it succeeds or not. Where
/// rmw_orders_pwb() the thread's write-backs before it are complete before it stores. `at` is a
/// multiple of 16 (else Error(misuse)), in volatile or mapped memory. On the simulated machine not
/// with a hardware design (Error(unsupported)).
bool compare_exchange(NativeMachine& machine, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired);
bool compare_exchange(SimMachine& machine, DoubleWord* at, DoubleWord& expected,
                      const DoubleWord& desired);

/// What both tell who gives them an address that is no multiple of 16.
[[noreturn]] void throw_misaligned_double_word();

}  // namespace holdfast
