// SPDX-License-Identifier: Apache-2.0
//
// Does a check of a heap count its blocks exactly, and name each kind of damage that its walk can
// find?
#include "holdfast/heap/heap_check.h"

#include <gtest/gtest.h>

#include <concepts>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/heap/small_heap.h"

namespace holdfast::heap_check_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;
using Errors = std::vector<std::string>;
using Batch = FreeBlock<H::Engine>;

constexpr size_t kChunk = kSmallChunk;
constexpr size_t kSmall = 48;
constexpr size_t kSmallClass = 2;
constexpr size_t kPerChunk = (kChunk - 128) / kSmall;
constexpr size_t kLarge = 2 * kChunk - kChunkHeaderBytes;
constexpr uint64_t kBatch = Allocator<H::Engine>::kBatch;

struct Object {
  static constexpr const char* kTypeName = "heap_check_test.object";
  H::Field<uint64_t> word{0};
};

/// A word, and the value that damages it.
struct Change {
  template <std::integral T>
  Change(void* at, T to)
      : word(static_cast<H::Field<uint64_t>*>(at)), value(static_cast<uint64_t>(to)) {}
  template <class T>
  Change(void* at, T* to) : Change(at, reinterpret_cast<uint64_t>(to)) {}
  H::Field<uint64_t>* word;
  uint64_t value;
};

/// A heap with blocks in use and blocks in each kind of list.
class Check : public SmallHeap {
 protected:
  static constexpr size_t kBlocks = 200;  // in three chunks
  static constexpr size_t kFreed = 150;   // a batch in the depot, a reserve, and 22 others

  Check() {
    const auto allocate = [&](size_t n, size_t bytes) {
      std::vector<std::byte*> blocks(n);
      for (std::byte*& block : blocks) {
        block = heap_->update([&] { return static_cast<std::byte*>(H::allocate(bytes)); }).value();
      }
      return blocks;
    };
    line_ = allocate(1, 64).front();
    small_ = allocate(kBlocks, kSmall);
    large_ = allocate(4, kLarge);
    for (size_t i = 0; i < kFreed; ++i) {
      heap_->update([&] { H::deallocate(small_[i], kSmall); }).check();
    }
    for (const size_t i : {0, 2}) {
      heap_->update([&] { H::deallocate(large_[i], kLarge); }).check();
    }
    heap_
        ->read([&] {
          for (uint64_t i = 0; i < header().arena_count; ++i) {
            auto& list = header().arenas()[i].classes[kSmallClass];
            arena_ = list.active.load() != nullptr ? &list : arena_;
          }
        })
        .check();
  }

  DataHeader<H::Engine>& header() { return *reinterpret_cast<DataHeader<H::Engine>*>(base_); }
  uint64_t offset(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - base_);
  }
  std::string at(const void* p) const { return "at offset " + std::to_string(offset(p)); }
  ChunkHeader<H::Engine>* chunk(const void* block) {
    return reinterpret_cast<ChunkHeader<H::Engine>*>(base_ + offset(block) / kChunk * kChunk);
  }
  /// The chunk behind the two of a large block.
  ChunkHeader<H::Engine>* behind(const std::byte* large) { return chunk(large + 2 * kChunk); }
  std::string damaged_header(const void* block) const {
    return "chunk " + std::to_string(offset(block) / kChunk) + " has a damaged header";
  }
  template <class T>
  uint64_t value(const H::Field<T>& field) {
    return heap_
        ->read([&] {
          const T found = field;
          uint64_t word = 0;
          std::memcpy(&word, &found, sizeof word);
          return word;
        })
        .value();
  }

  void see_all(const BlockVisitor& see) const {
    see(line_, 64);
    for (size_t i = kFreed; i < kBlocks; ++i) {
      see(small_[i], kSmall);
    }
    see(large_[1], kLarge);
    see(large_[3], kLarge);
  }
  /// The result of a check while these words are changed.
  HeapCheck check_with(const std::vector<Change>& changes) {
    std::vector<uint64_t> before;
    heap_
        ->update([&] {
          before.clear();
          for (const Change& change : changes) {
            before.push_back(*change.word);
            *change.word = change.value;
          }
        })
        .check();
    HeapCheck found = heap_->check().value();
    heap_
        ->update([&] {
          for (size_t i = changes.size(); i-- > 0;) {
            *changes[i].word = before[i];
          }
        })
        .check();
    return found;
  }
  Errors errors(const std::vector<Change>& changes) { return check_with(changes).errors; }
  std::string first_error(const std::vector<Change>& changes) {
    const Errors all = errors(changes);
    return all.empty() ? "" : all.front();
  }

  std::byte* const base_ = begin();
  std::byte* line_ = nullptr;
  std::vector<std::byte*> small_;
  std::vector<std::byte*> large_;
  ArenaClass<H::Engine>* arena_ = nullptr;
};

TEST_F(Check, CountsEachBlockOnce) {
  HeapCheck found = heap_->check([&](const BlockVisitor& see) { see_all(see); }).value();
  EXPECT_EQ(found.errors, Errors());
  EXPECT_TRUE(found.ok());
  constexpr size_t kUsed = kBlocks - kFreed;
  constexpr size_t kFresh = 3 * kPerChunk - kBlocks;
  constexpr size_t kFreshLines = (kChunk - 128) / 64 - 1;
  EXPECT_EQ(found.allocated_blocks, 1 + kUsed + 2);
  EXPECT_EQ(found.allocated_bytes, 64 + kUsed * kSmall + 2 * kLarge);
  EXPECT_EQ(found.free_blocks, kFreshLines + kFreed + kFresh + 2);
  EXPECT_EQ(found.free_bytes, kFreshLines * 64 + (kFreed + kFresh) * kSmall + 2 * kLarge);
  EXPECT_EQ(found.unused_bytes,
            heap_->superblock().data_bytes() - (offset(large_[3]) / kChunk + 2) * kChunk);
  EXPECT_EQ(found.reachable_blocks, found.allocated_blocks);
  EXPECT_EQ(found.leaked_blocks, 0u);
  EXPECT_EQ(found.leaked_bytes, 0u);
  found = heap_->check([&](const BlockVisitor& see) { see(line_, 64); }).value();
  EXPECT_EQ(found.reachable_blocks, 1u);
  EXPECT_EQ(found.leaked_blocks, kUsed + 2);
  EXPECT_EQ(found.leaked_bytes, kUsed * kSmall + 2 * kLarge);
  ASSERT_EQ(found.errors.size(), HeapCheck::kMostErrors);
  EXPECT_EQ(found.errors.front(), "leak: the block of " + std::to_string(kSmall) + " bytes " +
                                      at(small_[kFreed]) + " has no owner");
}

TEST_F(Check, SeesTheObjectsOfRoots) {
  Object* const object = heap_->root<Object>("object").value();
  HeapCheck found = heap_->check([&](const BlockVisitor& see) { see_all(see); }).value();
  EXPECT_EQ(found.errors, Errors());
  EXPECT_EQ(found.reachable_blocks, found.allocated_blocks);
  found = heap_
              ->check([&](const BlockVisitor& see) {
                see_all(see);
                see(object, sizeof(Object));
              })
              .value();
  EXPECT_EQ(found.errors, Errors{"the block " + at(object) + " is owned twice"});
}

TEST_F(Check, ComparesWhatStructuresOwnWithTheBlocks) {
  const auto seen = [&](const std::byte* block, size_t bytes) {
    return heap_
        ->check([&](const BlockVisitor& see) {
          see_all(see);
          see(block, bytes);
        })
        .value()
        .errors;
  };
  const auto error = [&](const std::byte* block, const char* why) {
    return Errors{"the block " + at(block) + why};
  };
  EXPECT_EQ(seen(line_ + 16, 16), error(line_ + 16, " is not an allocated block"));
  EXPECT_EQ(seen(small_[0], kSmall), error(small_[0], " is in use but also free"));
  EXPECT_EQ(seen(line_, 64), error(line_, " is owned twice"));
  const Errors too_large =
      heap_->check([&](const BlockVisitor& see) { see(line_, 65); }).value().errors;
  EXPECT_EQ(too_large.front(), error(line_, " is larger than its block").front());
}

TEST_F(Check, FindsDamagedHeadersOfChunks) {
  EXPECT_EQ(first_error({{&chunk(line_)->kind, 9}}), damaged_header(line_));
  EXPECT_EQ(first_error({{&chunk(line_)->detail, kClasses}}), damaged_header(line_));
  EXPECT_NE(first_error({{&chunk(line_)->detail, kClasses - 1}}), damaged_header(line_));
  for (const size_t i : {0, 1, 3}) {  // a free run, and blocks; the last one ends the used space
    EXPECT_EQ(first_error({{&chunk(large_[i])->detail, 0}}), damaged_header(large_[i]));
    EXPECT_EQ(first_error({{&chunk(large_[i])->detail, 9}}), damaged_header(large_[i]));
  }
  EXPECT_EQ(first_error({{&chunk(large_[3])->detail, 3}}), damaged_header(large_[3]));
}

TEST_F(Check, FindsBlocksThatAreNoFreeBlocksOfTheirList) {
  const std::string no_block = " is not a block of its class";
  const std::string miscount = "an arena miscounts its free blocks of class 2";
  const auto listed = [&](const void* block, const char* list, const std::string& why) {
    return std::string("a free block in the ") + list + " list " + at(block) + why;
  };
  // The first block of the list leads elsewhere.
  std::byte* const first = small_[kFreed - 1];
  EXPECT_EQ(errors({{first, large_[1]}}), (Errors{listed(large_[1], "arena", no_block), miscount}));
  EXPECT_EQ(errors({{first, line_}}), (Errors{listed(line_, "arena", no_block), miscount}));
  EXPECT_EQ(errors({{first, first + 16}}),
            (Errors{listed(first + 16, "arena", no_block), miscount}));
  EXPECT_EQ(errors({{first, first}}),
            (Errors{listed(first, "arena", " is there twice"), miscount}));
  EXPECT_EQ(errors({{&arena_->active_count, kFreed - 2 * kBatch + 1}}), Errors{miscount});
  // A short reserve, and short batches in the depot.
  std::byte* const reserve = small_[2 * kBatch - 1];
  std::byte* const batch = small_[kBatch - 1];
  ASSERT_EQ(value(arena_->reserve), reinterpret_cast<uint64_t>(reserve));
  ASSERT_EQ(value(header().depot[kSmallClass]), reinterpret_cast<uint64_t>(batch));
  EXPECT_EQ(errors({{reserve, 0}}), Errors{"an arena's reserve of class 2 has the wrong length"});
  const std::string short_batch = "the depot of class 2 holds a batch of the wrong length";
  EXPECT_EQ(errors({{batch, 0}}), Errors{short_batch});
  auto* const next_batch = &reinterpret_cast<Batch*>(batch)->next_batch;
  EXPECT_EQ(errors({{next_batch, batch}}),
            (Errors{listed(batch, "depot", " is there twice"), short_batch}));
}

TEST_F(Check, CountsBatchesThatACompactionHasSwept) {
  std::byte* const batch = small_[kBatch - 1];
  std::vector<Change> swept = {{&header().depot[kSmallClass], 0},
                               {&header().swept, batch},
                               {&header().swept_class, kSmallClass}};
  HeapCheck found = check_with(swept);
  EXPECT_EQ(found.errors, Errors());
  EXPECT_EQ(found.free_blocks, heap_->check().value().free_blocks);
  found = check_with({swept[0], {&header().rest, batch}, {&header().rest_class, kSmallClass}});
  EXPECT_EQ(found.errors, Errors());
  EXPECT_EQ(found.free_blocks, heap_->check().value().free_blocks);
  swept.emplace_back(batch, 0);
  EXPECT_EQ(errors(swept), Errors{"a swept batch has the wrong length"});
  swept.back() = {&header().swept_class, kSmallClass + 1};
  EXPECT_EQ(first_error(swept),
            "a free block in the swept list " + at(batch) + " is not a block of its class");
}

TEST_F(Check, FindsFreshSpaceOutsideOfTheHeap) {
  std::byte* const end = base_ + heap_->superblock().data_bytes();
  auto& unused = arena_[2];  // a class of which no block was made
  ASSERT_EQ(value(unused.fresh), 0u);
  const Errors outside{"an arena's fresh space lies outside the heap"};
  EXPECT_EQ(errors({{&unused.fresh, end}, {&unused.fresh_end, end}}), Errors());
  EXPECT_EQ(errors({{&unused.fresh, end + 16}, {&unused.fresh_end, end}}), outside);
  EXPECT_EQ(errors({{&unused.fresh, end}, {&unused.fresh_end, end + 16}}), outside);
  EXPECT_EQ(errors({{&unused.fresh_end, end + 16}}), Errors()) << "there is none";
}

TEST_F(Check, FindsDamagedFreeRuns) {
  auto* const first = chunk(large_[2]);
  ASSERT_EQ(value(header().free_runs), reinterpret_cast<uint64_t>(first));
  const auto damaged = [&](const void* run) {
    return Errors{"the list of free runs is damaged " + at(run)};
  };
  EXPECT_EQ(errors({{&header().free_runs, base_ + 16}}), damaged(base_ + 16));
  EXPECT_EQ(errors({{&first->kind, 2}}), damaged(first)) << "a large block";
  EXPECT_EQ(errors({{&chunk(large_[0])->next, first}}), damaged(first)) << "a circle";
  auto* const after = behind(large_[2]);
  ASSERT_EQ(value(after->free_before), 2u);
  EXPECT_EQ(errors({{&after->free_before, 3}}),
            Errors{"the chunk " + at(after) + " has a wrong number for the free run before it"});
  EXPECT_EQ(errors({{&after->free_before, 0}}), Errors()) << "a partition's run";
  // The run ends the used space; what is behind has no header.
  EXPECT_EQ(errors({{&header().top, offset(after) / kChunk}, {&after->free_before, 3}}), Errors());
}

TEST_F(Check, CountsTheBlocksOfADrainingChunk) {
  auto* const draining = chunk(small_[0]);
  ASSERT_EQ(chunk(small_[kPerChunk - 1]), draining);
  const uint64_t free_blocks = heap_->check().value().free_blocks;
  const std::string miscounts = "the draining chunk " + at(draining) + " miscounts its blocks";
  std::vector<Change> changes = {{&draining->kind, 4}};
  EXPECT_EQ(errors(changes), Errors());
  changes.emplace_back(&draining->bytes, 1);
  EXPECT_EQ(errors(changes), Errors{miscounts});
  // A batch of its blocks has left the depot.
  changes.back() = {&draining->bytes, kBatch};
  changes.emplace_back(&header().depot[kSmallClass], 0);
  const HeapCheck found = check_with(changes);
  EXPECT_EQ(found.errors, Errors());
  EXPECT_EQ(found.free_blocks, free_blocks);
}

TEST_F(Check, CountsAParkedRunAsFree) {
  const uint64_t free_bytes = heap_->check().value().free_bytes;
  const HeapCheck found = check_with({{&header().parked, chunk(large_[1])}});
  EXPECT_EQ(found.errors, Errors());
  EXPECT_EQ(found.free_bytes, free_bytes + kLarge);
  EXPECT_EQ(errors({{&header().parked, base_ + 16}}), Errors{"the parked run is damaged"});
}

TEST_F(Check, ComparesMapsWithLists) {
  const auto flipped = [&](const std::byte* block) {
    auto* const in = chunk(block);
    const size_t place = offset(block) % kChunk;
    auto& word = in->map_word(place);
    return errors({{&word, value(word) ^ in->map_bit(place)}});
  };
  EXPECT_EQ(flipped(line_), Errors{"the block " + at(line_) + " is free and in no list"});
  for (const size_t i : {size_t{0}, kFreed - 1}) {
    EXPECT_EQ(flipped(small_[i]),
              Errors{"the block " + at(small_[i]) + " is in a free list and in use"});
  }
  // Bits where no block begins, up to the last one of a map.
  const auto map_of = [&](const void* block) {
    return Errors{"the map of the chunk " + at(chunk(block)) + " is damaged"};
  };
  EXPECT_EQ(flipped(line_ + 16), map_of(line_));
  for (const size_t place : {1008, 2032, 3040, 4080}) {
    auto* const in = reinterpret_cast<std::byte*>(chunk(small_[kBlocks - 1]));
    EXPECT_EQ(flipped(in + place), map_of(in)) << place;
  }
  // Bytes behind a map, and those inside of a run, are no map.
  EXPECT_EQ(errors({{&chunk(line_)->map_word(kChunk), UINT64_MAX}}), Errors());
  auto* const inside = chunk(large_[1] + kChunk);
  EXPECT_EQ(errors({{&inside->kind, 1}, {&inside->map_word(0), UINT64_MAX}}), Errors());
}

TEST_F(Check, KnowsHowTheSpaceIsUsed) {
  const HeapSpace space = heap_->space().value();
  const uint64_t metadata = header().chunks() * kChunk;
  const uint64_t lines = kChunk - 64;              // of a chunk with one line
  const uint64_t last = kBlocks - 2 * kPerChunk;   // blocks in use of a chunk
  const uint64_t middle = 2 * kPerChunk - kFreed;  // of the chunk before
  EXPECT_EQ(space.used, metadata + 64 + (last + middle) * kSmall + 2 * 2 * kChunk);
  EXPECT_EQ(space.free, lines + 2 * kChunk - (last + middle) * kSmall);
  EXPECT_EQ(space.reusable, kChunk + 2 * 2 * kChunk) << "an empty chunk, and two free runs";
  EXPECT_EQ(space.untouched, heap_->check().value().unused_bytes);
  auto& kind = chunk(small_[0])->kind;
  heap_->update([&] { kind = uint64_t{4}; }).check();  // draining
  EXPECT_EQ(heap_->space().value().reusable, space.reusable);
  EXPECT_EQ(heap_->space().value().free, space.free);
}

TEST_F(Check, ACompactionGivesBackEachFreeRunAndTheUnusedSpace) {
  std::vector<std::pair<uint64_t, uint64_t>> given;
  Compaction<H::Engine>(
      base_, [&](FunctionRef<void()> body) { heap_->update(body).check(); },
      [&](FunctionRef<void()> body) { heap_->read(body).check(); })
      .for_each_free_run([&](std::byte* p, size_t n) {
        given.emplace_back(offset(p), n);
        EXPECT_NE(value(header().parked), 0u);
      });
  const uint64_t top = offset(large_[3]) / kChunk * kChunk + 2 * kChunk;
  const uint64_t unused = heap_->superblock().data_bytes() - top;
  EXPECT_EQ(given, (std::vector<std::pair<uint64_t, uint64_t>>{
                       {offset(large_[2]), kLarge},
                       {offset(large_[0]), kLarge},
                       {top + kChunkHeaderBytes, unused - kChunkHeaderBytes}}));
  EXPECT_EQ(value(header().parked), 0u);
  EXPECT_EQ(value(header().top) * kChunk, top);
  EXPECT_EQ(heap_->check().value().errors, Errors());
}

TEST_F(Check, TheHeaderOfALargeBlockTellsItsSize) {
  EXPECT_EQ(value(chunk(large_[1])->bytes), kLarge);
  EXPECT_EQ(value(chunk(large_[1])->detail), 2u);
}

TEST(HeapCheckResult, IsGoodWithoutErrorsAndLeaks) {
  HeapCheck check;
  EXPECT_TRUE(check.ok());
  check.leaked_blocks = 1;
  EXPECT_FALSE(check.ok());
  check.leaked_blocks = 0;
  check.add_pages(uint64_t{7});
  EXPECT_EQ(check.verified_pages, 7u);
  EXPECT_TRUE(check.ok());
  check.add_pages(Status(Code::corrupt, "page 3 differs"));
  EXPECT_EQ(check.errors, Errors{"page 3 differs"});
  EXPECT_EQ(check.verified_pages, 0u);
  EXPECT_FALSE(check.ok());
}

}  // namespace
}  // namespace holdfast::heap_check_test
