// SPDX-License-Identifier: Apache-2.0
//
// Does the allocator keep its headers apart from the bytes of blocks, and refuse what is no block?
#include "holdfast/heap/allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/unit/heap/small_heap.h"

namespace holdfast::allocator_test {
namespace {

constexpr size_t kChunk = kSmallChunk;

/// The size of a block that takes n chunks.
constexpr size_t chunks(size_t n) {
  return n * kChunk - kChunkHeaderBytes;
}

class AllocatorOfHeap : public SmallHeap {
 protected:
  std::byte* allocate(size_t bytes) {
    return heap_->update([&] { return static_cast<std::byte*>(H::allocate(bytes)); }).value();
  }
  Status free(std::byte* block, size_t bytes) {
    return heap_->update([&] { H::deallocate(block, bytes); });
  }
  /// A block in which each word could be damage of a header.
  std::byte* filled(size_t bytes) {
    std::byte* const block = allocate(bytes);
    heap_
        ->update([&] {
          const std::vector<std::byte> content(bytes, std::byte{0xff});
          H::Engine::store_range(block, content.data(), bytes);
        })
        .check();
    return block;
  }
  void expect_sound() { EXPECT_EQ(heap_->check().value().errors, std::vector<std::string>()); }
};

TEST_F(AllocatorOfHeap, TakesNoBytesOfAnEarlierBlockForHeadersOfUnusedChunks) {
  std::byte* const large = filled(chunks(4));
  free(large, chunks(4)).check();  // the chunks are unused again
  std::byte* const first = allocate(chunks(1));
  ASSERT_EQ(first, large);
  std::byte* const second = allocate(chunks(1));
  std::byte* const small = allocate(48);
  ASSERT_EQ(small, large + 2 * kChunk - kChunkHeaderBytes + 128);
  expect_sound();
  EXPECT_TRUE(free(second, chunks(1)).ok());
  expect_sound();
  EXPECT_TRUE(free(small, 48).ok());
  EXPECT_TRUE(free(first, chunks(1)).ok());
  expect_sound();
}

TEST_F(AllocatorOfHeap, TakesNoBytesOfAnEarlierBlockForHeadersOfFreeRuns) {
  std::byte* const large = filled(chunks(4));
  std::byte* const last = allocate(chunks(1));
  free(large, chunks(4)).check();
  std::byte* const first = allocate(chunks(1));  // splits the run
  ASSERT_EQ(first, large);
  expect_sound();
  std::byte* const second = allocate(chunks(1));
  ASSERT_EQ(second, large + kChunk);
  std::byte* const third = allocate(chunks(2));
  ASSERT_EQ(third, large + 2 * kChunk);
  EXPECT_TRUE(free(second, chunks(1)).ok());
  expect_sound();
  EXPECT_TRUE(free(third, chunks(2)).ok());
  EXPECT_TRUE(free(first, chunks(1)).ok());
  expect_sound();
  EXPECT_EQ(allocate(chunks(4)), large);
  EXPECT_TRUE(free(last, chunks(1)).ok());
  expect_sound();
}

TEST_F(AllocatorOfHeap, RefusesToFreeOrExchangeWhatIsNoBlock) {
  std::byte* const small = allocate(64);
  std::byte* const large = allocate(chunks(2));
  std::byte* const base = reinterpret_cast<std::byte*>(heap_->superblock().base);
  const auto expect_refused = [&](std::byte* block, size_t bytes) {
    EXPECT_EQ(free(block, bytes).code(), Code::misuse) << block - base << ' ' << bytes;
    const Status exchanged =
        heap_->update([&] { static_cast<void>(H::exchange(block, bytes, bytes)); });
    EXPECT_EQ(exchanged.code(), Code::misuse) << block - base << ' ' << bytes;
  };
  for (const ptrdiff_t off : {-64, -16, 8, 16, 64}) {
    expect_refused(small + off, 64);
    expect_refused(large + off, chunks(2));
  }
  expect_refused(small, 65);
  expect_refused(small, chunks(2));
  expect_refused(large, 64);
  expect_refused(large, chunks(2) + 1);
  expect_refused(large + 2 * kChunk, chunks(2));  // no chunk in use
  expect_refused(base + heap_->superblock().data_bytes() + kChunkHeaderBytes, 64);
  expect_refused(base + 128, 64);
  std::byte outside[64];
  expect_refused(outside, 64);
  expect_sound();
  EXPECT_TRUE(free(small, 64).ok());
  EXPECT_TRUE(free(large, chunks(2)).ok());
  expect_sound();
}

TEST_F(AllocatorOfHeap, ExchangesLargeBlocks) {
  std::byte* const block = allocate(chunks(2));
  std::byte* other = nullptr;
  EXPECT_TRUE(heap_
                  ->update([&] {
                    other = static_cast<std::byte*>(H::exchange(block, chunks(2), chunks(3)));
                  })
                  .ok());
  expect_sound();
  EXPECT_TRUE(free(other, chunks(3)).ok());
  expect_sound();
}

}  // namespace
}  // namespace holdfast::allocator_test
