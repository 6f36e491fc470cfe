// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::sim {

/// The operations of the simulated machine, as reports name them.
enum class Op : uint8_t {
  none,
  load,
  store,
  rmw,
  wait,
  pwb,
  pfence,
  psync,
  fence,
  begin,
  suspend,
  resume,
  commit,
  pause,
  work,
  now,
};
const char* to_string(Op op);

/// The latest operations of a thread, for the report of a Stuck.
class Trace {
 public:
  struct Step {
    Op op = Op::none;
    uintptr_t address = 0;
    uint64_t number = 0;
  };
  static constexpr size_t kKept = 8;

  void note(Op op, uintptr_t address, uint64_t number) {
    steps_[next_++ % kKept] = {address, number << 8 | static_cast<uint64_t>(op)};
  }
  /// The i-th oldest of the kept operations; Op::none if there were fewer.
  Step kept(size_t i) const {
    const Packed& step = steps_[(next_ + i) % kKept];
    return {static_cast<Op>(step.number_and_op & 0xff), step.address, step.number_and_op >> 8};
  }

 private:
  struct Packed {
    uintptr_t address;
    uint64_t number_and_op;
  };
  std::array<Packed, kKept> steps_{};
  size_t next_ = 0;
};

}  // namespace holdfast::sim
