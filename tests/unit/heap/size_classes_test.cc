// SPDX-License-Identifier: Apache-2.0
//
// The size classes and the shapes of chunks are part of the file format: a heap's lists and maps
// mean nothing with others.
#include "holdfast/heap/file/size_classes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "holdfast/heap/layout.h"

namespace holdfast::size_classes_test {
namespace {

TEST(SizeClasses, AreThoseOfTheFormat) {
  constexpr ClassSizes kLine = {16,   32,   48,   64,   128,  192,   256,   320,   384,  448,  512,
                                640,  768,  896,  1024, 1280, 1536,  1792,  2048,  2560, 3072, 3584,
                                4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384};
  EXPECT_EQ(kLineClasses, kLine);
  constexpr ClassSizes kFine = {16,   32,   48,   64,   80,   96,   128,  160,  192,  224,  256,
                                320,  384,  448,  512,  640,  768,  896,  1024, 1280, 1536, 1792,
                                2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192};
  EXPECT_EQ(kFineClasses, kFine);
}

/// Compares class_of() with a search, for blocks up to the largest class and beyond.
void expect_smallest(const ClassTable& table, const ClassSizes& sizes) {
  for (size_t bytes = 0; bytes <= kLineClasses.back() + 1; ++bytes) {
    const auto fits = std::lower_bound(sizes.begin(), sizes.end(), bytes);
    ASSERT_EQ(class_of(table, bytes), static_cast<size_t>(fits - sizes.begin())) << bytes;
  }
  EXPECT_EQ(class_of(table, SIZE_MAX), kClasses);
}

TEST(SizeClasses, ABlockHasTheSmallestThatFits) {
  expect_smallest(kLineTable, kLineClasses);
  expect_smallest(kFineTable, kFineClasses);
}

TEST(ChunkShape, HasAHeaderWithTheMapAndThenBlocks) {
  const auto header = [](uint64_t mark, size_t chunk_bytes) {
    return ChunkShape{mark, chunk_bytes}.shared_header_bytes();
  };
  EXPECT_EQ(header(kLayoutMark2, 1024), 64u);
  EXPECT_EQ(header(kLayoutMark2, 2048), 64u);
  EXPECT_EQ(header(kLayoutMark2, 4096), 128u);
  EXPECT_EQ(header(kLayoutMark3, 16384), 192u);
  EXPECT_EQ(header(kLayoutMark2, 65536), 576u);
  EXPECT_EQ(header(kLayoutMark1, 65536), 64u);
  const ChunkShape shape{kLayoutMark2, 4096};
  EXPECT_EQ(shape.blocks_per_chunk(0), 3968u / 16);
  EXPECT_EQ(shape.blocks_per_chunk(3), 62u);
  EXPECT_EQ(shape.blocks_per_chunk(7), 12u);
}

TEST(ChunkShape, SharesAChunkAmongThreeBlocksAtLeast) {
  const auto shares = [](uint64_t mark, size_t chunk_bytes, size_t bytes) {
    return ChunkShape{mark, chunk_bytes}.class_of(bytes) < kClasses;
  };
  EXPECT_TRUE(shares(kLayoutMark2, 1024, 320));  // 3 * 320 + 64 are all of it
  EXPECT_FALSE(shares(kLayoutMark2, 1024, 321));
  EXPECT_TRUE(shares(kLayoutMark2, 4096, 1280));
  EXPECT_FALSE(shares(kLayoutMark2, 4096, 1281));
  EXPECT_TRUE(shares(kLayoutMark2, 65536, 16384));
  EXPECT_FALSE(shares(kLayoutMark2, 65536, 16385));
  EXPECT_TRUE(shares(kLayoutMark3, 16384, 5120));
  EXPECT_FALSE(shares(kLayoutMark3, 16384, 5121));
  EXPECT_EQ((ChunkShape{kLayoutMark2, 4096}.class_of(90)), 4u);
  EXPECT_EQ((ChunkShape{kLayoutMark3, 4096}.class_of(90)), 5u);
}

}  // namespace
}  // namespace holdfast::size_classes_test
