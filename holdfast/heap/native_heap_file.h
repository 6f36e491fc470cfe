// SPDX-License-Identifier: Apache-2.0
//
// The file side of heaps on this computer, compiled once: it depends on no engine.
#pragma once

#include "holdfast/heap/heap_file.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast {

extern template class HeapFile<NativeMachine>;

}  // namespace holdfast
