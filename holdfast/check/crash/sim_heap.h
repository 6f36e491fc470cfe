// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// A heap on the simulated machine, its engine chosen by name.
using SimHeap = Heap<AnyEngine<SimMachine>>;

}  // namespace holdfast
