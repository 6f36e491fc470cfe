// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::sim {

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

/// The last few operations of a thread, for the report when nothing moves any more.
class Trace {
 public:
  struct Step {
    Op op = Op::none;
    uintptr_t address = 0;
    uint64_t number = 0;
  };
  static constexpr size_t kKept = 8;

  void note(Op op, uintptr_t address, uint64_t number) {
    steps_[next_++ % kKept] = {op, address, number};
  }
  /// The i-th oldest of the kept operations; Op::none when there were fewer.
  const Step& kept(size_t i) const { return steps_[(next_ + i) % kKept]; }

 private:
  std::array<Step, kKept> steps_{};
  size_t next_ = 0;
};

}  // namespace holdfast::sim
