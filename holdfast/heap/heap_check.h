// SPDX-License-Identifier: Apache-2.0
//
// Verifying a heap: allocator metadata, free lists, and leaks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/base/status.h"
#include "holdfast/heap/allocator.h"
#include "holdfast/heap/file/superblock.h"
#include "holdfast/heap/layout.h"
#include "holdfast/heap/roots.h"

namespace holdfast {

/// A structure calls it for each block that it owns.
using BlockVisitor = std::function<void(const void* block, size_t bytes)>;

/// The result of verifying a heap.
struct HeapCheck {
  std::vector<std::string> errors;  ///< the first kMostErrors errors
  uint64_t allocated_blocks = 0;
  uint64_t allocated_bytes = 0;
  uint64_t free_blocks = 0;
  uint64_t free_bytes = 0;    ///< in free lists and in the fresh space of arenas
  uint64_t unused_bytes = 0;  ///< chunks never used
  uint64_t reachable_blocks = 0;
  uint64_t leaked_blocks = 0;  ///< allocated, but no structure owns them
  uint64_t leaked_bytes = 0;
  uint64_t verified_pages = 0;  ///< pages of the file that agree with their checksums

  static constexpr size_t kMostErrors = 20;
  bool ok() const { return errors.empty() && leaked_blocks == 0; }
  void error(std::string text) {
    if (errors.size() < kMostErrors) {
      errors.push_back(std::move(text));
    }
  }
  /// Takes the result of Heap::verify_pages().
  void add_pages(Result<uint64_t> verified) {
    verified_pages = verified ? *verified : 0;
    if (!verified) {
      error(verified.status().message());
    }
  }
};

/// A block of the data region.
struct Block {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool free = false;
  bool reached = false;
};

/// Returns the block that begins at `offset`, or null. `blocks` is sorted by offset.
Block* find_block(std::vector<Block>& blocks, uint64_t offset);

/// Counts free, allocated and leaked blocks. A leaked block is allocated and was not reached.
void account(std::vector<Block>& blocks, HeapCheck& check);

/// A copy of an ArenaClass.
struct ArenaClassWords {
  std::byte* active;
  uint64_t active_count;
  std::byte* reserve;
  std::byte* fresh;
  std::byte* fresh_end;
};

/// A copy of an arena, loaded as one range: on a simulated machine each load is an event of its
/// own.
template <class E>
struct ArenaWords {
  explicit ArenaWords(const Arena<E>& arena) {
    static_assert(sizeof(words) == sizeof(arena.classes));
    E::load_range(words.data(), arena.classes, sizeof(words));
  }
  std::array<ArenaClassWords, kClasses> words;
};

/// Validates the allocator's metadata at every open. It is cheap: it checks only that all pointers
/// and counts that transactions trust are in range. `copy`: a copy of the data; its pointers refer
/// to `data`.
template <class E>
Status check_header(std::byte* copy, std::byte* data, size_t bytes, const Superblock& superblock) {
  const uint64_t chunk_bytes = superblock.chunk_bytes;
  const bool divided = (superblock.features.incompatible & kPartitionsFeature) != 0;
  const bool fine = (superblock.features.incompatible & kFineClassesFeature) != 0;
  auto damaged = [](const char* what) {
    return Status(Code::corrupt, std::string("the allocator's metadata is damaged (") + what +
                                     "); restore the heap file from a copy");
  };
  auto* h = reinterpret_cast<DataHeader<E>*>(copy);
  const uint64_t mark = bytes < DataHeader<E>::bytes(1) ? 0 : h->mark.load();
  if (fine ? mark != kLayoutMark3 : mark != kLayoutMark2 && mark != kLayoutMark1) {
    return damaged("mark");
  }
  // A heap that has got more slots after its creation keeps its arenas.
  const uint64_t arenas = h->arena_count;
  const uint64_t partitions = h->partitions;
  if (h->chunk_bytes != chunk_bytes || arenas == 0 || arenas > superblock.slots ||
      partitions > Partitions::kMost || (partitions != 0) != divided ||
      bytes < DataHeader<E>::bytes(arenas, partitions)) {
    return damaged("geometry");
  }
  const uint64_t header_chunks = h->chunks();
  if (h->limit > bytes / chunk_bytes || h->top > h->limit || h->top < header_chunks) {
    return damaged("chunk counts");
  }
  const std::byte* const begin = data + header_chunks * chunk_bytes;
  const std::byte* const end = data + h->top * chunk_bytes;
  auto good = [&](const void* p) {
    const auto* b = static_cast<const std::byte*>(p);
    return b == nullptr || (b >= begin && b <= end && reinterpret_cast<uintptr_t>(b) % 16 == 0);
  };
  if (!good(h->free_runs.load())) {
    return damaged("free runs");
  }
  for (uint64_t a = 0; a < arenas + partitions; ++a) {
    const ArenaWords<E> classes(h->any_arena(a));
    for (const ArenaClassWords& c : classes.words) {
      if (c.active == nullptr && c.active_count == 0 && c.reserve == nullptr &&
          c.fresh == nullptr && c.fresh_end == nullptr) {
        continue;  // most classes of most arenas
      }
      const bool counted = (c.active == nullptr || c.active_count != 0) && c.active_count <= 64;
      if (!counted || !good(c.active) || !good(c.reserve) || !good(c.fresh) || !good(c.fresh_end)) {
        return damaged("arena");
      }
    }
  }
  for (uint64_t d = 0; d < 1 + partitions; ++d) {
    for (size_t c = 0; c < kClasses; ++c) {
      if (!good(h->any_depot(d)[c].load())) {
        return damaged("depot");
      }
    }
  }
  for (auto& root : h->roots) {
    const std::byte* object = root.object;
    if (is_named(root.name) &&
        (!good(object) || object == nullptr || root.bytes > static_cast<uint64_t>(end - object))) {
      return damaged("roots");
    }
  }
  return {};
}

/// Walks the chunk headers and free lists of an allocator that may be damaged.
template <class E>
class AllocatorWalk {
 public:
  AllocatorWalk(std::byte* data, size_t bytes, HeapCheck& check)
      : data_(data),
        bytes_(bytes),
        header_(reinterpret_cast<DataHeader<E>*>(data)),
        shape_(header_->shape()),
        chunk_(shape_.chunk_bytes),
        check_(check) {}

  /// Returns all blocks, sorted by offset, with the free ones marked.
  std::vector<Block> run() {
    collect_chunks();
    const uint64_t partitions = header_->partitions;
    const uint64_t arenas = header_->arena_count + partitions;
    for (uint64_t a = 0; a < arenas; ++a) {
      const ArenaWords<E> classes(header_->any_arena(a));
      for (size_t c = 0; c < kClasses; ++c) {
        walk_arena(classes.words[c], c);
      }
    }
    for (uint64_t d = 0; d < 1 + partitions; ++d) {
      for (size_t c = 0; c < kClasses; ++c) {
        walk_depot(header_->any_depot(d)[c], c);
      }
    }
    walk_list(header_->rest, header_->rest_class % kClasses, "swept");
    for (FreeBlock<E>* batch = header_->swept; batch != nullptr; batch = batch->next_batch) {
      if (walk_list(batch, header_->swept_class % kClasses, "swept") != Allocator<E>::kBatch) {
        check_.error("a swept batch has the wrong length");
        break;
      }
    }
    walk_runs();
    free_what_compaction_holds();
    compare_maps();
    check_.unused_bytes = bytes_ - header_->top * chunk_;
    return std::move(blocks_);
  }

 private:
  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - data_);
  }

  void collect_chunks() {
    const uint64_t top = header_->top;
    uint64_t index = header_->chunks();
    while (index < top) {
      const uint64_t at = index * chunk_;
      auto* header = reinterpret_cast<ChunkHeader<E>*>(data_ + at);
      const auto kind = static_cast<ChunkKind>(header->kind.load());
      const uint64_t detail = header->detail;
      if ((kind == ChunkKind::shared || kind == ChunkKind::draining) && detail < kClasses) {
        if (kind == ChunkKind::draining) {
          draining_.push_back(at);
        }

        const size_t bytes = shape_.sizes()[detail];
        for (uint64_t o = shape_.shared_header_bytes(); o + bytes <= chunk_; o += bytes) {
          blocks_.push_back({at + o, bytes});
        }
        ++index;
      } else if ((kind == ChunkKind::large || kind == ChunkKind::free_run) && detail > 0 &&
                 detail <= top - index) {
        blocks_.push_back({at + kChunkHeaderBytes, detail * chunk_ - kChunkHeaderBytes, false});
        index += detail;
      } else {
        check_.error("chunk " + std::to_string(index) + " has a damaged header");
        return;
      }
    }
  }

  void walk_depot(FreeBlock<E>* batch, size_t size_class) {
    for (; batch != nullptr; batch = batch->next_batch) {  // a circle leads to a marked block
      if (walk_list(batch, size_class, "depot") != Allocator<E>::kBatch) {
        check_.error("the depot of class " + std::to_string(size_class) +
                     " holds a batch of the wrong length");
        break;
      }
    }
  }

  void walk_arena(const ArenaClassWords& a, size_t size_class) {
    if (walk_list(a.active, size_class, "arena") != (a.active == nullptr ? 0 : a.active_count)) {
      check_.error("an arena miscounts its free blocks of class " + std::to_string(size_class));
    }
    if (a.reserve != nullptr &&
        walk_list(a.reserve, size_class, "reserve") != Allocator<E>::kBatch) {
      check_.error("an arena's reserve of class " + std::to_string(size_class) +
                   " has the wrong length");
    }
    const std::byte* fresh = a.fresh;
    const std::byte* end = a.fresh_end;
    const size_t bytes = shape_.sizes()[size_class];
    if (fresh != nullptr && (offset_of(fresh) > bytes_ || offset_of(end) > bytes_)) {
      check_.error("an arena's fresh space lies outside the heap");
      return;
    }
    for (; fresh != nullptr && fresh + bytes <= end; fresh += bytes) {
      mark_free(fresh, size_class, "fresh space");
    }
  }

  uint64_t walk_list(std::byte* block, size_t size_class, const char* list) {
    return walk_list(reinterpret_cast<FreeBlock<E>*>(block), size_class, list);
  }
  /// Returns the list's length. Reports a damaged or circular list and stops there.
  uint64_t walk_list(FreeBlock<E>* block, size_t size_class, const char* list) {
    uint64_t length = 0;
    for (; block != nullptr && mark_free(block, size_class, list); block = block->next) {
      ++length;
    }
    return length;
  }

  bool mark_free(const void* p, size_t size_class, const char* list) {
    Block* block = find_block(blocks_, offset_of(p));
    if (block == nullptr || block->bytes != shape_.sizes()[size_class] || block->free) {
      check_.error(
          std::string("a free block in the ") + list + " list at offset " +
          std::to_string(offset_of(p)) +
          (block != nullptr && block->free ? " is there twice" : " is not a block of its class"));
      return false;
    }
    return block->free = true;
  }

  void walk_runs() {
    for (ChunkHeader<E>* run = header_->free_runs; run != nullptr; run = run->next) {
      Block* block = find_block(blocks_, offset_of(run) + kChunkHeaderBytes);
      if (block == nullptr || block->free ||
          run->kind != static_cast<uint64_t>(ChunkKind::free_run)) {
        check_.error("the list of free runs is damaged at offset " +
                     std::to_string(offset_of(run)));
        return;
      }
      block->free = true;
      if (shape_.has_maps()) {
        const uint64_t end = offset_of(run) + run->detail * chunk_;
        auto* after = reinterpret_cast<ChunkHeader<E>*>(data_ + end);
        if (end < header_->top * chunk_ && after->free_before != 0 &&
            after->free_before != run->detail) {
          check_.error("the chunk at offset " + std::to_string(end) +
                       " has a wrong number for the free run before it");
        }
      }
    }
  }

  /// Blocks that have left the lists of a draining chunk are free, and so is a parked run.
  void free_what_compaction_holds() {
    for (const uint64_t at : draining_) {
      uint64_t listed = 0;
      uint64_t all = 0;
      for (Block& block : blocks_) {
        if (block.offset > at && block.offset < at + chunk_) {
          listed += block.free ? 1 : 0;
          block.free = true;
          ++all;
        }
      }
      const uint64_t left = reinterpret_cast<ChunkHeader<E>*>(data_ + at)->bytes;
      if (listed + left != all) {
        check_.error("the draining chunk at offset " + std::to_string(at) +
                     " miscounts its blocks");
      }
    }
    if (const ChunkHeader<E>* parked = header_->parked) {
      if (Block* block = find_block(blocks_, offset_of(parked) + kChunkHeaderBytes)) {
        block->free = true;
      } else {
        check_.error("the parked run is damaged");
      }
    }
  }

  /// Compares the map of each shared chunk with the free lists.
  void compare_maps() {
    if (!shape_.has_maps() || !check_.errors.empty()) {
      return;  // errors above explain differences
    }
    size_t next = 0;
    for (uint64_t at = 0; at < header_->top * chunk_; at += chunk_) {
      auto* header = reinterpret_cast<ChunkHeader<E>*>(data_ + at);
      while (next < blocks_.size() && blocks_[next].offset < at) {
        ++next;  // the run that begins before
      }
      const bool begins = next < blocks_.size() && blocks_[next].offset < at + chunk_;
      if (!begins || header->kind != static_cast<uint64_t>(ChunkKind::shared)) {
        continue;
      }
      uint64_t set = 0;  // bits at the beginning of a block
      for (; next < blocks_.size() && blocks_[next].offset < at + chunk_; ++next) {
        const uint64_t offset = blocks_[next].offset - at;
        const bool allocated = (header->map_word(offset) & ChunkHeader<E>::map_bit(offset)) != 0;
        set += allocated ? 1 : 0;
        if (allocated == blocks_[next].free) {
          check_.error("the block at offset " + std::to_string(blocks_[next].offset) +
                       (allocated ? " is in a free list and in use" : " is free and in no list"));
        }
      }
      uint64_t all = 0;
      for (uint64_t offset = 0; offset < chunk_; offset += 64 * kBlockUnit) {
        all += static_cast<uint64_t>(std::popcount(header->map_word(offset).load()));
      }
      if (all != set) {
        check_.error("the map of the chunk at offset " + std::to_string(at) + " is damaged");
      }
    }
  }

  std::byte* data_;
  size_t bytes_;
  DataHeader<E>* header_;
  ChunkShape shape_;
  uint64_t chunk_;
  HeapCheck& check_;
  std::vector<uint64_t> draining_;  ///< offsets of chunks
  std::vector<Block> blocks_;
};

/// Verifies a heap, inside a read transaction and while no other transaction runs.
template <class E>
HeapCheck check_heap(std::byte* data, size_t bytes,
                     const std::function<void(const BlockVisitor&)>& reachable,
                     const std::vector<RootInfo>& roots) {
  HeapCheck check;
  std::vector<Block> blocks = AllocatorWalk<E>(data, bytes, check).run();
  auto visit = [&](const void* p, size_t size) {
    const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(p) - data);
    Block* block = find_block(blocks, offset);
    if (block == nullptr || block->bytes < size || block->free || block->reached) {
      const char* why = block == nullptr ? " is not an allocated block"
                        : block->free    ? " is in use but also free"
                        : block->reached ? " is owned twice"
                                         : " is larger than its block";
      check.error("the block at offset " + std::to_string(offset) + why);
      return;
    }
    block->reached = true;
    ++check.reachable_blocks;
  };
  for (const RootInfo& root : roots) {
    visit(root.object, root.bytes);
  }
  if (reachable) {
    reachable(visit);
  } else {
    for (Block& block : blocks) {
      block.reached = !block.free;  // without `reachable` no block counts as a leak
    }
  }
  account(blocks, check);
  return check;
}

}  // namespace holdfast
