// SPDX-License-Identifier: Apache-2.0
//
// A damaged header of a chunk, or a damaged pointer of the allocator, must end a call with an
// error. A loop without end and a wild pointer end this test's process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/sanitized.h"
#include "tests/superblock_of.h"
#include "tests/unit/engines/engine_rows.h"
#include "tests/unit/heap/small_heap.h"

namespace holdfast::damaged_chunks_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

constexpr size_t kChunkBytes = kSmallChunk;

struct Box {
  static constexpr const char* kTypeName = "damaged_chunks_test.box";
  H::Field<Box*> next{nullptr};
  H::Field<uint64_t> more[30];
};

class DamagedChunks : public ::testing::TestWithParam<std::string> {};
/// One of each layout. With cells the allocator's words stand elsewhere.
INSTANTIATE_TEST_SUITE_P(
    Engines, DamagedChunks,
    ::testing::ValuesIn(first_of_each(engine_rows<SimMachine>(),
                                      names_of(engine_rows<SimMachine>(),
                                               [](const auto& row) {
                                                 return is_durable(*row.description) &&
                                                        !row.description->needs_design &&
                                                        row.description->layout != Layout::cells;
                                               }),
                                      [](const Description& d) { return d.layout; })),
    [](const auto& instance) { return test_name(instance.param); });

/// A closed heap with shared chunks, large blocks and free runs.
SimImage made(const std::string& engine) {
  SimMachine machine({.threads = 2});
  auto heap = H::create(machine, small_heap_options(engine)).value();
  Box* const root = heap->root<Box>("boxes").value();
  std::vector<void*> large(6);
  std::vector<Box*> boxes(100);
  heap->update([&] {
        for (void*& block : large) {
          block = H::allocate(2 * kChunkBytes);
        }
      })
      .check();
  for (Box*& box : boxes) {
    heap->update([&] { box = H::make<Box>(); }).check();
  }
  heap->update([&] {
        for (size_t i = 0; i < large.size(); i += 2) {
          H::deallocate(large[i], 2 * kChunkBytes);
        }
        root->next = boxes.front();
      })
      .check();
  for (size_t i = 1; i < boxes.size(); ++i) {
    heap->update([&] { H::destroy(boxes[i]); }).check();
  }
  machine.run_threads(1, [&](int) { heap->compact().status().check(); });
  heap->close().check();
  return machine.earliest_image();
}

/// Opens the heap and uses all of the allocator. Returns the number of calls that were refused.
int use(const SimImage& image) {
  SimMachine machine({.threads = 2}, image);
  auto heap = H::open(machine);
  if (!heap.ok()) {
    return 1;
  }
  int refused = 0;
  const auto count = [&](const Status& status) { refused += status.ok() ? 0 : 1; };
  machine.run_threads(1, [&](int) {
    count(heap.value()->space().status());
    count(heap.value()->check([](const BlockVisitor&) {}).status());
    for (const size_t bytes : {sizeof(Box), kChunkBytes, 3 * kChunkBytes}) {
      void* block = nullptr;
      count(heap.value()->update([&] { block = H::allocate(bytes); }));
      count(heap.value()->update([&] { H::deallocate(block, bytes); }));
    }
    count(heap.value()->compact().status());
  });
  machine.switch_off();
  return refused;
}

TEST_P(DamagedChunks, EndInErrors) {
  const SimImage good = made(GetParam());
  ASSERT_EQ(use(good), 0);
  const Superblock superblock = superblock_of(good);
  const uint64_t begin = superblock.file_offset(ExtentKind::data);
  std::vector<uint64_t> words;  // of each chunk's header and of the heap's, those that are used
  for (uint64_t chunk = 0; chunk < superblock.data_bytes(); chunk += kChunkBytes) {
    const uint64_t end = chunk == 0 ? DataHeader<H::Engine>::bytes(superblock.slots) : 64;
    for (uint64_t at = begin + chunk; at < begin + chunk + end; at += 8) {
      if (std::any_of(&good[at], &good[at] + 8, [](std::byte b) { return b != std::byte{}; })) {
        words.push_back(at);
      }
    }
  }
  int refused = 0;
  size_t turn = 0;
  for (const uint64_t at : words) {
    for (const uint64_t change : {~uint64_t{0}, uint64_t{1} << 62, uint64_t{8}, uint64_t{1}}) {
      if (kSanitized && ++turn % 3 != 0) {
        continue;
      }
      SCOPED_TRACE("offset " + std::to_string(at - begin) + ", bits " + std::to_string(change));
      SimImage damaged = good;
      uint64_t word = 0;
      std::memcpy(&word, &damaged[at], 8);
      word ^= change;
      std::memcpy(&damaged[at], &word, 8);
      refused += use(damaged) != 0 ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 20);
  std::printf("%s: %zu words, %d of %zu damages refused\n", GetParam().c_str(), words.size(),
              refused, 4 * words.size());
}

uint64_t word_at(const void* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Behind the last chunk in use everything is zero, so a block there looks free.
TEST_P(DamagedChunks, AFreeListThatLeadsToTheFirstUnusedChunkIsRefused) {
  SimImage image;
  {
    SimMachine machine({.threads = 2});
    auto heap = H::create(machine, small_heap_options(GetParam())).value();
    Box* boxes[2] = {};
    heap->update([&] { boxes[0] = H::make<Box>(); }).check();
    heap->update([&] { boxes[1] = H::make<Box>(); }).check();
    heap->update([&] {
          H::destroy(boxes[0]);
          H::destroy(boxes[1]);
        })
        .check();
    heap->close().check();
    image = machine.earliest_image();
  }
  const Superblock superblock = superblock_of(image);
  const uint64_t data_at = superblock.file_offset(ExtentKind::data);
  DataOf data(image);
  auto& header = data.header<DataHeader<H::Engine>>();
  const ChunkShape shape{word_at(&header.mark), kChunkBytes};
  const uint64_t top = word_at(&header.top);
  ASSERT_LT(top, word_at(&header.limit));
  const uint64_t unused = superblock.base + top * kChunkBytes + shape.shared_header_bytes();
  int lists = 0;
  for (uint64_t arena = 0; arena < word_at(&header.arena_count); ++arena) {
    const auto& list = header.arenas()[arena].classes[shape.class_of(sizeof(Box))];
    if (const uint64_t first = word_at(&list.active); first != 0) {  // the first block's link
      std::memcpy(&image[data_at + first - superblock.base], &unused, sizeof unused);
      ++lists;
    }
  }
  ASSERT_EQ(lists, 1);
  SimMachine machine({.threads = 2}, image);
  auto heap = H::open(machine).value();
  const auto allocate = [&] {
    return heap->update([] { static_cast<void>(H::allocate(sizeof(Box))); });
  };
  EXPECT_TRUE(allocate().ok());
  EXPECT_EQ(allocate().code(), Code::corrupt);
  machine.switch_off();
}

}  // namespace
}  // namespace holdfast::damaged_chunks_test
