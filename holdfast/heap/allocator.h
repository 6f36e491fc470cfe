// SPDX-License-Identifier: Apache-2.0
//
// The allocator of a heap's data region.
#pragma once

#include <array>
#include <bit>
#include <exception>

#include "holdfast/heap/heap_bounds.h"
#include "holdfast/heap/layout.h"

namespace holdfast {

/// The exception that leaves a transaction body when the heap must grow. The heap grows, then runs
/// the body again.
struct GrowthNeeded {
  size_t bytes;  ///< total size of the data region that the body needs
};

template <class E>
class Compaction;

/// Allocates and frees blocks. It is sequential code over Fields that runs inside the caller's
/// transaction, so a rollback undoes its work, too.
///
/// Cost: a few field stores per call, and no search for a block that shares a chunk. A size class
/// keeps its chunks until Compaction, which a full heap does by itself. Threads reuse freed blocks
/// within the class, and pass them on through the depot in batches. Neighbouring free runs are
/// merged, and a run at the end goes back to the chunks that were never used.
///
/// Partitions. A transaction that names partitions uses the arena and the depot of the first one.
/// So its chunks have blocks of that partition only, and no line that it stores to is one of
/// another partition, except metadata. It does not merge free runs, because the chunks beside them
/// may belong to other partitions. So it takes only runs that the chunk behind does not know of.
///
/// Errors: misuse for a block that is not allocated with this size, such as one that is freed
/// twice; corrupt if the metadata contradicts itself. Both leave the lists unchanged.
///
/// Thread safety: the transaction's isolation. Snapshot isolation needs no promotion, because a
/// transaction that changes a list stores to the fields that other changes of it read. A push and a
/// pop both store to the list's head. Unlinking a run from the middle stores to the run's own link.
template <class E>
class Allocator {
  using Chunk = ChunkHeader<E>;

 public:
  static constexpr uint64_t kBatch = 64;

  /// Formats an empty heap of layout 2 or 3. Inside an update transaction.
  static void format(std::byte* data, uint64_t mark, size_t chunk_bytes, size_t arenas,
                     size_t partitions, size_t limit_bytes) {
    auto* h = new (data) DataHeader<E>;
    h->chunk_bytes = chunk_bytes;
    h->arena_count = arenas;
    h->partitions = partitions;
    h->limit = limit_bytes / chunk_bytes;
    h->top = h->chunks();
    h->mark = mark;  // the rest of a new heap's data is zero: all lists are empty
  }

  explicit Allocator(std::byte* data, Partitions partitions = Partitions::all())
      : data_(data),
        header_(reinterpret_cast<DataHeader<E>*>(data)),
        shape_(header_->shape()),
        chunk_(shape_.chunk_bytes),
        chunk_shift_(std::countr_zero(chunk_)),
        partition_(partitions.is_all() ? nullptr
                                       : header_->partition_arenas() + partitions.first()) {}

  /// Returns a block of at least `bytes` bytes. Throws GrowthNeeded if there is no room.
  void* allocate(size_t bytes, int slot) {
    const size_t size_class = shape_.class_of(bytes);
    if (size_class == kClasses) {
      void* block = allocate_large(bytes);
      E::fresh(block, bytes);
      return block;
    }
    ArenaClass<E>& a = arena_class(size_class, slot);
    if (void* block = allocate_listed(a, size_class)) {
      mark_allocated(block);
      // After a rollback the block is in its list again, so its links must be restored. Only the
      // bytes behind them are fresh.
      if (bytes > sizeof(FreeBlock<E>)) {
        E::fresh(static_cast<std::byte*>(block) + sizeof(FreeBlock<E>),
                 bytes - sizeof(FreeBlock<E>));
      }
      return block;
    }
    void* block = allocate_fresh(a, size_class);
    E::fresh(block, bytes);
    return block;
  }

  /// Frees a block and allocates one of `wanted` bytes. If both have the same class, it is the same
  /// block, and nothing changes but its owner.
  void* exchange(void* block, size_t bytes, size_t wanted, int slot) {
    const size_t size_class = shape_.class_of(bytes);
    if (size_class == kClasses || size_class != shape_.class_of(wanted) || partition_ != nullptr) {
      deallocate(block, bytes, slot);
      return allocate(wanted, slot);
    }
    // The block is not fresh: a rollback must restore its content for its present owner.
    check_owned(block, ChunkKind::shared, size_class);
    check_allocated(block);
    return block;
  }

  void deallocate(void* block, size_t bytes, int slot) {
    const size_t size_class = shape_.class_of(bytes);
    if (size_class < kClasses) {
      check_owned(block, ChunkKind::shared, size_class);
      mark_free(block);
      released(block, bytes);
      free_shared(static_cast<FreeBlock<E>*>(block), size_class, slot);
    } else {
      check_owned(block, ChunkKind::large, run_chunks(bytes));
      if (offset_in_chunk(block) != kChunkHeaderBytes) {
        refuse_block();
      }
      released(block, bytes);
      free_run(reinterpret_cast<Chunk*>(static_cast<std::byte*>(block) - kChunkHeaderBytes));
    }
  }

 private:
  /// Names the engine as a heap does, for HeapBounds.
  struct Owner {
    using Engine = E;
    using Machine = typename E::Machine;
  };

  /// The transaction does not commit even if its body swallows the exception, because the body may
  /// have left an operation half done.
  [[noreturn]] static void throw_growth_needed(size_t bytes) {
    auto* const context = static_cast<Context*>(E::Machine::context());
    context->fail(std::make_exception_ptr(GrowthNeeded{bytes}));
    throw GrowthNeeded{bytes};
  }

  static void released(void* block, size_t bytes) {
    if constexpr (requires { E::released(block, bytes); }) {
      E::released(block, bytes);
    }
  }

  ArenaClass<E>& arena_class(size_t size_class, int slot) {
    if (partition_ != nullptr) {
      return partition_->arena.classes[size_class];
    }
    const size_t arenas = header_->arena_count;
    return header_->arenas()[static_cast<size_t>(slot) % arenas].classes[size_class];
  }

  /// The depot is metadata, unless it belongs to a partition.
  Field<FreeBlock<E>*, E>& depot_of(size_t size_class) {
    if (partition_ != nullptr) {
      return partition_->depot[size_class];
    }
    use_metadata<E>();
    return header_->depot[size_class];
  }

  static constexpr const char* kRunLength = "the length of a run of chunks";

  /// In a transaction. Throws Error unless the header lies in the heap, which may be damaged.
  Chunk* checked(Chunk* run) { return HeapBounds<Owner>().check(run); }
  Chunk* chunk_at(uint64_t index) {
    return reinterpret_cast<Chunk*>(data_ + (index << chunk_shift_));
  }
  uint64_t index_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - data_) >> chunk_shift_;
  }
  size_t offset_in_chunk(const void* block) const {
    return static_cast<size_t>(static_cast<const std::byte*>(block) - data_) & (chunk_ - 1);
  }

  /// Returns a block that was freed before, or null. It drops a few draining blocks at most: a
  /// transaction with all of them might not fit into a log.
  void* allocate_listed(ArenaClass<E>& a, size_t size_class) {
    for (int draining = 0; draining < 4; ++draining) {
      FreeBlock<E>* block = pop(a, size_class);
      if (block == nullptr || !is_draining(block)) {
        return block;
      }
      Chunk* chunk = chunk_at(index_of(block));
      chunk->bytes = chunk->bytes + 1;
    }
    return nullptr;
  }

  FreeBlock<E>* pop(ArenaClass<E>& a, size_t size_class) {
    FreeBlock<E>* block = a.active;
    uint64_t count = kBatch;
    if (block != nullptr) {
      count = a.active_count;
    } else if (FreeBlock<E>* reserve = a.reserve) {
      block = reserve;
      a.reserve = nullptr;
    } else {
      block = take_batch(size_class);
      if (block == nullptr) {
        return nullptr;
      }
    }
    check_listed(block);
    a.active = block->next.load();
    a.active_count = count - 1;
    return block;
  }

  FreeBlock<E>* take_batch(size_t size_class) {
    Field<FreeBlock<E>*, E>& depot = depot_of(size_class);
    FreeBlock<E>* const batch = depot;
    if (batch != nullptr) {
      depot = HeapBounds<Owner>().check(batch)->next_batch.load();
    }
    return batch;
  }

  /// Returns whether the block is to leave the lists, and to be counted in its chunk.
  bool is_draining(const FreeBlock<E>* block) {
    return shape_.has_maps() &&
           chunk_at(index_of(block))->kind == static_cast<uint64_t>(ChunkKind::draining);
  }

  void* allocate_fresh(ArenaClass<E>& a, size_t size_class) {
    std::byte* block = a.fresh;
    const size_t bytes = shape_.sizes()[size_class];
    if (block == nullptr || block + bytes > a.fresh_end.load()) {
      Chunk* header = take_chunks(1);
      header->detail = size_class;
      header->kind = static_cast<uint64_t>(ChunkKind::shared);
      auto* begin = reinterpret_cast<std::byte*>(header);
      if (shape_.has_maps()) {
        clear_map(begin);
      }
      block = begin + shape_.shared_header_bytes();
      a.fresh_end = begin + chunk_;
    }
    HeapBounds<Owner>().check(block, bytes);
    a.fresh = block + bytes;
    mark_allocated(block);
    return block;
  }

  /// The chunk may have held other blocks before.
  void clear_map(std::byte* chunk) {
    static constexpr std::array<std::byte, holdfast::shared_header_bytes(kMaxChunkBytes)> kZeros{};
    E::store_range(chunk + kMapOffset, kZeros.data(), shape_.shared_header_bytes() - kMapOffset);
  }

  /// Both change the block's bit in the map, which must have the other value.
  void mark_allocated(void* block) {
    if (shape_.has_maps()) {
      Field<uint64_t, E>& word = map_word(block);
      const uint64_t bit = Chunk::map_bit(offset_in_chunk(block));
      const uint64_t bits = word;
      if ((bits & bit) != 0) {
        refuse_list();
      }
      word = bits | bit;
    }
  }
  void mark_free(void* block) {
    if (shape_.has_maps()) {
      const uint64_t bits = check_allocated(block);
      map_word(block) = bits & ~Chunk::map_bit(offset_in_chunk(block));
    }
  }
  /// Returns the word of the map that has the block's bit.
  uint64_t check_allocated(void* block) {
    if (!shape_.has_maps()) {
      return 0;
    }
    const uint64_t bits = map_word(block);
    if ((bits & Chunk::map_bit(offset_in_chunk(block))) == 0) {
      refuse_block();
    }
    return bits;
  }
  Field<uint64_t, E>& map_word(void* block) {
    return chunk_at(index_of(block))->map_word(offset_in_chunk(block));
  }

  void free_shared(FreeBlock<E>* block, size_t size_class, int slot) {
    ArenaClass<E>& a = arena_class(size_class, slot);
    const uint64_t count = a.active_count;
    if (count == kBatch) {
      FreeBlock<E>* full = a.active;
      if (FreeBlock<E>* reserve = a.reserve) {
        Field<FreeBlock<E>*, E>& depot = depot_of(size_class);
        HeapBounds<Owner>().check(reserve)->next_batch = depot.load();
        depot = reserve;
      }
      a.reserve = full;
      block->next = nullptr;
      a.active_count = 1;
    } else {
      block->next = a.active.load();
      a.active_count = count + 1;
    }
    a.active = block;
  }

  size_t run_chunks(size_t bytes) const {
    return (bytes + kChunkHeaderBytes + chunk_ - 1) / chunk_;
  }

  void* allocate_large(size_t bytes) {
    if (bytes > size_t{1} << 46) {
      throw_growth_needed(size_t{1} << 62);  // no heap has it; sums with sizes of logs fit size_t
    }
    const size_t chunks = run_chunks(bytes);
    Chunk* header = take_chunks(chunks);
    header->detail = chunks;
    header->bytes = bytes;
    header->kind = static_cast<uint64_t>(ChunkKind::large);
    return reinterpret_cast<std::byte*>(header) + kChunkHeaderBytes;
  }

  /// Returns a run of n chunks: the first free run that is long enough, or new chunks at the top.
  Chunk* take_chunks(size_t n) {
    use_metadata<E>();
    const HeapBounds<Owner> bounds;
    CycleCheck cycle;
    for (Chunk* run = header_->free_runs; run != nullptr; run = run->next) {
      cycle.arrive(bounds.check(run));
      const size_t length = run->detail;
      if (length >= n && (partition_ == nullptr || !known_behind(run, length))) {
        unlink(run);
        if (length > n) {
          link(chunk_at(index_of(run) + n), length - n);
        }
        return run;
      }
    }
    const uint64_t top = header_->top;
    if (top + n > header_->limit) {
      throw_growth_needed((top + n) * chunk_);
    }
    header_->top = top + n;
    Chunk* run = chunk_at(top);
    if (shape_.has_maps()) {
      run->free_before = 0;
    }
    return run;
  }

  /// Returns whether the chunk behind a free run knows of it.
  bool known_behind(Chunk* run, uint64_t length) {
    const uint64_t end = index_of(run) + length;
    return shape_.has_maps() && end < header_->top && chunk_at(end)->free_before != 0;
  }

  /// Frees a run of chunks. Layout 2: merges it with the free runs beside it.
  void free_run(Chunk* run) {
    use_metadata<E>();
    uint64_t length = length_of(run);
    run->kind = static_cast<uint64_t>(ChunkKind::free);  // so that a second free finds no block
    if (shape_.has_maps() && partition_ == nullptr) {
      if (const uint64_t before = run->free_before; before != 0) {
        if (before > index_of(run)) [[unlikely]] {
          throw_damaged(kRunLength);
        }
        run = chunk_at(index_of(run) - before);
        length += before;
        unlink(run);
      }
      const uint64_t end = index_of(run) + length;
      if (end == header_->top) {
        // Conflicts under snapshot isolation with a transaction that links a run before this one.
        header_->free_runs.promote();
        header_->top = index_of(run);
        return;
      }
      Chunk* after = chunk_at(end);
      if (after->kind == static_cast<uint64_t>(ChunkKind::free_run)) {
        length += length_of(after);
        unlink(after);
      }
    }
    link(run, length);
  }

  /// In a transaction. The number of chunks in the run that begins with this one. Throws Error for
  /// a damaged number, which would lead out of the heap or send a walk round in circles.
  uint64_t length_of(Chunk* run) {
    const uint64_t length = run->detail;
    const uint64_t index = index_of(run);
    const uint64_t top = header_->top;
    if (length == 0 || index >= top || length > top - index) [[unlikely]] {
      throw_damaged(kRunLength);
    }
    return length;
  }

  /// Adds a free run to the list.
  void link(Chunk* run, uint64_t length) {
    Chunk* first = header_->free_runs;
    run->kind = static_cast<uint64_t>(ChunkKind::free_run);
    run->detail = length;
    run->next = first;
    header_->free_runs = run;
    if (shape_.has_maps()) {
      run->previous = nullptr;
      run->free_before = 0;  // else it would have been merged
      if (first != nullptr) {
        first->previous = run;
      }
      if (const uint64_t end = index_of(run) + length;
          partition_ == nullptr && end < header_->top) {
        chunk_at(end)->free_before = length;
      }
    }
  }

  /// Removes a free run from the list. Two transactions that unlink neighbours at the same time
  /// would leave one of them in the list, and another transaction would get it again. The store to
  /// the run's own link makes them conflict.
  void unlink(Chunk* run) {
    Chunk* next = run->next;
    const uint64_t end = index_of(run) + length_of(run);
    if (shape_.has_maps()) {
      const HeapBounds<Owner> bounds;
      Chunk* previous = run->previous;
      if (previous != nullptr) {
        bounds.check(previous);
      }
      previous == nullptr ? header_->free_runs = next : previous->next = next;
      if (next != nullptr) {
        bounds.check(next)->previous = previous;
      }
      if (partition_ == nullptr && end < header_->top) {
        chunk_at(end)->free_before = 0;
      }
    } else {
      Field<Chunk*, E>* at = &header_->free_runs;
      while (at->load() != run) {
        at = &at->load()->next;
      }
      *at = next;
    }
    run->next = nullptr;
  }

  /// Throws Error(misuse) if the block was not allocated with this size, before the lists change.
  void check_owned(void* block, ChunkKind kind, uint64_t detail) {
    const auto offset = static_cast<size_t>(static_cast<std::byte*>(block) - data_);
    bool good = offset % kBlockUnit == 0 && offset >> chunk_shift_ < header_->top;
    if (good) {
      Chunk* header = chunk_at(offset >> chunk_shift_);
      good = header->kind == static_cast<uint64_t>(kind) && header->detail == detail;
    }
    if (!good) {
      refuse_block();
    }
  }
  /// A damaged list may lead anywhere.
  void check_listed(const FreeBlock<E>* block) {
    if (index_of(HeapBounds<Owner>().check(block)) >= header_->top) {
      refuse_list();
    }
  }
  [[noreturn]] static void refuse_list() {
    throw Error(Status(Code::corrupt,
                       "a free list holds a block that is not free; restore the heap file from a "
                       "copy (`holdfast check` tells more)"));
  }
  [[noreturn]] static void refuse_block() {
    throw Error(Status(Code::misuse,
                       "a block was freed that is not allocated with this size in this heap; free "
                       "each object once, with the type or size it was made with"));
  }

  friend class Compaction<E>;

  std::byte* data_;
  DataHeader<E>* header_;
  ChunkShape shape_;
  size_t chunk_;                  ///< bytes of a chunk, a power of two
  int chunk_shift_;               ///< its logarithm
  PartitionArena<E>* partition_;  ///< of a transaction that names partitions; else null
};

}  // namespace holdfast
