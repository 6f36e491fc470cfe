// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// A simulated machine that runs out of memory.
class MachineWithoutMemory : public SimMachine {
 public:
  void* allocate(size_t bytes, size_t alignment) {
    if (allowed == 0) {
      throw std::bad_alloc();
    }
    --allowed;
    return SimMachine::allocate(bytes, alignment);
  }

  int allowed = std::numeric_limits<int>::max();  ///< allocations from now on
};

}  // namespace holdfast
