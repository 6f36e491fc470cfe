// SPDX-License-Identifier: Apache-2.0
//
// The one header that an application includes. README.md has a complete program.
//
// It contains the default engine. A heap of another engine needs that engine's header, too, such as
// "holdfast/engines/fur/fur.h".
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"

namespace holdfast {

/// The default engine: the fastest one for mixed work on one to a few threads. Its transactions are
/// opaque, and durable when update() returns.
using DefaultEngine = RomulusLog<NativeMachine>;
using DefaultHeap = Heap<DefaultEngine>;

/// Opens the heap in the file `path`. Creates it if there is no such file, or if it is empty or its
/// creation was interrupted.
inline Result<std::unique_ptr<DefaultHeap>> open_or_create(const std::string& path,
                                                           const NativeOptions& native = {},
                                                           const CreateOptions& options = {}) {
  auto heap = DefaultHeap::open(path, {}, native);
  const Code code = heap.status().code();
  const bool missing =
      code == Code::not_found || (code == Code::wrong_format && is_unfinished_heap(path));
  return missing ? DefaultHeap::create(path, options, native) : std::move(heap);
}

}  // namespace holdfast
