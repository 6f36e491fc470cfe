// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a heap's data region: roots and the allocator's metadata. All of it is Fields,
// so transactions change it and roll it back, and a crash leaks nothing.
#pragma once

#include <array>
#include <cstdint>

#include "holdfast/heap/field.h"
#include "holdfast/heap/file/size_classes.h"

namespace holdfast {

inline constexpr size_t kRoots = 32;
using RootText = std::array<char, 48>;  // padded with zeros

/// A named root: a pointer to an object, with the object's type.
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
  // Only in the first block of a batch. The smallest block holds both fields.
  Field<FreeBlock*, E> next_batch;
};

/// One size class of one arena. An allocation takes a block from `active`, else from `reserve`,
/// else from the depot, else from fresh space. `reserve` is a full batch. It keeps alternating
/// allocations and frees from moving batches to and from the depot.
template <class E>
struct ArenaClass {
  Field<FreeBlock<E>*, E> active;
  Field<uint64_t, E> active_count;
  Field<FreeBlock<E>*, E> reserve;  // a batch of exactly kBatch blocks, or null
  Field<std::byte*, E> fresh;       // space of the current chunk not yet handed out
  Field<std::byte*, E> fresh_end;
};

/// The allocator's state for the threads whose slot modulo the number of arenas is this arena's
/// index. Each arena has cache lines of its own, so that allocations of different threads do not
/// conflict.
template <class E>
struct alignas(2 * kLineBytes) Arena {
  ArenaClass<E> classes[kClasses];
};

enum class ChunkKind : uint64_t { free = 0, shared = 1, large = 2, free_run = 3 };

/// The first line of a chunk, or of a run of chunks.
template <class E>
struct ChunkHeader {
  Field<uint64_t, E> kind;      // ChunkKind
  Field<uint64_t, E> detail;    // shared: size class; large, free_run: chunks in the run
  Field<ChunkHeader*, E> next;  // free_run: next in the list
  Field<uint64_t, E> bytes;     // large: the block's requested size
};
static_assert(sizeof(uint64_t) * 4 <= kChunkHeaderBytes);

inline constexpr uint64_t kLayoutMark = 0x31'4b'4c'42'44'48;  // "HDBLK1"

/// The first bytes of the data region. The arenas follow it.
template <class E>
struct DataHeader {
  Field<uint64_t, E> mark;
  Field<uint64_t, E> chunk_bytes;
  Field<uint64_t, E> arena_count;
  Root<E> roots[kRoots];
  alignas(2 * kLineBytes) Field<uint64_t, E> limit;  // chunks that exist
  Field<uint64_t, E> top;  // chunks used so far; each chunk or run below it has a header
  Field<ChunkHeader<E>*, E> free_runs;
  alignas(2 * kLineBytes) Field<FreeBlock<E>*, E> depot[kClasses];  // batches of free blocks

  Arena<E>* arenas() {
    return reinterpret_cast<Arena<E>*>(reinterpret_cast<std::byte*>(this) + sizeof(DataHeader));
  }
  /// Returns the size of the header and its arenas.
  static size_t bytes(size_t arena_count) {
    return sizeof(DataHeader) + arena_count * sizeof(Arena<E>);
  }
};

}  // namespace holdfast
