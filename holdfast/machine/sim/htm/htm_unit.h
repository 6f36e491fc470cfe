// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactional memory: who has read and who will write which line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/htm/held_lines.h"
#include "holdfast/machine/sim/htm/speculative_words.h"

namespace holdfast::sim {

/// One thread's transaction.
struct Transaction {
  bool open = false;
  bool suspended = false;
  /// HtmAbort was thrown and caught() not called yet: stores are dropped, loads are raw.
  bool unwinding = false;
  Tracking tracking = Tracking::all;
  AbortCause doom = AbortCause::none;
  std::vector<uint32_t> read_lines;
  std::vector<uint32_t> written_lines;
  SpeculativeWords words;
  size_t in_both = 0;  ///< written lines that were read first and keep that entry of a common table

  bool doomed() const { return doom != AbortCause::none; }
  /// Accesses are transactional now.
  bool active() const { return open && !suspended && !unwinding; }
};

/// Told what becomes of transactions, whoever caused it.
class HtmListener {
 public:
  virtual void on_doomed(int slot) = 0;
  /// The transaction gives up the lines it holds: it was aborted, or has committed.
  virtual void on_released(int slot, const Transaction& tx, bool aborted) = 0;

 protected:
  ~HtmListener() = default;
};

/// What makes a transaction too large.
struct HtmLimits {
  size_t loads = 0;       ///< lines read and not written, of one group
  size_t stores = 0;      ///< lines written
  bool together = false;  ///< one table of `stores` lines for both
};

/// Conflicts are found eagerly, line by line, and the requester wins: whoever touches a line last
/// dooms the transactions that stand in the way. A doomed transaction gives up its lines and
/// speculative values at once; its thread learns of it at its next operation.
class HtmUnit {
 public:
  HtmUnit(size_t slots, const HtmLimits& limits, HtmListener& listener);

  /// Slots of one group share the limits, of which the group has one part of `parts`; at first each
  /// is a group of its own. With no transaction open.
  void set_group(int slot, int group, int parts = 1);

  Transaction& transaction(int slot) { return transactions_[static_cast<size_t>(slot)]; }

  void begin(int slot, Tracking tracking);
  /// The transaction is over: committed, or doomed and caught.
  void end(int slot);
  void doom(int slot, AbortCause cause);

  /// An access that belongs to no transaction. One of them, by a thread with an open transaction,
  /// is a suspended access: its own read set does not mind; a store to its own write set dooms it.
  void plain_load(int slot, uint32_t line) {
    if (const Holders* holders = held_.find(line)) {
      evict_writer(slot, *holders);
    }
  }
  void plain_store(int slot, uint32_t line);

  /// A load by an active transaction; may doom it for capacity.
  void transactional_load(int slot, uint32_t line);
  /// A transactional store leaves the store buffer; may doom the transaction for capacity.
  void transactional_store(int slot, uint32_t line);
  bool owns(int slot, uint32_t line) const {
    const Holders* holders = held_.find(line);
    return holders != nullptr && holders->writer == slot + 1;
  }
  bool reads(int slot, uint32_t line) const {
    const Holders* holders = held_.find(line);
    return holders != nullptr && holders->has_reader(slot);
  }
  /// Somebody asks for the line to write it: all other transactions that hold it are doomed.
  void request_exclusive(int slot, uint32_t line) {
    if (const Holders* holders = held_.find(line)) {
      evict_others(slot, *holders);
    }
  }
  /// Some transaction holds the line.
  bool tracked(uint32_t line) const { return held_.find(line) != nullptr; }
  /// The place where some slots' transactions remembered the line is gone: dooms its readers, its
  /// writer, among them, for capacity.
  void lost(uint32_t line, bool readers, bool writer, FunctionRef<bool(int slot)> concerned);

 private:
  using Holders = HeldLines::Holders;

  struct Usage {
    size_t loads = 0;
    size_t stores = 0;
    size_t parts = 1;
  };

  // By value: whoever is doomed gives up its lines.
  void evict_writer(int slot, Holders holders);
  void evict_others(int slot, Holders holders);
  template <class F>
  static void for_each_reader(const Holders& holders, F&& f);
  void release(int slot);
  Usage& usage(int slot) {
    return usage_[static_cast<size_t>(group_of_[static_cast<size_t>(slot)])];
  }
  bool full(int slot, bool store);

  HeldLines held_;
  std::vector<Transaction> transactions_;
  HtmLimits limits_;
  std::vector<int> group_of_;  ///< by slot
  std::vector<Usage> usage_;   ///< by group
  HtmListener& listener_;
};

}  // namespace holdfast::sim
