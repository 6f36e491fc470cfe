// SPDX-License-Identifier: Apache-2.0
//
// What stands at the start of a heap's data region: roots and the allocator's metadata. All of it
// is made of Fields, so it is changed by transactions and rolled back with them; nothing leaks at a
// crash.
#pragma once

#include <array>
#include <cstdint>

#include "holdfast/heap/field.h"
#include "holdfast/heap/size_classes.h"

namespace holdfast {

inline constexpr size_t kRoots = 32;
using RootText = std::array<char, 48>;  // padded with zeros

template <class E>
struct Root {
  Field<RootText, E> name;  // all zero: free
  Field<RootText, E> type;
  Field<std::byte*, E> object;
  Field<uint64_t, E> bytes;
  Field<uint64_t, E> version;
};

/// A free block, linked through its own first bytes.
template <class E>
struct FreeBlock {
  Field<FreeBlock*, E> next;
  Field<FreeBlock*, E>
      next_batch;  // only in the first block of a batch; the smallest block holds both
};

/// One size class of one arena. Blocks come from `active`, then from `reserve` (a full batch kept
/// to avoid ping-pong with the depot), then from the depot, then from fresh space.
template <class E>
struct ArenaClass {
  Field<FreeBlock<E>*, E> active;
  Field<uint64_t, E> active_count;
  Field<FreeBlock<E>*, E> reserve;  // a batch of exactly kBatch blocks, or null
  Field<std::byte*, E> fresh;       // space of the current chunk not yet handed out
  Field<std::byte*, E> fresh_end;
};

/// Threads use arena (slot % arenas), each on lines of its own, so that transactions of different
/// threads that allocate do not conflict.
template <class E>
struct alignas(2 * kLineBytes) Arena {
  ArenaClass<E> classes[kClasses];
};

enum class ChunkKind : uint64_t { free = 0, shared = 1, large = 2, free_run = 3 };

/// First line of a chunk, or of a run of chunks.
template <class E>
struct ChunkHeader {
  Field<uint64_t, E> kind;      // ChunkKind
  Field<uint64_t, E> detail;    // shared: size class; large, free_run: chunks in the run
  Field<ChunkHeader*, E> next;  // free_run: next in the list
  Field<uint64_t, E> bytes;     // large: bytes asked for
};
static_assert(sizeof(uint64_t) * 4 <= kChunkHeaderBytes);

inline constexpr uint64_t kLayoutMark = 0x31'4b'4c'42'44'48;  // "HDBLK1"

template <class E>
struct DataHeader {
  Field<uint64_t, E> mark;
  Field<uint64_t, E> chunk_bytes;
  Field<uint64_t, E> arena_count;
  Root<E> roots[kRoots];
  alignas(2 * kLineBytes) Field<uint64_t, E> limit;  // chunks that exist
  Field<uint64_t, E> top;  // chunks handed out so far; all below have a header
  Field<ChunkHeader<E>*, E> free_runs;
  alignas(2 * kLineBytes) Field<FreeBlock<E>*, E> depot[kClasses];  // batches of free blocks

  Arena<E>* arenas() {
    return reinterpret_cast<Arena<E>*>(reinterpret_cast<std::byte*>(this) + sizeof(DataHeader));
  }
  /// Bytes of the header with its arenas.
  static size_t bytes(size_t arena_count) {
    return sizeof(DataHeader) + arena_count * sizeof(Arena<E>);
  }
};

}  // namespace holdfast
