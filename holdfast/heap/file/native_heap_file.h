// SPDX-License-Identifier: Apache-2.0
//
// HeapFile on the native machine. It depends on no engine, so it is compiled once.
#pragma once

#include "holdfast/heap/file/heap_file.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast {

extern template class HeapFile<NativeMachine>;

}  // namespace holdfast
