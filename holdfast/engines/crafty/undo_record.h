// SPDX-License-Identifier: Apache-2.0
//
// A thread's undo log in persistent memory. It holds one record, for the thread's latest
// transaction. Each record overwrites the one before, which by then is certain to survive, or will
// never be redone.
//
//   record = blocks, one after another; a single block, except under the lock
//   block  = committed | base | serial : 32, entries : 32 | check | entries {offset, old value}
//
//   base       the number of the transaction after which the old values were current
//   committed  of the first block: the number of this transaction, or 0; carries its own check
//   check      of base, serial, entries, thread and position
//
// A block with a valid check is true, even if torn or old bytes surround it: its words held these
// values after number `base`. The serial distinguishes blocks of different records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/engines/crafty/crafty_options.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"

namespace holdfast {

struct UndoEntry {
  uint64_t offset;  ///< in the heap's data, of an aligned word
  uint64_t old;
};
static_assert(sizeof(UndoEntry) == CraftyArea::kEntryBytes);

/// One thread's log. For that thread; find() for recovery.
template <class M>
class UndoRecord {
 public:
  UndoRecord(M& machine, const CraftyArea& area, std::byte* base, int thread)
      : machine_(machine),
        area_(area),
        log_(base + area.log_offset + static_cast<size_t>(thread) * area.log_extent),
        thread_(thread) {}

  // ---- Writing, by the owner of the log.

  /// Begins another record. Entries of the last one that were not sealed are dropped.
  void begin() {
    entries_.clear();
    sealed_ = 0;
    at_ = 0;
    ++serial_;
  }

  uint64_t capacity() const { return area_.entries; }
  const std::vector<UndoEntry>& entries() const { return entries_; }
  uint64_t* committed_word() const { return word(0); }

  /// Adds an entry to the open block. The caller stores its two words to place().
  void add(uint64_t offset, uint64_t old) { entries_.push_back({offset, old}); }
  /// Place of the open block's newest entry.
  uint64_t* place() const {
    const size_t index = entries_.size() - sealed_ - 1;
    return word(at_ + CraftyArea::kBlockHeadBytes + index * sizeof(UndoEntry));
  }

  /// Completes the open block, whose entries are in place, and begins to write it back.
  void seal(uint64_t base, Site site) {
    const uint64_t count = entries_.size() - sealed_;
    const size_t bytes = CraftyArea::kBlockHeadBytes + count * sizeof(UndoEntry);
    const uint64_t sizes = serial_ << 32 | count;
    M::store(word(at_), uint64_t{0});
    M::store(word(at_ + 8), base);
    M::store(word(at_ + 16), sizes);
    // Release: a line whose check is valid shows `committed` of this record as well, on the medium
    // too. The check does not cover it, and an older number there would count.
    M::store_release(word(at_ + 24), check(at_, base, sizes, entries_.data() + sealed_));
    machine_.pwb_range(log_ + at_, bytes, site);
    sealed_ = entries_.size();
    at_ += bytes;
  }

  /// Bytes of the record so far.
  uint64_t bytes() const { return at_; }

  // ---- Reading, in recovery.

  struct LoggedRecord {
    uint64_t base = 0;
    uint64_t number = 0;  ///< 0: nothing shows that it has committed
    std::vector<UndoEntry> entries;
    bool damaged = false;

    /// Recovery's order. A record without a number is newer than the state in which it was logged.
    uint64_t age() const { return number != 0 ? 2 * number : 2 * base + 1; }
  };

  /// The record in the log; without entries if there is none.
  LoggedRecord find() const {
    LoggedRecord found;
    uint64_t first = 0;
    size_t at = 0;
    while (at + CraftyArea::kBlockHeadBytes <= area_.log_extent) {
      const uint64_t base = M::load(word(at + 8));
      const uint64_t sizes = M::load(word(at + 16));
      const uint64_t count = sizes & 0xffff'ffff;
      const size_t room = area_.log_extent - at - CraftyArea::kBlockHeadBytes;
      const bool foreign = at != 0 && (base != found.base || sizes >> 32 != first >> 32);
      if (foreign || count == 0 || count > room / sizeof(UndoEntry)) {
        break;
      }
      std::vector<UndoEntry> entries(count);
      M::copy(entries.data(), word(at + CraftyArea::kBlockHeadBytes), count * sizeof(UndoEntry));
      if (M::load(word(at + 24)) != check(at, base, sizes, entries.data()) &&
          !machine_.skips(Site{"crafty.recover.check"})) {
        break;
      }
      if (at == 0) {
        first = sizes;
        found.base = base;
        if (const uint64_t committed = M::load(committed_word()); committed != 0) {
          found.number = decode_tail(committed).value_or(0);
          found.damaged = found.number <= base;  // seal() clears the word, so it is no old number
        }
      }
      found.entries.insert(found.entries.end(), entries.begin(), entries.end());
      at += CraftyArea::kBlockHeadBytes + count * sizeof(UndoEntry);
    }
    return found;
  }

 private:
  uint64_t* word(size_t at) const { return reinterpret_cast<uint64_t*>(log_ + at); }

  uint64_t check(size_t at, uint64_t base, uint64_t sizes, const UndoEntry* entries) const {
    const uint64_t place = static_cast<uint64_t>(thread_) << 40 | at;
    const uint64_t seed = mix64(base ^ mix64(sizes ^ mix64(place)));
    return holdfast::checksum(entries, (sizes & 0xffff'ffff) * sizeof(UndoEntry), seed);
  }

  M& machine_;
  CraftyArea area_;
  std::byte* log_;
  int thread_;
  std::vector<UndoEntry> entries_;  // of the record, as logged
  size_t sealed_ = 0;               // entries in complete blocks
  size_t at_ = 0;                   // where the open block begins
  uint64_t serial_ = 0;
};

}  // namespace holdfast
