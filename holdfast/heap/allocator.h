// SPDX-License-Identifier: Apache-2.0
//
// The allocator of a heap's data region.
#pragma once

#include "holdfast/heap/layout.h"

namespace holdfast {

/// The exception that leaves a transaction body when the heap must grow. The heap grows, then runs
/// the body again.
struct GrowthNeeded {
  size_t bytes;  ///< total size of the data region that the body needs
};

/// Allocates and frees blocks. It is sequential code over Fields that runs inside the caller's
/// transaction, so a rollback undoes its work, too.
///
/// Cost: a few field stores per call, and no search for a block that shares a chunk. A size class
/// keeps its chunks for ever. Threads reuse freed blocks within the class, and pass them on through
/// the depot in batches.
///
/// Thread safety: the transaction's isolation. Snapshot isolation needs no promotion, because a
/// transaction that changes a list stores to the fields that other changes of it read. A push and a
/// pop both store to the list's head. Unlinking a run from the middle stores to the run's own link.
template <class E>
class Allocator {
 public:
  static constexpr uint64_t kBatch = 64;

  /// Formats an empty heap. Inside an update transaction.
  static void format(std::byte* data, size_t chunk_bytes, size_t arenas, size_t limit_bytes) {
    auto* h = new (data) DataHeader<E>;
    const size_t chunks = (DataHeader<E>::bytes(arenas) + chunk_bytes - 1) / chunk_bytes;
    h->chunk_bytes = chunk_bytes;
    h->arena_count = arenas;
    h->limit = limit_bytes / chunk_bytes;
    h->top = chunks;
    h->mark = kLayoutMark;  // the rest of a new heap's data is zero: all lists are empty
  }

  explicit Allocator(std::byte* data)
      : data_(data), header_(reinterpret_cast<DataHeader<E>*>(data)) {}

  /// Returns a block of at least `bytes` bytes. Throws GrowthNeeded if there is no room.
  void* allocate(size_t bytes, int slot) {
    const size_t chunk = header_->chunk_bytes;
    const size_t size_class = class_of(bytes, largest_shared(chunk));
    if (size_class == kClasses) {
      void* block = allocate_large(bytes, chunk);
      E::fresh(block, bytes);
      return block;
    }
    ArenaClass<E>& a = arena_class(size_class, slot);
    if (void* block = allocate_listed(a, size_class)) {
      // After a rollback the block is in its list again, so its links must be restored. Only the
      // bytes behind them are fresh.
      if (bytes > sizeof(FreeBlock<E>)) {
        E::fresh(static_cast<std::byte*>(block) + sizeof(FreeBlock<E>),
                 bytes - sizeof(FreeBlock<E>));
      }
      return block;
    }
    void* block = allocate_fresh(a, size_class, chunk);
    E::fresh(block, bytes);
    return block;
  }

  void deallocate(void* block, size_t bytes, int slot) {
    if constexpr (requires { E::released(block, bytes); }) {
      E::released(block, bytes);
    }
    const size_t chunk = header_->chunk_bytes;
    const size_t size_class = class_of(bytes, largest_shared(chunk));
    if (size_class < kClasses) {
      free_shared(static_cast<FreeBlock<E>*>(block), size_class, slot, chunk);
    } else {
      free_large(static_cast<std::byte*>(block), bytes, chunk);
    }
  }

 private:
  ArenaClass<E>& arena_class(size_t size_class, int slot) {
    const size_t arenas = header_->arena_count;
    return header_->arenas()[static_cast<size_t>(slot) % arenas].classes[size_class];
  }

  /// Returns a block that was freed before, or null.
  void* allocate_listed(ArenaClass<E>& a, size_t size_class) {
    FreeBlock<E>* block = a.active;
    uint64_t count = kBatch;
    if (block != nullptr) {
      count = a.active_count;
    } else if (FreeBlock<E>* reserve = a.reserve) {
      block = reserve;
      a.reserve = nullptr;
    } else if (FreeBlock<E>* batch = header_->depot[size_class]) {
      block = batch;
      header_->depot[size_class] = batch->next_batch.load();
    } else {
      return nullptr;
    }
    a.active = block->next.load();
    a.active_count = count - 1;
    return block;
  }

  void* allocate_fresh(ArenaClass<E>& a, size_t size_class, size_t chunk) {
    std::byte* block = a.fresh;
    const size_t bytes = kClassBytes[size_class];
    if (block == nullptr || block + bytes > a.fresh_end.load()) {
      ChunkHeader<E>* header = take_chunks(1, chunk);
      header->detail = size_class;
      header->kind = static_cast<uint64_t>(ChunkKind::shared);
      auto* begin = reinterpret_cast<std::byte*>(header);
      block = begin + kChunkHeaderBytes;
      a.fresh_end = begin + chunk;
    }
    a.fresh = block + bytes;
    return block;
  }

  void free_shared(FreeBlock<E>* block, size_t size_class, int slot, size_t chunk) {
    check_owned(block, ChunkKind::shared, size_class, chunk);
    ArenaClass<E>& a = arena_class(size_class, slot);
    const uint64_t count = a.active_count;
    if (count == kBatch) {
      FreeBlock<E>* full = a.active;
      if (FreeBlock<E>* reserve = a.reserve) {
        reserve->next_batch = header_->depot[size_class].load();
        header_->depot[size_class] = reserve;
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

  static size_t run_chunks(size_t bytes, size_t chunk) {
    return (bytes + kChunkHeaderBytes + chunk - 1) / chunk;
  }

  void* allocate_large(size_t bytes, size_t chunk) {
    if (bytes > size_t{1} << 46) {
      throw GrowthNeeded{bytes};
    }
    const size_t chunks = run_chunks(bytes, chunk);
    ChunkHeader<E>* header = take_chunks(chunks, chunk);
    header->detail = chunks;
    header->bytes = bytes;
    header->kind = static_cast<uint64_t>(ChunkKind::large);
    return reinterpret_cast<std::byte*>(header) + kChunkHeaderBytes;
  }

  void free_large(std::byte* block, size_t bytes, size_t chunk) {
    auto* header = reinterpret_cast<ChunkHeader<E>*>(block - kChunkHeaderBytes);
    check_owned(block, ChunkKind::large, run_chunks(bytes, chunk), chunk);
    header->kind = static_cast<uint64_t>(ChunkKind::free_run);
    header->next = header_->free_runs.load();
    header_->free_runs = header;
  }

  /// Returns a run of n chunks: the first free run that is long enough, or new chunks at the top.
  ChunkHeader<E>* take_chunks(size_t n, size_t chunk) {
    Field<ChunkHeader<E>*, E>* link = &header_->free_runs;
    while (ChunkHeader<E>* run = *link) {
      const size_t length = run->detail;
      if (length >= n) {
        *link = run->next.load();
        // Two transactions that unlink neighbours at the same time would leave one of them in the
        // list, and another transaction would get it again. This store makes them conflict.
        run->next = nullptr;
        if (length > n) {
          give_back(run, n, length, chunk);
        }
        return run;
      }
      link = &run->next;
    }
    const uint64_t top = header_->top;
    if (top + n > header_->limit) {
      throw GrowthNeeded{(top + n) * chunk};
    }
    header_->top = top + n;
    return reinterpret_cast<ChunkHeader<E>*>(data_ + top * chunk);
  }

  /// Makes a free run of the chunks that take_chunks did not use.
  void give_back(ChunkHeader<E>* run, size_t used, size_t length, size_t chunk) {
    auto* rest =
        reinterpret_cast<ChunkHeader<E>*>(reinterpret_cast<std::byte*>(run) + used * chunk);
    rest->kind = static_cast<uint64_t>(ChunkKind::free_run);
    rest->detail = length - used;
    rest->next = header_->free_runs.load();
    header_->free_runs = rest;
  }

  /// Throws Error(misuse) if the block was not allocated with this size, before the lists change.
  void check_owned(void* block, ChunkKind kind, uint64_t detail, size_t chunk) {
    const auto offset = static_cast<size_t>(static_cast<std::byte*>(block) - data_);
    bool good = offset / chunk < header_->top;
    if (good) {
      auto* header = reinterpret_cast<ChunkHeader<E>*>(data_ + offset / chunk * chunk);
      good = header->kind == static_cast<uint64_t>(kind) && header->detail == detail;
    }
    if (!good) {
      throw Error(Status(Code::misuse,
                         "a block was freed that is not allocated with this size in this heap; "
                         "free each object once, with the type or size it was made with"));
    }
  }

  std::byte* data_;
  DataHeader<E>* header_;
};

}  // namespace holdfast
