// SPDX-License-Identifier: Apache-2.0
//
// The members of Heap that create and open a heap by the name of its file. Included by heap.h only.
#pragma once

#include <string>

#include "holdfast/heap/caught_at_start.h"
#include "holdfast/heap/file/inspect.h"

namespace holdfast {

template <class E>
template <class NativeOptions>
Result<std::unique_ptr<Heap<E>>> Heap<E>::create(const std::string& path,
                                                 const CreateOptions& options,
                                                 NativeOptions native) {
  if (options.max_threads < 1 || options.max_threads > kMaxThreads) {
    return Status(Code::invalid_argument,
                  "max_threads is from 1 to " + std::to_string(kMaxThreads));
  }
  try {
    if (Status status = empty_unfinished_heap(path); !status.ok()) {
      return status;
    }
    native.create = true;
    native.max_threads = options.max_threads;
    auto machine = Machine::open(path, native);
    if (!machine) {
      return machine.status();
    }
    auto heap = create(**machine, options);
    if (heap) {
      (*heap)->owned_ = std::move(*machine);
    } else {
      (*machine)->medium().remove_name();  // the file is not a heap
    }
    return heap;
  } catch (...) {
    return caught_at_start(path);
  }
}

template <class E>
template <class NativeOptions>
Result<std::unique_ptr<Heap<E>>> Heap<E>::open(const std::string& path, const OpenOptions& options,
                                               NativeOptions native) {
  native.create = false;
  if (native.max_threads < 0) {
    return Status(Code::invalid_argument,
                  "max_threads is from 1 to " + std::to_string(kMaxThreads));
  }
  try {
    if (auto info = inspect_heap_file(path)) {
      const auto recorded =
          static_cast<int>(info->superblock.slots) - 1;  // one is the machine's own
      const bool raise = native.max_threads > recorded && !native.read_only;
      if (raise && native.max_threads <= kMaxThreads && !info->superblock.clean) {
        NativeOptions first = native;  // recovers the logs, which are laid out for this number
        first.max_threads = recorded;
        if (auto heap = open(path, options, first); !heap) {
          return heap;
        } else if (Status status = (*heap)->close(); !status.ok()) {
          return status;
        }
      }
      native.max_threads = raise ? native.max_threads : recorded;
    }
    auto machine = Machine::open(path, native);
    if (!machine) {
      return machine.status();
    }
    auto heap = open(**machine, options);
    if (heap) {
      (*heap)->owned_ = std::move(*machine);
    }
    return heap;
  } catch (...) {
    return caught_at_start(path);
  }
}

}  // namespace holdfast
