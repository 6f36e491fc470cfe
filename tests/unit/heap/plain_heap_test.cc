// SPDX-License-Identifier: Apache-2.0
//
// Does the heap of ordinary memory keep the interface of Heap, and place blocks as its slabs do?
#include "holdfast/heap/plain_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace holdfast::plain_heap_test {
namespace {

struct Number {
  explicit Number(int v = 0) : value(v) {}
  PlainHeap::Field<int> value;
};

class PlainHeapTest : public ::testing::Test {
 protected:
  std::byte* allocate(size_t bytes) {
    return heap_.update([&] { return static_cast<std::byte*>(PlainHeap::allocate(bytes)); })
        .value();
  }
  Status free(std::byte* block, size_t bytes) {
    return heap_.update([&] { PlainHeap::deallocate(block, bytes); });
  }

  PlainHeap heap_;
};

TEST_F(PlainHeapTest, BlocksAreMadeInsideOfBodiesOnly) {
  try {
    PlainHeap::allocate(8);
    FAIL() << "a block outside of a body";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), Code::misuse);
  }
  EXPECT_NE(allocate(8), nullptr);
  EXPECT_THROW(PlainHeap::allocate(8), Error) << "the body is over";
}

TEST_F(PlainHeapTest, AnErrorEndsTheOutermostBody) {
  bool reached = false;
  const Status status = heap_.update([&] {
    heap_.update([] { throw Error(Status(Code::not_found, "inner")); }).check();
    reached = true;
  });
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_FALSE(reached);
  bool returned = false;
  heap_
      .update([&] {
        try {
          static_cast<void>(heap_.read([]() -> int { throw Error(Status(Code::busy, "")); }));
          returned = true;
        } catch (const Error&) {
        }
      })
      .check();
  EXPECT_FALSE(returned);
  EXPECT_EQ(heap_.read([]() -> int { throw Error(Status(Code::busy, "")); }).status().code(),
            Code::busy);
  EXPECT_THROW(static_cast<void>(heap_.update([] { throw std::runtime_error("other"); })),
               std::runtime_error);
}

TEST_F(PlainHeapTest, FreedBlocksServeSizesThatRoundUpAlike) {
  const auto alike = [&](size_t bytes, size_t other) {
    std::byte* const block = allocate(bytes);
    free(block, bytes).check();
    std::byte* const again = allocate(other);
    free(again, other).check();
    return again == block;
  };
  EXPECT_TRUE(alike(0, 16));
  EXPECT_TRUE(alike(1, 16));
  EXPECT_FALSE(alike(16, 17));
  EXPECT_TRUE(alike(17, 32));
  EXPECT_TRUE(alike(49, 64));
  EXPECT_FALSE(alike(64, 65));
  EXPECT_TRUE(alike(65, 128));
  EXPECT_FALSE(alike(128, 129));
  EXPECT_TRUE(alike(4095, 4096));
}

TEST_F(PlainHeapTest, ASlabHasBlocksOfOneSizeSideBySide) {
  for (const size_t bytes : {size_t{16}, size_t{192}, size_t{4096}}) {
    std::vector<std::byte*> blocks((size_t{64} << 10) / bytes);
    for (std::byte*& block : blocks) {
      block = allocate(bytes);
      std::memset(block, 1, bytes);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(blocks[i], blocks[0] + i * bytes);
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[0]) % 64, 0u);
    EXPECT_NE(allocate(bytes), nullptr) << "of another slab";
  }
}

TEST_F(PlainHeapTest, AFreedBlockIsOverwritten) {
  std::byte* const block = allocate(70);
  std::memset(block, 1, 128);
  free(block, 70).check();
  for (size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(block[i], std::byte{0xdd}) << i;
  }
}

TEST_F(PlainHeapTest, LargeBlocksAreFreedOnce) {
  std::byte* const block = allocate(4097);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  std::memset(block, 1, 4097);
  EXPECT_TRUE(free(block, 4097).ok());
  EXPECT_EQ(free(block, 4097).code(), Code::misuse);
}

TEST_F(PlainHeapTest, ABlockOfImpossibleSizeIsAnError) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2 + 1, (size_t{1} << 46) + 1}) {
    EXPECT_EQ(heap_.update([&] { PlainHeap::allocate(bytes); }).code(), Code::out_of_space)
        << bytes;
  }
  EXPECT_EQ(heap_.live_blocks(), 0u);
}

TEST_F(PlainHeapTest, ABodysStatusIsTheResult) {
  EXPECT_EQ(heap_.update([] { return Status(Code::not_found, ""); }).code(), Code::not_found);
  EXPECT_TRUE(heap_.read([] { return Status(); }).ok());
  EXPECT_EQ(heap_.read([]() -> Status { throw Error(Status(Code::busy, "")); }).code(), Code::busy);
}

TEST_F(PlainHeapTest, BlocksInUseAreCounted) {
  EXPECT_EQ(heap_.live_blocks(), 0u);
  EXPECT_EQ(heap_.live_bytes(), 0u);
  std::byte* const small = allocate(20);
  std::byte* const large = allocate(5000);
  EXPECT_EQ(heap_.live_blocks(), 2u);
  EXPECT_EQ(heap_.live_bytes(), 5020u);
  free(large, 5000).check();
  EXPECT_EQ(heap_.live_blocks(), 1u);
  EXPECT_EQ(heap_.live_bytes(), 20u);
  free(small, 20).check();
  EXPECT_EQ(heap_.live_blocks(), 0u);
  EXPECT_EQ(heap_.live_bytes(), 0u);
}

TEST_F(PlainHeapTest, RootsHaveNamesAndTypes) {
  EXPECT_EQ(heap_.find_root<Number>("number").status().code(), Code::not_found);
  Number* const made = heap_.root<Number>("number", 7).value();
  EXPECT_EQ(made->value.load(), 7);
  EXPECT_EQ(heap_.root<Number>("number", 8).value(), made);
  EXPECT_EQ(made->value.load(), 7);
  EXPECT_EQ(heap_.find_root<Number>("number").value(), made);
  EXPECT_EQ(heap_.find_root<int>("number").status().code(), Code::type_mismatch);
  EXPECT_EQ(heap_.root<int>("number").status().code(), Code::type_mismatch);
  struct Fails {
    Fails() { throw Error(Status(Code::busy, "no")); }
  };
  EXPECT_EQ(heap_.root<Fails>("fails").status().code(), Code::busy);
  EXPECT_EQ(heap_.find_root<Fails>("fails").status().code(), Code::not_found);
}

TEST_F(PlainHeapTest, FieldsAddAndSubtract) {
  Number number(5);
  number.value += 3;
  EXPECT_EQ(number.value.load(), 8);
  number.value -= 6;
  EXPECT_EQ(number.value.load(), 2);
}

}  // namespace
}  // namespace holdfast::plain_heap_test
