// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/parts/durability/stamped/commit_block.h"

#include "holdfast/base/checksum.h"

namespace holdfast {
namespace {

constexpr uint64_t kEnd = uint64_t{1} << 63;
constexpr int kTransactionsShift = 40;

uint64_t check(const uint64_t* words, size_t n, uint64_t seed) {
  const uint64_t sum = checksum(words + 1, (n - 1) * 8, seed);
  return sum == 0 ? 1 : sum;
}

}  // namespace

void CommitBlock::clear() {
  words_.assign(kHeadBytes / 8, 0);
  next_ = ~uint64_t{0};
  sealed_ = false;
}

void CommitBlock::seal(uint64_t timestamp, uint64_t seed, uint64_t transactions) {
  words_[1] = (words_.size() * 8 - kHeadBytes) | (transactions - 1) << kTransactionsShift;
  words_.push_back(kEnd | timestamp);
  words_[0] = check(words_.data(), words_.size(), seed);
  sealed_ = true;
}

uint64_t block_transactions(const std::vector<uint64_t>& words) {
  return (words[1] >> kTransactionsShift) + 1;
}

size_t claimed_block_bytes(uint64_t word, size_t limit) {
  word &= (uint64_t{1} << kTransactionsShift) - 1;
  if (word % 8 != 0 || limit < CommitBlock::kFrameBytes ||
      word > limit - CommitBlock::kFrameBytes) {
    return 0;
  }
  return word + CommitBlock::kFrameBytes;
}

std::optional<uint64_t> block_timestamp(const std::vector<uint64_t>& words, uint64_t seed) {
  if (words.size() * 8 < CommitBlock::kFrameBytes || (words.back() & kEnd) == 0 ||
      words[0] != check(words.data(), words.size(), seed)) {
    return std::nullopt;
  }
  return words.back() & ~kEnd;
}

}  // namespace holdfast
