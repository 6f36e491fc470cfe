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
struct alignas(kMaxLineBytes) Arena {
  ArenaClass<E> classes[kClasses];
};

/// The allocator's state for a partition, which shares nothing with others: a chunk whose blocks
/// begin in its lists belongs to it alone.
template <class E>
struct alignas(kMaxLineBytes) PartitionArena {
  Arena<E> arena;
  Field<FreeBlock<E>*, E> depot[kClasses];
};

enum class ChunkKind : uint64_t {
  free = 0,
  shared = 1,
  large = 2,
  free_run = 3,
  draining = 4,  // shared, without an allocated block; its blocks leave their lists
};

/// The beginning of a chunk, or of a run of chunks. From layout 2 on a map follows in a shared
/// chunk, with a bit for each 16 bytes of the chunk: set where an allocated block begins.
template <class E>
struct ChunkHeader {
  Field<uint64_t, E> kind;      // ChunkKind
  Field<uint64_t, E> detail;    // shared, draining: size class; large, free_run: chunks in the run
  Field<ChunkHeader*, E> next;  // free_run: next in the list
  Field<uint64_t, E> bytes;     // large: the block's requested size; draining: blocks that left
  // From layout 2 on:
  Field<ChunkHeader*, E> previous;  // free_run: previous in the list
  // Chunks of the free run that ends before this chunk. 0: none, or one that a transaction has
  // freed that names partitions.
  Field<uint64_t, E> free_before;

  /// The word of the map that has the bit of the block at `offset` in the chunk.
  Field<uint64_t, E>& map_word(size_t offset) {
    auto* words =
        reinterpret_cast<Field<uint64_t, E>*>(reinterpret_cast<std::byte*>(this) + kMapOffset);
    return words[offset / kBlockUnit / 64];
  }
  static uint64_t map_bit(size_t offset) { return uint64_t{1} << offset / kBlockUnit % 64; }
};

/// Three layouts exist. Heaps that were made before layout 2 keep layout 1: free runs are not
/// merged, and a block that is freed twice is not noticed. Layout 3 is layout 2 with kFineClasses.
inline constexpr uint64_t kLayoutMark1 = 0x31'4b'4c'42'44'48;  // "HDBLK1"
inline constexpr uint64_t kLayoutMark2 = 0x32'4b'4c'42'44'48;  // "HDBLK2"
inline constexpr uint64_t kLayoutMark3 = 0x33'4b'4c'42'44'48;  // "HDBLK3"

/// Sizes that depend on the layout.
struct ChunkShape {
  uint64_t mark;
  size_t chunk_bytes;

  bool has_maps() const { return mark != kLayoutMark1; }
  const ClassSizes& sizes() const { return mark == kLayoutMark3 ? kFineClasses : kLineClasses; }
  /// Returns the class for blocks of `bytes`, or kClasses if a block needs chunks of its own.
  size_t class_of(size_t bytes) const {
    const bool fine = mark == kLayoutMark3;
    const size_t found = holdfast::class_of(fine ? kFineTable : kLineTable, bytes);
    const bool shares =
        found < kClasses && share_chunks((fine ? kFineClasses : kLineClasses)[found], chunk_bytes,
                                         shared_header_bytes());
    return shares ? found : kClasses;
  }
  /// Bytes of a shared chunk before its first block.
  size_t shared_header_bytes() const {
    return has_maps() ? holdfast::shared_header_bytes(chunk_bytes) : kChunkHeaderBytes;
  }
  size_t blocks_per_chunk(size_t size_class) const {
    return (chunk_bytes - shared_header_bytes()) / sizes()[size_class];
  }
};

/// The first bytes of the data region. The arenas follow it, and then those of partitions.
template <class E>
struct DataHeader {
  Field<uint64_t, E> mark;
  Field<uint64_t, E> chunk_bytes;
  Field<uint64_t, E> arena_count;
  Root<E> roots[kRoots];
  Field<uint64_t, E> partitions;  // 0 in heaps that were made before partitions existed
  ChunkShape shape() const { return {mark, chunk_bytes}; }
  alignas(kMaxLineBytes) Field<uint64_t, E> limit;  // chunks that exist
  Field<uint64_t, E> top;  // chunks used so far; each chunk or run below it has a header
  Field<ChunkHeader<E>*, E> free_runs;
  // Null except during Compaction: a free run outside of the list; batches that have left their
  // depot to be looked at; the rest of a list of free blocks, or of a batch. The numbers are their
  // size class + kClasses * i, for any_depot(i).
  Field<ChunkHeader<E>*, E> parked;
  Field<FreeBlock<E>*, E> swept;
  Field<uint64_t, E> swept_class;
  Field<FreeBlock<E>*, E> rest;
  Field<uint64_t, E> rest_class;
  alignas(kMaxLineBytes) Field<FreeBlock<E>*, E> depot[kClasses];  // batches of free blocks

  Arena<E>* arenas() {
    return reinterpret_cast<Arena<E>*>(reinterpret_cast<std::byte*>(this) + sizeof(DataHeader));
  }
  PartitionArena<E>* partition_arenas() {
    return reinterpret_cast<PartitionArena<E>*>(arenas() + arena_count);
  }
  /// The arenas of threads, then those of partitions.
  Arena<E>& any_arena(size_t i) {
    const size_t threads = arena_count;
    return i < threads ? arenas()[i] : partition_arenas()[i - threads].arena;
  }
  /// The depot that threads share, then those of partitions.
  Field<FreeBlock<E>*, E>* any_depot(size_t i) {
    return i == 0 ? depot : partition_arenas()[i - 1].depot;
  }
  /// Returns the size of the header and its arenas.
  static size_t bytes(size_t arena_count, size_t partitions = 0) {
    return sizeof(DataHeader) + arena_count * sizeof(Arena<E>) +
           partitions * sizeof(PartitionArena<E>);
  }
  /// The chunks of the header and its arenas.
  uint64_t chunks() const {
    return (bytes(arena_count, partitions) + chunk_bytes - 1) / chunk_bytes;
  }
};

}  // namespace holdfast
