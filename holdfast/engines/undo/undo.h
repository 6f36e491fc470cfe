// SPDX-License-Identifier: Apache-2.0
//
// Textbook undo logging under one lock: the simplest correct engine, and the yardstick for the
// others. (Gray and Reuter, "Transaction Processing", 1992, chapter 10.)
//
// Idea      Save the old bytes of each store durably before the data change in place. Recovery puts
//           the saved bytes back.
// Area      one line with the epoch | one log for all threads, because only one thread writes
// Record    {offset, length, check} and the old bytes. `check` covers the record, its position and
//           the epoch. So a torn or outdated record ends the log by itself, and no count is stored.
// Store     Append the record, pwb, pfence; only then change the data in place.
// Commit    pwb the changed lines, pfence; epoch + 1 (which empties the log), pwb, psync.
// Recovery  Restore the records of the current epoch, the last one first; pwb, pfence; epoch + 1,
//           pwb, psync. Restoring twice gives the same bytes, so a crash in recovery is harmless.
// Persists  1 pfence per record; 1 pfence and 1 psync per update; none per read. A block that the
//           transaction has allocated needs no record: after a rollback it is free again.
// Reads     Readers take the same lock. Everything visible is durable, so no reader waits for
//           durability.
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/engines/parts/durability/lag/lag_options.h"
#include "holdfast/engines/parts/durability/undo/undo_log.h"
#include "holdfast/engines/undo/one_lock.h"
#include "holdfast/engines/undo/undo_engine.h"
#include "holdfast/engines/undo/undo_options.h"

namespace holdfast {
namespace undo {

inline constexpr OptionInfo kOptions[] = {kLogBytesOption, kCommitOption, kLagOption,
                                          kLagTimeOption};

/// Each store gets a record, except stores into blocks that the transaction has allocated.
class EveryStore {
 public:
  template <class M>
  EveryStore(M& /*machine*/, const Regions& /*regions*/, const Options& /*options*/) {}

  void clear() {
    fresh_.clear();
    stored_.clear();
  }
  bool any() const { return !stored_.empty(); }

  void fresh(const Range& block) { fresh_.push_back(block); }

  template <class F>
  void add(const Range& range, F&& save) {
    const bool own = std::any_of(fresh_.rbegin(), fresh_.rend(),
                                 [&](const Range& block) { return block.covers(range); });
    if (!own) {
      save(range);
    }
    if (!stored_.empty() && stored_.back().end() == range.begin) {
      stored_.back().bytes += range.bytes;  // structures are filled field by field
    } else {
      stored_.push_back(range);
    }
  }

  template <class F>
  void for_each_stored(size_t /*line*/, F&& visit) const {
    for (const Range& range : stored_) {
      visit(range);
    }
  }

 private:
  std::vector<Range> fresh_;
  std::vector<Range> stored_;
};

/// Appends records without gaps, through the caches.
template <class M>
class PackedRecords {
 public:
  static constexpr size_t kUnit = sizeof(uint64_t);

  PackedRecords(M& machine, const Options& /*options*/) : machine_(machine) {}

  void append(std::byte* to, const std::byte* from, size_t n) {
    M::copy(to, from, n);
    machine_.pwb_range(to, n, Site{"undo.log"});
    // The old bytes are durable in the log before the data change.
    machine_.pfence(Site{"undo.log.fence"});
  }
  static constexpr bool counted() { return false; }
  static constexpr bool ordered() { return true; }
  void count(uint64_t* /*word*/, uint64_t /*value*/) {}

 private:
  M& machine_;
};

struct Textbook {
  static constexpr Description kDescription = {
      .name = "undo",
      .title = "undo log under one lock",
      .paper = "textbook",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .answers_behind_psync = true,
      .plain_reads = true,
      .log = "undo",
      .fences = "2 + one per store",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes_with_lag<&area_bytes>,
      .promise = &LagOptions::promise,
  };
  template <class M>
  using Lock = OneLock<M>;
  template <class M>
  using Log = UndoLog<M, PackedRecords<M>>;
  template <class M>
  using Ranges = EveryStore;
};

}  // namespace undo

template <class M>
using Undo = undo::UndoEngine<M, undo::Textbook>;

}  // namespace holdfast
