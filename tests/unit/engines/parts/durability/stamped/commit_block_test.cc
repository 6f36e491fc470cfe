// SPDX-License-Identifier: Apache-2.0
// Is a commit block that is torn, or of another log, none?
#include "holdfast/engines/parts/durability/stamped/commit_block.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "holdfast/base/checksum.h"

namespace holdfast::commit_block_test {
namespace {

TEST(CommitBlockTest, TornAndForeignBlocksAreNone) {
  constexpr size_t kBytes =
      CommitBlock::kFrameBytes + sizeof(uint64_t) * (2 + 3);  // two headers, three words
  CommitBlock block;
  block.clear();
  EXPECT_TRUE(block.empty());
  block.add(64, 1);
  block.add(72, 2);
  block.add(160, 3);
  EXPECT_EQ(block.bytes(), kBytes);
  block.seal(42, 7);
  EXPECT_EQ(block.bytes(), kBytes);
  const std::vector<uint64_t> words(block.words(), block.words() + block.bytes() / 8);
  EXPECT_EQ(claimed_block_bytes(words[1], 1024), block.bytes());
  EXPECT_EQ(claimed_block_bytes(words[1], block.bytes() - 1), 0u);
  EXPECT_EQ(claimed_block_bytes(words[1] + 1, 1024), 0u);
  EXPECT_EQ(block_timestamp(words, 7), 42u);
  EXPECT_EQ(block_timestamp(words, 8), std::nullopt);
  for (size_t i = 0; i < words.size(); ++i) {
    std::vector<uint64_t> torn = words;
    torn[i] = 0;
    EXPECT_EQ(block_timestamp(torn, 7), std::nullopt) << i;
  }
  std::vector<uint64_t> offsets;
  EXPECT_TRUE(for_each_block_record(words, [&](RedoRecord record, const uint64_t* payload) {
    for (uint64_t k = 0; k < record.bytes / 8; ++k) {
      offsets.push_back(record.offset + 8 * k);
      EXPECT_EQ(payload[k], offsets.size());
    }
  }));
  EXPECT_EQ(offsets, (std::vector<uint64_t>{64, 72, 160}));
  block.clear();
  EXPECT_TRUE(block.empty());
}

/// The words of a sealed block with these two words, one behind the other.
std::vector<uint64_t> sealed(uint64_t transactions) {
  CommitBlock block;
  block.add(64, 11);
  block.add(72, 12);
  block.seal(42, 7, transactions);
  return {block.words(), block.words() + block.bytes() / 8};
}

TEST(CommitBlockTest, HasTheWordsOfTheFormat) {
  const std::vector<uint64_t> words = sealed(3);
  ASSERT_EQ(words.size(), 6u);
  EXPECT_EQ(words[0], checksum(&words[1], 5 * 8, 7));
  EXPECT_EQ(words[1], uint64_t{2} << 40 | 3 * 8);
  EXPECT_EQ(words[2], (RedoRecord{64, 16}.header()));
  EXPECT_EQ(words[3], 11u);
  EXPECT_EQ(words[4], 12u);
  EXPECT_EQ(words[5], uint64_t{1} << 63 | 42);
  EXPECT_EQ(block_transactions(words), 3u);
  EXPECT_EQ(block_transactions(sealed(1)), 1u);
  EXPECT_EQ(block_timestamp(words, 7), 42u);
  EXPECT_EQ(claimed_block_bytes(words[1], words.size() * 8), words.size() * 8);
  EXPECT_EQ(claimed_block_bytes(words[1], words.size() * 8 - 1), 0u);
}

TEST(CommitBlockTest, MayBeEmpty) {
  CommitBlock block;
  EXPECT_TRUE(block.empty());
  EXPECT_EQ(block.bytes(), CommitBlock::kFrameBytes);
  block.seal(9, 1);
  const std::vector<uint64_t> words(block.words(), block.words() + 3);
  EXPECT_EQ(block_timestamp(words, 1), 9u);
  EXPECT_EQ(block_timestamp({words[0], words[2]}, 1), std::nullopt);
  EXPECT_EQ(claimed_block_bytes(0, CommitBlock::kFrameBytes), CommitBlock::kFrameBytes);
  EXPECT_EQ(claimed_block_bytes(0, CommitBlock::kFrameBytes - 1), 0u);
  EXPECT_EQ(claimed_block_bytes(8, CommitBlock::kFrameBytes + 7), 0u);
}

TEST(CommitBlockTest, BeginsAnewWhenItIsCleared) {
  CommitBlock block;
  block.add(8, 1);
  block.seal(1, 1);
  block.clear();
  block.add(16, 2);  // would continue the record before
  EXPECT_EQ(block.bytes(), CommitBlock::kFrameBytes + 16);
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  block.for_each_word([&](uint64_t offset, uint64_t value) { seen.emplace_back(offset, value); });
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, uint64_t>>{{16, 2}}));
  EXPECT_FALSE(block.empty());
}

}  // namespace
}  // namespace holdfast::commit_block_test
