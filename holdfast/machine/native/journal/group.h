// SPDX-License-Identifier: Apache-2.0
//
// Groups: the pieces that a journal is written in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/journal/line_cache.h"

namespace holdfast::native {

/// The journal is written in whole blocks, so no write shares a block with an older durable group.
/// The size is that of a page, which the file systems in question write as one unit.
inline constexpr uint64_t kJournalBlock = kPageBytes;
/// The most lines of one run.
inline constexpr uint64_t kMostRunLines = 64;

/// The first bytes of a group, little endian. The runs follow.
struct GroupHead {
  char magic[8];
  uint64_t checksum;  ///< XXH3 of the bytes behind it, up to `bytes`; its seed is the salt
  uint64_t number;    ///< one more than that of the group before
  uint64_t bytes;     ///< of the group, without the padding to whole blocks
  uint64_t begin;     ///< the journal's position before the group
  uint64_t end;       ///< and behind it: at most `end` - `begin` lines, the newest copy of each
  uint64_t durable;   ///< the position up to which the journal was durable when it was written
  uint64_t reserved;  ///< 0
};
static_assert(sizeof(GroupHead) == 64);

/// Gathers lines and encodes them as a group:
///
///   group  := head record* padding
///   record := run | change
///   run    := (offset in the file | number of lines - 1), lines
///   change := (offset in the file | words << 48 | 1 << 63), the words that changed
///
/// The offset is a multiple of the line, so its low bits have room for the number, and its high
/// ones for the words. Recovery takes a group as a whole, so a group needs the newest copy of each
/// line only. A change is relative to the line in the groups before, or at home if these have none.
class GroupBuilder {
 public:
  /// `most_bytes`: of a group, whole blocks.
  explicit GroupBuilder(uint64_t most_bytes);

  /// Returns the place for the content of the line at `offset`: that of its former copy if the
  /// group has the line already. Null if the group is full. The place is good until the next call.
  std::byte* place(uint64_t offset);
  bool full() const { return most_bytes_ - size_ < kRunHeadBytes + kLineBytes; }
  bool empty() const { return size_ == sizeof(GroupHead); }
  /// Groups may have up to `most_bytes` from here on, no fewer than before.
  void extend(uint64_t most_bytes) { most_bytes_ = most_bytes; }
  uint64_t bytes() const { return size_; }

  /// Completes `head` and returns the whole group, padded to blocks. With a cache, lines that it
  /// has become changes, or are left out if nothing changed. All groups of this journal must have
  /// been sealed with the same cache, in their order.
  std::span<const std::byte> seal(GroupHead head, uint64_t salt, LineCache* cache = nullptr);
  void clear();

 private:
  static constexpr uint64_t kRunHeadBytes = sizeof(uint64_t);

  /// The place of a line, in a hash table with linear probing.
  struct Known {
    uint64_t offset = 0;
    uint32_t at = 0;     // in bytes_
    uint32_t round = 0;  // the entry is empty unless this is round_
  };

  Known& find(uint64_t offset);
  void grow(uint64_t bytes);
  uint64_t encode_changes(LineCache& cache);

  uint64_t most_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> changes_;  // the group as seal() returns it, if it has a cache
  uint64_t size_ = sizeof(GroupHead);
  uint64_t run_ = 0;        // place of the last run's head; 0: none
  uint64_t run_lines_ = 0;  // lines of that run
  uint64_t run_end_ = 0;    // offset behind them
  std::vector<Known> known_;
  uint32_t round_ = 1;
};

/// Returns the group's length in whole blocks.
uint64_t padded_bytes(const GroupHead& head);

/// Reads a group's head from its first block. False if these bytes begin no group. The rest of the
/// group may be damaged.
bool read_group_head(std::span<const std::byte> block, GroupHead& head);

/// True if the bytes, the head's `bytes` long, are the whole group with this salt, and its runs
/// have no more lines than the head says.
bool is_whole_group(std::span<const std::byte> group, uint64_t salt);

/// A line of a group, or some of its words, in ascending order.
using JournalLineVisitor =
    FunctionRef<void(uint64_t offset, WordMask mask, const std::byte* words)>;
/// Visits the lines of a whole group, each once.
void for_each_line(std::span<const std::byte> group, const JournalLineVisitor& visit);

/// Puts these words into a line. Does not store to words that have the value already.
void put_words(std::byte* line, WordMask mask, const std::byte* words);

}  // namespace holdfast::native
