// SPDX-License-Identifier: Apache-2.0
//
// Commit blocks: all that a software engine writes into a log in persistent memory for one
// transaction, in one piece, with one fence behind it.
//
//   block     = checksum length record* end          words of 8 bytes
//   checksum  of the words behind it, seeded with the block's place; never 0
//   length    bytes of the records; in the bits from 40 on, the transactions in the block minus one
//   record    as in redo_record.h: header, then the words to store there
//   end       1 << 63 | timestamp of the last transaction
//
// There is no separate commit record: the transaction has committed if the checksum is right. A
// block that a power failure has cut off, or that belongs to an earlier lap of a circular log, does
// not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"

namespace holdfast {

/// A block while it is built. For one thread; keeps its memory.
class CommitBlock {
 public:
  static constexpr size_t kHeadBytes = 16;
  static constexpr size_t kFrameBytes = kHeadBytes + 8;  ///< all but the records

  void clear();

  /// Appends a word to be stored. Words appended in the order of their addresses share a header.
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

  /// Call it before seal(), where that must not throw bad_alloc.
  void reserve_end() { words_.reserve(words_.size() + 1); }

  bool empty() const { return words_.size() <= kHeadBytes / 8; }

  /// Bytes it takes in the log, once sealed.
  size_t bytes() const { return words_.size() * 8 + (sealed_ ? 0 : 8); }

  /// Calls f(offset, value) for each word to be stored, in the order of add(), before seal().
  template <class F>
  void for_each_word(F&& f) const {
    constexpr size_t kHeadWords = kHeadBytes / 8;
    for_each_record(words_.data() + kHeadWords, words_.size() - kHeadWords,
                    [&](RedoRecord record, const uint64_t* payload) {
                      for (size_t i = 0; i < record.bytes / 8; ++i) {
                        f(record.offset + 8 * i, payload[i]);
                      }
                    });
  }

  /// Completes the block, without an allocation after reserve_end(). `seed` depends on its place
  /// in the log. The block stands for so many transactions, with consecutive timestamps up to this
  /// one.
  void seal(uint64_t timestamp, uint64_t seed, uint64_t transactions = 1);

  const uint64_t* words() const { return words_.data(); }

 private:
  std::vector<uint64_t> words_ = {0, 0};
  size_t record_ = 0;  // index of the last record's header
  uint64_t next_ = ~uint64_t{0};
  bool sealed_ = false;
};

/// The length of a block according to its second word, or 0 if no block in a log of `limit` bytes
/// can have it.
size_t claimed_block_bytes(uint64_t word, size_t limit);

/// The number of transactions that a whole block stands for.
uint64_t block_transactions(const std::vector<uint64_t>& words);

/// The timestamp if `words` are a whole block, else nothing.
std::optional<uint64_t> block_timestamp(const std::vector<uint64_t>& words, uint64_t seed);

/// Calls f(record, payload) for each record of a whole block. Returns false if the lengths do not
/// match.
template <class F>
bool for_each_block_record(const std::vector<uint64_t>& words, F&& f) {
  constexpr size_t kHeadWords = CommitBlock::kHeadBytes / 8;
  return for_each_record(words.data() + kHeadWords, words.size() - kHeadWords - 1, f);
}

}  // namespace holdfast
