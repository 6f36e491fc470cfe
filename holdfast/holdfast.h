// SPDX-License-Identifier: Apache-2.0
//
// The one header that an application includes. README.md has a complete program.
//
// It contains the default engine. A heap of another engine needs that engine's header, too, such as
// "holdfast/engines/fur/fur.h".
#pragma once

#include <memory>
#include <string>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast {

/// The default engine: the fastest one for mixed work on one to a few threads. Its transactions are
/// opaque, and durable when update() returns.
using DefaultEngine = RomulusLog<NativeMachine>;
using DefaultHeap = Heap<DefaultEngine>;

/// Opens the heap in the file `path`, or creates it if there is no such file.
inline Result<std::unique_ptr<DefaultHeap>> open_or_create(const std::string& path,
                                                           const NativeOptions& native = {},
                                                           const CreateOptions& options = {}) {
  auto heap = DefaultHeap::open(path, {}, native);
  if (heap || heap.status().code() != Code::not_found) {
    return heap;
  }
  return DefaultHeap::create(path, options, native);
}

}  // namespace holdfast
