// SPDX-License-Identifier: Apache-2.0
//
// The undo log of PMDK's libpmemobj under a reader-writer lock. Romulus (SPAA 2018, section 6)
// compares itself with this combination. libpmemobj leaves isolation to its user.
//
// Idea      Save each range of bytes once, before the transaction changes anything in it.
// Area      one line with the state word: generation (`epoch`), number of entries, check | one log
//           for all threads, because only one thread writes
// Entry     {offset, length, checksum} and the old bytes, a whole number of lines. The checksum
//           covers the entry, its position and the generation.
// Store     If bytes are not saved yet: write an entry around the caches, pfence; number of entries
//           + 1, pwb, pfence. Then change the data in place.
// Commit    pwb the changed lines, each once, pfence; generation + 1, no entries, pwb, psync.
// Recovery  Restore the entries; pwb, pfence; generation + 1, no entries, pwb, psync.
// Persists  2 pfence per range of neighboring bytes that are saved at once; 1 pfence and 1 psync
//           per update; none per read.
// Reads     Readers run beside each other, never beside a writer. Everything visible is durable.
// Lock      C-RW-WP. Option readers_first selects a lock as std::shared_timed_mutex, which Romulus
//           used.
//
// Differences from libpmemobj
//  - One word counts all entries. libpmemobj until 1.4, which Romulus measured, stores an entry's
//    bytes, then its offset and size, each with a fence: also two fences. Its newer log has
//    checksums (option `checksums`), and zeroes the line behind an entry with a fence of its own.
//  - A range has the bytes that a Field stores, as with libpmemobj's C++ class p<>, not a whole
//    object. Option snapshot_bytes widens ranges.
//  - One log of a fixed size serves the one writer. libpmemobj has one for each of many lanes, with
//    extensions.
//  - Transactional stores allocate and free blocks. libpmemobj's allocator has a redo log of its
//    own, which costs less.
#pragma once

#include <algorithm>

#include "holdfast/base/round.h"
#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/engines/parts/durability/undo/undo_log.h"
#include "holdfast/engines/pmdk_like/pmdk_options.h"
#include "holdfast/engines/pmdk_like/range_set.h"
#include "holdfast/engines/pmdk_like/reader_writer_lock.h"
#include "holdfast/engines/pmdk_like/readers_first_lock.h"
#include "holdfast/engines/undo/undo_engine.h"

namespace holdfast {
namespace pmdk_like {

/// Saves bytes when the transaction first stores to them.
class OncePerRange {
 public:
  template <class M>
  OncePerRange(M& /*machine*/, const Regions& /*regions*/, const Options& options)
      : unit_(PmdkOptions::parse(options).value().snapshot_bytes) {}

  void clear() {
    saved_.clear();
    stored_.clear();
  }
  bool any() const { return !stored_.empty(); }

  void fresh(const Range& block) {
    saved_.add(block, [](const Range&) {});
  }

  template <class F>
  void add(const Range& range, F&& save) {
    if (stored_.covers(range)) {
      return;
    }
    if (!saved_.covers(range)) {
      saved_.add(widened(range), save);
    }
    stored_.add(range, [](const Range&) {});
  }

  /// Visits no line twice.
  template <class F>
  void for_each_stored(size_t line, F&& visit) const {
    uintptr_t seen = 0;  // lines below have been visited
    stored_.for_each([&](const Range& range) {
      const auto begin = std::max(reinterpret_cast<uintptr_t>(range.begin), seen);
      const auto end = reinterpret_cast<uintptr_t>(range.end());
      if (begin < end) {
        visit(Range{reinterpret_cast<const std::byte*>(begin), end - begin});
        seen = round_up(end, line);
      }
    });
  }

 private:
  /// `range`, widened to multiples of snapshot_bytes. The data begin and end at pages, so the
  /// result lies within the data.
  Range widened(const Range& range) const {
    const size_t before = reinterpret_cast<uintptr_t>(range.begin) % unit_;
    return {range.begin - before, round_up(before + range.bytes, unit_)};
  }

  const size_t unit_;
  RangeSet saved_;   // bytes with an entry, and fresh blocks
  RangeSet stored_;  // bytes stored to, a part of saved_
};

/// Appends entries of whole lines, around the caches.
template <class M>
class LineEntries {
 public:
  static constexpr size_t kUnit = kLineBytes;

  LineEntries(M& machine, const Options& options)
      : machine_(machine), counted_(!PmdkOptions::parse(options).value().checksums) {}

  void append(std::byte* to, const std::byte* from, size_t n) {
    machine_.store_nontemporal(to, from, n, Site{"pmdk.entry"});
    // The entry is durable before it counts; without a count, before its bytes are overwritten.
    machine_.pfence(Site{"pmdk.entry.fence"});
  }

  bool counted() const { return counted_; }
  static constexpr bool ordered() { return true; }
  void count(uint64_t* word, uint64_t value) {
    M::store(word, value);
    machine_.pwb(word, Site{"pmdk.count"});
    // The count is durable before the saved bytes are overwritten.
    machine_.pfence(Site{"pmdk.count.fence"});
  }

 private:
  M& machine_;
  const bool counted_;
};

/// The lock that the options select.
template <class M>
class EitherLock {
 public:
  EitherLock(M& machine, const Options& options)
      : is_readers_first_(PmdkOptions::parse(options).value().readers_first),
        readers_first_(machine),
        writers_first_(machine) {}

  void lock() { is_readers_first_ ? readers_first_.lock() : writers_first_.lock(); }
  void unlock() { is_readers_first_ ? readers_first_.unlock() : writers_first_.unlock(); }

  bool enter(int slot) {
    if (is_readers_first_) {
      readers_first_.enter();
      return true;
    }
    return writers_first_.enter(slot);
  }
  void leave(int slot, bool shared) {
    is_readers_first_ ? readers_first_.leave() : writers_first_.leave(slot, shared);
  }

 private:
  const bool is_readers_first_;
  ReadersFirstLock<M> readers_first_;
  ReaderWriterLock<M> writers_first_;
};

struct Pmdk {
  static constexpr Description kDescription = {
      .name = "pmdk-like",
      .title = "PMDK's undo log of ranges under a reader-writer lock",
      .paper = "PMDK, libpmemobj; Romulus (SPAA 2018), section 6",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .answers_behind_psync = true,
      .plain_reads = true,
      .log = "undo, of ranges",
      .fences = "2 + two per range",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes_with_lag<&area_bytes>,
      .promise = &LagOptions::promise,
  };
  template <class M>
  using Lock = EitherLock<M>;
  template <class M>
  using Log = UndoLog<M, LineEntries<M>>;
  template <class M>
  using Ranges = OncePerRange;
};

}  // namespace pmdk_like

template <class M>
using PmdkLike = undo::UndoEngine<M, pmdk_like::Pmdk>;

}  // namespace holdfast
