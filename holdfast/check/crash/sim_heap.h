// SPDX-License-Identifier: Apache-2.0
//
// The heap that the crash explorer works on.
#pragma once

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// A heap on the simulated machine, with an engine that is chosen by name.
using SimHeap = Heap<AnyEngine<SimMachine>>;

}  // namespace holdfast
