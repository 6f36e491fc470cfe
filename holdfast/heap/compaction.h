// SPDX-License-Identifier: Apache-2.0
//
// Finding the space of a heap that can serve other sizes, or go back to the file system.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "holdfast/heap/allocator.h"
#include "holdfast/heap/heap_space.h"

namespace holdfast {

/// Collects free space in small transactions. Other transactions may run meanwhile, and a crash
/// between two of them loses nothing.
///
/// A chunk without allocated blocks begins to drain: its blocks leave the free lists, and are
/// counted in the chunk. An allocation that meets one does the same instead of handing it out. Once
/// all have left, this class makes the chunk a free run.
///
/// A run whose pages are given back is parked meanwhile, so that no transaction takes it. If this
/// is interrupted, the next opening or drain() links the run again. So drain() runs only while no
/// other compaction does.
///
/// `update` and `read` run a body as a transaction and throw Error. Layout 2 only; with layout 1
/// nothing is found.
template <class E>
class Compaction {
  using Chunk = ChunkHeader<E>;

 public:
  using Transaction = FunctionRef<void(FunctionRef<void()>)>;

  Compaction(std::byte* data, Transaction update, Transaction read)
      : data_(data),
        header_(reinterpret_cast<DataHeader<E>*>(data)),
        update_(update),
        read_(read) {}

  HeapSpace space(uint64_t bytes) {
    HeapSpace found;
    read_([&] {
      found = {};
      const ChunkShape shape = header_->shape();
      const uint64_t first = first_chunk();
      found.used = first * shape.chunk_bytes;
      for (uint64_t at = first; at < header_->top;) {
        Chunk* chunk = allocator().chunk_at(at);
        const uint64_t detail = chunk->detail;
        switch (static_cast<ChunkKind>(chunk->kind.load())) {
          case ChunkKind::shared: {
            const uint64_t allocated = allocated_blocks(chunk) * shape.sizes()[detail % kClasses];
            (allocated == 0 ? found.reusable : found.free) += shape.chunk_bytes - allocated;
            found.used += allocated;
            break;
          }
          case ChunkKind::draining:
            found.reusable += shape.chunk_bytes;
            break;
          case ChunkKind::large:
            found.used += detail * shape.chunk_bytes;
            break;
          default:
            found.reusable += detail * shape.chunk_bytes;
        }
        at += chunks_from(at);
      }
      const uint64_t touched = header_->top * shape.chunk_bytes;
      found.untouched = bytes - std::min(bytes, touched);  // the heap may have grown since
    });
    return found;
  }

  /// Makes free runs of all chunks without allocated blocks. An arena passes the blocks on that it
  /// has no room for, so its lists come before the depot.
  void drain() {
    begin_draining();
    for (size_t c = 0; c < kClasses; ++c) {
      if (drains_[c]) {
        for (uint64_t a = 0; a < arenas_; ++a) {
          drain_arena(header_->arenas()[a].classes[c], c);
        }
        drain_depot(header_->depot[c], c);
        for (uint64_t p = 0; p < partitions_; ++p) {
          PartitionArena<E>& own = partition_arenas_[p];
          const Partitions partition({static_cast<int>(p)});
          drain_arena(own.arena.classes[c], c, partition);
          drain_depot(own.depot[c], c, partition);
        }
      }
    }
    for (const uint64_t index : draining_) {
      update_([&] { free_drained(allocator().chunk_at(index)); });
    }
  }

  /// Parks one free run after the other, calls give_back(begin, bytes) for its space behind the
  /// header, and links it again. The space above the highest chunk in use counts as a run.
  void for_each_free_run(FunctionRef<void(std::byte*, size_t)> give_back) {
    std::vector<uint64_t> runs;
    read_([&] {
      runs.clear();
      CycleCheck cycle;
      for (Chunk* run = header_->free_runs; run != nullptr; run = run->next) {
        cycle.arrive(allocator().checked(run));
        runs.push_back(allocator().index_of(run));
      }
      if (header_->top < header_->limit) {
        runs.push_back(header_->top);
      }
    });
    for (const uint64_t index : runs) {
      if (const size_t bytes = park(index); bytes != 0) {
        give_back(data_ + index * header_->chunk_bytes.load() + kChunkHeaderBytes,
                  bytes - kChunkHeaderBytes);
        unpark();
      }
    }
  }

  /// Ends what an interrupted compaction has left: a parked run, swept batches, and the rest of a
  /// list. No other thread uses the heap yet. Without leftovers it runs no transaction, whose
  /// fences could stand in for a missing one in recovery. No transaction stores to more than 16
  /// words, which fit into the smallest log of each engine: there is no loan yet.
  void finish() {
    if (has_leftovers()) {
      return_leftovers();
    }
  }

 private:
  Allocator<E> allocator() { return Allocator<E>(data_); }
  uint64_t first_chunk() { return header_->chunks(); }

  /// In a transaction. The number of chunks that the header of chunk `at` describes.
  uint64_t chunks_from(uint64_t at) {
    Chunk* chunk = allocator().chunk_at(at);
    const auto kind = static_cast<ChunkKind>(chunk->kind.load());
    const bool single = kind == ChunkKind::shared || kind == ChunkKind::draining;
    return single ? 1 : allocator().length_of(chunk);
  }

  bool has_leftovers() {
    return header_->parked != nullptr || header_->swept != nullptr || header_->rest != nullptr;
  }
  void return_leftovers() {
    unpark();
    bool more = false;
    update_([&] {
      return_swept();
      more = header_->rest != nullptr;
    });
    at_once_ = 1;  // fits into each log: at an opening nothing tries again
    sweep(more);
    at_once_ = Allocator<E>::kBatch;
  }

  void unpark() {
    update_([&] {
      if (Chunk* run = header_->parked) {
        header_->parked = nullptr;
        allocator().free_run(allocator().checked(run));
      }
    });
  }

  /// In a transaction. The allocator that blocks have come from; `from` as swept_class.
  Allocator<E> allocator_of(uint64_t from) {
    const uint64_t depots = 1 + header_->partitions;
    const auto number = static_cast<int>(from / kClasses % depots);
    return Allocator<E>(data_, number == 0 ? Partitions::all() : Partitions({number - 1}));
  }

  /// In a transaction. Puts the swept batches from `first` to `last` in front of their depot.
  void return_batches(FreeBlock<E>* first, FreeBlock<E>* last) {
    const uint64_t from = header_->swept_class;
    Field<FreeBlock<E>*, E>& depot = allocator_of(from).depot_of(from % kClasses);
    last->next_batch = depot.load();
    depot = first;
  }

  /// In a transaction. Ends the sweep of batches.
  void return_swept() {
    FreeBlock<E>* first = header_->swept;
    if (first == nullptr) {
      return;
    }
    CycleCheck cycle;
    allocator().check_listed(first);
    FreeBlock<E>* last = first;
    while (FreeBlock<E>* next = last->next_batch) {
      allocator().check_listed(next);
      cycle.arrive(next);
      last = next;
    }
    return_batches(first, last);
    header_->swept = nullptr;
  }

  /// In a transaction. The number of allocated blocks; layout 1 does not know it and answers as if
  /// all were.
  uint64_t allocated_blocks(Chunk* chunk) {
    const ChunkShape shape = header_->shape();
    if (!shape.has_maps()) {
      return shape.blocks_per_chunk(chunk->detail % kClasses);
    }
    uint64_t count = 0;
    for (size_t offset = 0; offset < shape.chunk_bytes; offset += 64 * kBlockUnit) {
      count += static_cast<uint64_t>(std::popcount(chunk->map_word(offset).load()));
    }
    return count;
  }

  /// In a transaction.
  bool can_drain(Chunk* chunk) {
    return chunk->kind == static_cast<uint64_t>(ChunkKind::shared) && allocated_blocks(chunk) == 0;
  }

  /// In a transaction. The arena whose fresh space is in the chunk forgets it. Returns how many
  /// blocks there were never handed out, and so are in no list.
  uint64_t forget_fresh_space(Chunk* chunk, size_t c) {
    const std::byte* const end = reinterpret_cast<std::byte*>(chunk) + header_->chunk_bytes.load();
    const uint64_t arenas = header_->arena_count + header_->partitions;
    for (uint64_t a = 0; a < arenas; ++a) {
      ArenaClass<E>& arena = header_->any_arena(a).classes[c];
      if (arena.fresh_end.load() == end) {
        const auto left = static_cast<uint64_t>(end - arena.fresh.load());
        arena.fresh = nullptr;
        arena.fresh_end = nullptr;
        return left / header_->shape().sizes()[c];
      }
    }
    return 0;
  }

  /// Marks the chunks that can drain. Before, ends what a compaction that has failed has left.
  void begin_draining() {
    std::vector<uint64_t> found;
    bool unfinished = false;
    read_([&] {
      found.clear();
      unfinished = has_leftovers();
      draining_.clear();
      drains_ = {};
      arenas_ = header_->arena_count;
      partitions_ = header_->partitions;
      partition_arenas_ = header_->partition_arenas();
      if (!header_->shape().has_maps()) {
        return;
      }
      for (uint64_t at = first_chunk(); at < header_->top;) {
        Chunk* chunk = allocator().chunk_at(at);
        const auto kind = static_cast<ChunkKind>(chunk->kind.load());
        const uint64_t detail = chunk->detail;
        if (kind == ChunkKind::draining) {  // an earlier compaction was interrupted
          drains_[detail % kClasses] = true;
          draining_.push_back(at);
        } else if (can_drain(chunk)) {
          found.push_back(at);
        }
        at += chunks_from(at);
      }
    });
    if (unfinished) {
      return_leftovers();
    }
    for (const uint64_t index : found) {
      std::optional<size_t> drains;
      update_([&] {
        drains.reset();
        Chunk* chunk = allocator().chunk_at(index);
        if (index < header_->top && can_drain(chunk)) {
          // Under snapshot isolation an allocation in this chunk has to conflict.
          for (size_t offset = 0; offset < header_->chunk_bytes; offset += 64 * kBlockUnit) {
            chunk->map_word(offset).promote();
          }
          drains = chunk->detail % kClasses;
          chunk->bytes = forget_fresh_space(chunk, *drains);
          chunk->kind = static_cast<uint64_t>(ChunkKind::draining);
        }
      });
      if (drains) {
        drains_[*drains] = true;
        draining_.push_back(index);
      }
    }
  }

  /// In a transaction. Makes a free run of a draining chunk that all blocks have left.
  void free_drained(Chunk* chunk) {
    if (chunk->bytes == header_->shape().blocks_per_chunk(chunk->detail % kClasses)) {
      chunk->detail = 1;
      allocator().free_run(chunk);
    }
  }

  /// Takes the draining blocks out of the batches that are in the depot now. Meanwhile they wait in
  /// `swept`, so that no batch is met twice, whatever other threads free. A batch without draining
  /// blocks goes back to the depot. The rest of another one goes to the arena of this thread, or of
  /// the partition.
  void drain_depot(Field<FreeBlock<E>*, E>& depot, size_t c,
                   Partitions partition = Partitions::all()) {
    bool more = false;
    update_([&] {
      more = depot.load() != nullptr;
      if (more) {
        header_->swept = depot.load();
        header_->swept_class = origin(c, partition);
        depot = nullptr;
      }
    });
    sweep(more);
  }

  void drain_arena(ArenaClass<E>& a, size_t c, Partitions partition = Partitions::all()) {
    for (const bool reserve : {false, true}) {
      bool more = false;
      update_([&] {
        Field<FreeBlock<E>*, E>& list = reserve ? a.reserve : a.active;
        more = any_draining(list_of(list));
        if (more) {
          header_->rest = list.load();
          header_->rest_class = origin(c, partition);
          list = nullptr;
          if (!reserve) {
            a.active_count = 0;
          }
        }
      });
      sweep(more);
    }
  }

  /// The number for swept_class and rest_class.
  static uint64_t origin(size_t c, Partitions partition) {
    const int number = partition.is_all() ? 0 : 1 + partition.first();
    return c + kClasses * static_cast<uint64_t>(number);
  }

  /// A small log may have room for a few blocks of a list at once.
  void sweep(bool more) {
    while (more) {
      try {
        update_([&] { more = sweep_some(); });
      } catch (const Error& error) {
        if (error.status().code() != Code::too_large || at_once_ == 1) {
          throw;
        }
        at_once_ /= 8;
        more = true;  // some engines find out when the body has run to its end
      }
    }
  }

  /// In a transaction. Returns whether there is more.
  bool sweep_some() {
    FreeBlock<E>* const rest = header_->rest;
    FreeBlock<E>* const list = rest != nullptr ? rest : header_->swept.load();
    std::vector<FreeBlock<E>*> blocks = list_of(list);
    if (rest == nullptr) {
      header_->swept = list->next_batch.load();
    }
    FreeBlock<E>* left = nullptr;
    if (rest == nullptr && !any_draining(blocks)) {
      return_batches(list, list);
    } else {
      const uint64_t from = rest != nullptr ? header_->rest_class : header_->swept_class;
      if (blocks.size() > at_once_) {
        left = blocks[at_once_];
        blocks.resize(at_once_);
        if (rest == nullptr) {
          header_->rest_class = from;
        }
      }
      put_back(blocks, from);
    }
    if (left != rest) {
      header_->rest = left;
    }
    return left != nullptr || header_->swept != nullptr;
  }

  std::vector<FreeBlock<E>*> list_of(FreeBlock<E>* block) {
    std::vector<FreeBlock<E>*> blocks;
    for (; block != nullptr && blocks.size() < Allocator<E>::kBatch; block = block->next) {
      allocator().check_listed(block);
      blocks.push_back(block);
    }
    return blocks;
  }
  bool any_draining(const std::vector<FreeBlock<E>*>& blocks) {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](FreeBlock<E>* block) { return allocator().is_draining(block); });
  }

  /// In a transaction. Counts the draining blocks in their chunks, and frees the others. It stores
  /// once to each chunk, because logs may be small.
  void put_back(const std::vector<FreeBlock<E>*>& blocks, uint64_t from) {
    Allocator<E> own = allocator_of(from);
    const size_t c = from % kClasses;
    std::vector<uint64_t> leave;  // the number of the chunk of each block that leaves
    for (FreeBlock<E>* block : blocks) {
      if (own.is_draining(block)) {
        leave.push_back(own.index_of(block));
      } else {
        own.free_shared(block, c, static_cast<Context*>(E::Machine::context())->slot);
      }
    }
    std::sort(leave.begin(), leave.end());
    for (auto at = leave.begin(); at != leave.end();) {
      const auto end = std::upper_bound(at, leave.end(), *at);
      Chunk* chunk = own.chunk_at(*at);
      chunk->bytes = chunk->bytes + static_cast<uint64_t>(end - at);
      at = end;
    }
  }

  /// In a transaction. Whether the chunk begins a run in the list of free ones. A chunk inside of a
  /// block or of a merged run may look like that: it has the user's bytes, or earlier ones.
  bool is_free_run(Chunk* chunk) {
    if (chunk->kind != static_cast<uint64_t>(ChunkKind::free_run)) {
      return false;
    }
    const ChunkShape shape = header_->shape();
    if (!shape.has_maps()) {
      return true;  // runs are never merged, so no such chunk lies inside of one
    }
    const Chunk* previous = chunk->previous;
    if (previous == nullptr) {
      return header_->free_runs == chunk;
    }
    const auto offset = static_cast<uint64_t>(reinterpret_cast<const std::byte*>(previous) - data_);
    return offset % shape.chunk_bytes == 0 && offset / shape.chunk_bytes < header_->top &&
           previous->next == chunk;
  }

  /// Takes a free run out of the list, or the space above the highest chunk in use. Returns its
  /// bytes; 0 if it is no free run any more.
  size_t park(uint64_t index) {
    size_t bytes = 0;
    bool parked = false;
    update_([&] {
      bytes = 0;
      parked = false;
      const uint64_t top = header_->top;
      Chunk* run = allocator().chunk_at(index);
      if (header_->parked.load() != nullptr) {
        return;
      }
      if (index == top && top < header_->limit) {
        const uint64_t length = header_->limit - top;
        run = allocator().take_chunks(length);  // may be another run, if that one is long enough
        run->detail = length;
      } else if (index < top && is_free_run(run)) {
        allocator().unlink(run);
      } else {
        return;
      }
      run->kind = static_cast<uint64_t>(ChunkKind::large);
      header_->parked = run;
      parked = true;
      bytes = allocator().index_of(run) == index ? run->detail * header_->chunk_bytes : 0;
    });
    if (parked && bytes == 0) {
      unpark();
    }
    return bytes;
  }

  std::byte* data_;
  DataHeader<E>* header_;
  Transaction update_;
  Transaction read_;
  uint64_t arenas_ = 0;
  uint64_t partitions_ = 0;
  PartitionArena<E>* partition_arenas_ = nullptr;
  std::array<bool, kClasses> drains_{};    ///< size classes with draining chunks
  std::vector<uint64_t> draining_;         ///< numbers of these chunks
  size_t at_once_ = Allocator<E>::kBatch;  ///< blocks that a transaction puts back
};

}  // namespace holdfast
