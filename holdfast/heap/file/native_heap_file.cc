// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/file/native_heap_file.h"

namespace holdfast {

template class HeapFile<NativeMachine>;

}  // namespace holdfast
