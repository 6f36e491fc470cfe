// SPDX-License-Identifier: Apache-2.0
//
// The undo log of PMDK's libpmemobj under a reader-writer lock, which is what Romulus (SPAA 2018,
// section 6) compares itself with: whole ranges are saved once, before the transaction changes
// anything in them. libpmemobj leaves isolation to its user.
//
// Area      one line with generation (`epoch`) and number of entries in a word, then one log shared
//           by all threads.
// Entry     { offset, length, checksum } and the old bytes, a whole number of lines. The checksum
//           covers entry, position and generation.
// Store     where bytes are not saved yet: write an entry around the caches, pfence; number of
//           entries + 1, pwb, pfence. Then change the data in place.
// Commit    pwb the changed lines, each once, pfence; generation + 1, no entries, pwb, psync.
// Recovery  restore the entries; pwb, pfence; generation + 1, no entries, psync.
// Persists  2 per range of neighbouring bytes that are saved at once, and 2 per update.
// Reads     run beside each other, never beside a writer. Everything visible is durable.
// Lock      C-RW-WP, or with option readers_first what Romulus took: std::shared_timed_mutex.
//
// Differences from libpmemobj
//  - An entry counts from a word for all of them on. libpmemobj until 1.4, which Romulus measured,
//    stores each entry's bytes, then offset and size, each with a fence: as many. Its newer log has
//    checksums (option `checksums`), and zeroes what is behind an entry with a fence of its own.
//  - Ranges are what Fields store (as its C++ class p<> adds them), not whole objects; option
//    snapshot_bytes widens them.
//  - One log, for the one writer there is, of a fixed size; not one for each of many lanes, with
//    extensions.
//  - Blocks are allocated and freed by transactional stores; its allocator has a redo log of its
//    own, which costs less.
#pragma once

#include <algorithm>

#include "holdfast/engines/pmdk_like/pmdk_options.h"
#include "holdfast/engines/pmdk_like/range_set.h"
#include "holdfast/engines/pmdk_like/reader_writer_lock.h"
#include "holdfast/engines/pmdk_like/readers_first_lock.h"
#include "holdfast/engines/undo/undo_engine.h"

namespace holdfast {
namespace pmdk_like {

/// Bytes are saved when the transaction first stores to them.
class OncePerRange {
 public:
  explicit OncePerRange(const Options& options)
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

  /// No line twice.
  template <class F>
  void for_each_stored(size_t line, F&& visit) const {
    uintptr_t seen = 0;  // lines below have been visited
    stored_.for_each([&](const Range& range) {
      const auto begin = std::max(reinterpret_cast<uintptr_t>(range.begin), seen);
      const auto end = reinterpret_cast<uintptr_t>(range.end());
      if (begin < end) {
        visit(Range{reinterpret_cast<const std::byte*>(begin), end - begin});
        seen = (end + line - 1) / line * line;
      }
    });
  }

 private:
  /// The data begin at a page, so what is added to a range is theirs as well.
  Range widened(const Range& range) const {
    const size_t before = reinterpret_cast<uintptr_t>(range.begin) % unit_;
    return {range.begin - before, (before + range.bytes + unit_ - 1) / unit_ * unit_};
  }

  const size_t unit_;
  RangeSet saved_;   // and fresh
  RangeSet stored_;  // part of it
};

/// Entries of whole lines, written around the caches.
template <class M>
class LineEntries {
 public:
  static constexpr size_t kUnit = kLineBytes;

  LineEntries(M& machine, const Options& options)
      : machine_(machine), counted_(!PmdkOptions::parse(options).value().checksums) {}

  void append(std::byte* to, const std::byte* from, size_t n) {
    machine_.store_nontemporal(to, from, n, Site{"pmdk.entry"});
    // The entry is durable before it counts; without a count, before its bytes are stored over.
    machine_.pfence(Site{"pmdk.entry.fence"});
  }

  bool counted() const { return counted_; }
  void count(uint64_t* word, uint64_t value) {
    M::store(word, value);
    machine_.pwb(word, Site{"pmdk.count"});
    machine_.pfence(Site{"pmdk.count.fence"});  // before the bytes it saves are stored over
  }

 private:
  M& machine_;
  const bool counted_;
};

/// Whichever lock the options ask for.
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
      .plain_reads = true,
      .log = "undo, of ranges",
      .fences = "2 + two per range",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
  };
  template <class M>
  using Lock = EitherLock<M>;
  template <class M>
  using Records = LineEntries<M>;
  using Ranges = OncePerRange;
};

}  // namespace pmdk_like

template <class M>
using PmdkLike = undo::UndoEngine<M, pmdk_like::Pmdk>;

}  // namespace holdfast
