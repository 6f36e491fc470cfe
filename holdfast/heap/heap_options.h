// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Decided when a heap is created, and recorded in it.
struct CreateOptions {
  std::string engine;             ///< may be empty where the heap type already fixes it
  Options options;                ///< the engine's
  size_t bytes = 16 << 20;        ///< data bytes at first; rounded up to pages
  size_t max_bytes = 8ULL << 30;  ///< address space reserved: the heap can grow to this
  size_t growth = 0;              ///< the heap grows by multiples of this; 0: as `bytes`
  std::byte* base = nullptr;      ///< address of the data region; null: a free one is chosen
  int max_threads = 64;           ///< threads that may use the heap at the same time, 1 to 256
  size_t chunk_bytes = 0;         ///< allocator's unit, a power of two from 1 to 64 KiB; 0: by size

  /// Thread slots the layout has logs and arenas for; at least the machine's own number, which is
  /// what 0 stands for. Content from a heap with more slots needs as many.
  int slots = 0;

  /// Content for the data region instead of an empty one: a whole data region of another heap with
  /// the same base and chunk_bytes. What `convert` uses.
  const std::byte* content = nullptr;
  size_t content_bytes = 0;
};

struct OpenOptions {
  std::string engine;  ///< must match the file unless empty
  Options options;     ///< run-time options; those recorded at creation win
};

}  // namespace holdfast
