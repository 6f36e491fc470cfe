// SPDX-License-Identifier: Apache-2.0
//
// What a software engine puts into a log in persistent memory for one transaction, in one piece,
// with one fence behind it:
//
//   block     = checksum bytes record* end           words of 8 bytes
//   checksum  of the words behind it, seeded with the block's place; never 0
//   bytes     of the records
//   record    as in redo_log.h: header, then the words to store there
//   end       1 << 63 | timestamp
//
// No commit record of its own: a block is the transaction's if its checksum is right. One that was
// cut off by a power failure, or that belongs to an earlier lap of a circular log, is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"

namespace holdfast {

class CommitBlock {
 public:
  static constexpr size_t kHeadBytes = 16;
  static constexpr size_t kFrameBytes = kHeadBytes + 8;  ///< all but the records

  /// Empties it.
  void clear();

  /// Appends a word to be stored. Neighbours in a row share a header.
  void add(uint64_t offset, uint64_t value) {
    if (offset == next_ && words_[record_] >> RedoRecord::kWordsShift < RedoRecord::kMaxWords) {
      words_[record_] += uint64_t{1} << RedoRecord::kWordsShift;
    } else {
      record_ = words_.size();
      words_.push_back(RedoRecord{offset, 8}.header());
    }
    words_.push_back(value);
    next_ = offset + 8;
  }

  bool empty() const { return words_.size() <= kHeadBytes / 8; }

  /// What it takes in the log, sealed or not yet.
  size_t bytes() const { return words_.size() * 8 + (sealed_ ? 0 : 8); }

  /// Completes it.
  void seal(uint64_t timestamp, uint64_t seed);

  const uint64_t* words() const { return words_.data(); }

 private:
  std::vector<uint64_t> words_ = {0, 0};
  size_t record_ = 0;  // where the header of the last record is
  uint64_t next_ = ~uint64_t{0};
  bool sealed_ = false;
};

/// What the second word of a block claims, or 0 if no block in a log of `limit` bytes could.
size_t claimed_block_bytes(uint64_t word, size_t limit);

/// The timestamp, if these are the words of a whole block.
std::optional<uint64_t> block_timestamp(const std::vector<uint64_t>& words, uint64_t seed);

/// Calls f(record, payload) for each record of a whole block. False when they do not add up.
template <class F>
bool for_each_block_record(const std::vector<uint64_t>& words, F&& f) {
  constexpr size_t kHeadWords = CommitBlock::kHeadBytes / 8;
  return for_each_record(words.data() + kHeadWords, words.size() - kHeadWords - 1, f);
}

}  // namespace holdfast
