// SPDX-License-Identifier: Apache-2.0
//
// Options for creating and opening a heap.
#pragma once

#include <optional>
#include <string>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// The properties of a new heap. The heap file records them, run_options excepted.
struct CreateOptions {
  std::string engine;         ///< may be empty if the heap's type fixes the engine
  Options options;            ///< the engine's options
  Options run_options;        ///< further ones, which hold until the heap is closed; none that
                              ///< lays out the file differently
  size_t bytes = 16 << 20;    ///< initial size of the data region; rounded up to pages
  size_t max_bytes = 0;       ///< limit of growth; reserves so much address space. 0: 1 TiB, or
                              ///< as much as the process has room for
  size_t growth = 0;          ///< the heap grows by a sixteenth, from 1 GiB on by an eighth, and at
                              ///< least by this
  std::byte* base = nullptr;  ///< address of the data region; null: the heap chooses one
  int max_threads = 64;       ///< threads that may use the heap at the same time, 1 to 256
  size_t chunk_bytes = 0;     ///< allocator's unit, a power of two from 1 to 64 KiB; 0: by size
  /// The most that a journal in the file takes, at least 64 KiB; rounded up to pages. It begins
  /// with 128 KiB, and grows with the file. Only natively and in domain `file`, where it makes
  /// fences cheaper, and not with each engine. 0: no journal. Not set: kDefaultJournalBytes if the
  /// heap is in domain `file`, its file system is not in memory, and the engine runs over a
  /// journal and does not rewrite the heap (Description::rewrites_heap); else none.
  std::optional<size_t> journal_bytes = {};

  /// The number of thread slots with logs and arenas, at least the machine's own number and at most
  /// kMostThreadSlots. 0: the machine's number. `content` from a heap with more slots needs as
  /// many.
  int slots = 0;

  /// The number of partitions that transactions can name, 0 to Partitions::kMost. `content` has the
  /// number of its own heap, which must be given here.
  int partitions = 0;

  /// Gives the allocator more size classes below 256 bytes. Small blocks then waste less room, but
  /// those whose size is no multiple of 64 share cache lines. Needs chunk_bytes of at most 16 KiB.
  /// `content` has the classes of its own heap, which must be asked for here.
  bool fine_classes = false;

  /// Initial content of the data region: a whole data region of another heap with the same base and
  /// chunk_bytes. `holdfast convert` uses it. Null: an empty heap.
  const std::byte* content = nullptr;
  size_t content_bytes = 0;
};

/// How an existing heap is opened.
struct OpenOptions {
  std::string engine;  ///< must be the file's engine, or empty
  /// Run-time options. Those recorded at creation take precedence. One that would lay out the file
  /// differently is refused.
  Options options;
  /// Limit of growth. A limit above the recorded one is recorded. 0: the recorded one.
  size_t max_bytes = 0;
};

}  // namespace holdfast
