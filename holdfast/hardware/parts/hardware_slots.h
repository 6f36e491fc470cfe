// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast {

/// The number of thread slots that may run transactions: one for each hardware thread, and those of
/// the main and the background thread.
inline size_t hardware_slots(const MachineDescription& machine) {
  constexpr int kMainAndBackground = 2;
  return static_cast<size_t>(machine.hardware_threads() + kMainAndBackground);
}

}  // namespace holdfast
