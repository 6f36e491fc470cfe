// SPDX-License-Identifier: Apache-2.0
//
// sim/htm/: hardware transactional memory of the simulated machine. This header: transactions, the
// lines that they hold, and conflicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/htm/held_lines.h"
#include "holdfast/machine/sim/htm/speculative_words.h"

namespace holdfast::sim {

/// The transaction of one thread.
struct Transaction {
  bool open = false;
  bool suspended = false;
  /// Between the throw of HtmAbort and caught(): stores are dropped, loads return memory's content.
  bool unwinding = false;
  Tracking tracking = Tracking::all;
  AbortCause doom = AbortCause::none;
  AbortCode code = AbortCode::none;  ///< of the last abort by its own thread
  std::vector<uint32_t> read_lines;
  std::vector<uint32_t> written_lines;
  SpeculativeWords words;
  size_t in_both = 0;  ///< lines read first and then written; in a common table they keep one entry

  bool doomed() const { return doom != AbortCause::none; }
  /// True if the thread's accesses belong to the transaction now.
  bool active() const { return open && !suspended && !unwinding; }
};

/// Learns of the fate of transactions.
class HtmListener {
 public:
  virtual void on_doomed(int slot) = 0;
  /// The transaction gives up the lines that it holds, because it was doomed or has committed.
  virtual void on_released(int slot, const Transaction& tx, bool aborted) = 0;

 protected:
  ~HtmListener() = default;
};

/// The capacity of transactions.
struct HtmLimits {
  size_t loads = 0;       ///< lines read and not written, per group
  size_t stores = 0;      ///< lines written, per group
  bool together = false;  ///< one table of `stores` lines for both
};

/// The transactions of all threads, and the rules of conflicts. Conflicts are found line by line
/// and at once, and the requester wins: the latest access to a line dooms the transactions in
/// conflict with it. A doomed transaction gives up its lines and speculative values at once; its
/// thread finds out at its next operation.
class HtmUnit {
 public:
  HtmUnit(size_t slots, const HtmLimits& limits, HtmListener& listener);

  /// Puts a slot into a group. The slots of a group share the limits, divided by `parts`. Initially
  /// each slot has a group of its own. No transaction may be open.
  void set_group(int slot, int group, int parts = 1);

  Transaction& transaction(int slot) { return transactions_[static_cast<size_t>(slot)]; }

  void begin(int slot, Tracking tracking);
  /// The transaction has committed, or was doomed and its thread has called caught().
  void end(int slot);
  void doom(int slot, AbortCause cause);

  // Accesses outside transactions. A suspended access of a thread with an open transaction is one
  // of them: it does not conflict with the thread's own read set; a store to its own write set
  // dooms its transaction.
  void plain_load(int slot, uint32_t line) {
    if (const Holders* holders = held_.find(line)) {
      evict_writer(slot, *holders);
    }
  }
  void plain_store(int slot, uint32_t line);

  /// A load by an active transaction. May doom it for capacity.
  void transactional_load(int slot, uint32_t line);
  /// A transactional store leaves the store buffer. May doom the transaction for capacity.
  void transactional_store(int slot, uint32_t line);
  bool owns(int slot, uint32_t line) const {
    const Holders* holders = held_.find(line);
    return holders != nullptr && holders->writer == slot + 1;
  }
  bool reads(int slot, uint32_t line) const {
    const Holders* holders = held_.find(line);
    return holders != nullptr && holders->has_reader(slot);
  }
  /// The thread of this slot asks for the line for writing. Dooms all other transactions that hold
  /// it.
  void request_exclusive(int slot, uint32_t line) {
    if (const Holders* holders = held_.find(line)) {
      evict_others(slot, *holders);
    }
  }
  /// True if some transaction holds the line.
  bool tracked(uint32_t line) const { return held_.find(line) != nullptr; }
  /// A cache that tracked the line has lost it. Dooms for capacity those of its readers, or its
  /// writer, whose slots are `concerned`.
  void lost(uint32_t line, bool readers, bool writer, FunctionRef<bool(int slot)> concerned);

 private:
  using Holders = HeldLines::Holders;

  struct Usage {
    size_t loads = 0;
    size_t stores = 0;
    size_t parts = 1;
  };

  // Holders are passed by value, because a doomed transaction gives up its lines and so changes
  // held_.
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
