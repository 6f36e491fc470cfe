// SPDX-License-Identifier: Apache-2.0
// Is a commit block that is torn, or of another log, none?
#include "holdfast/engines/parts/durability/stamped/commit_block.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

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

}  // namespace
}  // namespace holdfast::commit_block_test
