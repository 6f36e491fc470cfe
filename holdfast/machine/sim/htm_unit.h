// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactional memory: who has read and who will write which line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/speculative_words.h"
#include "holdfast/machine/sim/zeroed_array.h"

namespace holdfast::sim {

/// Most slots a transaction's line can record: workers, main and background together.
inline constexpr int kMaxSlots = 128;

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
  HtmUnit(size_t lines, size_t slots, const HtmLimits& limits, HtmListener& listener,
          bool huge_table = false, HostPages* pages = nullptr);
  ~HtmUnit();

  /// Slots of one group share the limits, of which the group has one part of `parts`; at first each
  /// is a group of its own. With no transaction open.
  void set_group(int slot, int group, int parts = 1);

  Transaction& transaction(int slot) { return transactions_[static_cast<size_t>(slot)]; }

  void begin(int slot, Tracking tracking);
  /// The transaction is over: committed, or doomed and caught.
  void end(int slot);
  void doom(int slot, AbortCause cause);

  /// Tells the host that the line will be asked about.
  void prefetch(uint32_t line) const { __builtin_prefetch(&lines_[line]); }

  /// An access that belongs to no transaction. One of them, by a thread with an open transaction,
  /// is a suspended access: its own read set does not mind; a store to its own write set dooms it.
  void plain_load(int slot, uint32_t line) {
    if (open_ != 0) {
      evict_writer(slot, line);
    }
  }
  void plain_store(int slot, uint32_t line);

  /// A load by an active transaction; may doom it for capacity.
  void transactional_load(int slot, uint32_t line);
  /// A transactional store leaves the store buffer; may doom the transaction for capacity.
  void transactional_store(int slot, uint32_t line);
  bool owns(int slot, uint32_t line) const { return lines_[line].writer == slot + 1; }
  bool reads(int slot, uint32_t line) const {
    const auto bit = static_cast<unsigned>(slot);
    return (lines_[line].readers[bit / 64] >> (bit % 64) & 1) != 0;
  }
  /// Somebody asks for the line to write it: all other transactions that hold it are doomed.
  void request_exclusive(int slot, uint32_t line) {
    if (open_ != 0) {
      evict_writer(slot, line);
      evict_readers(slot, line);
    }
  }
  /// Some transaction holds the line.
  bool tracked(uint32_t line) const {
    const Line& l = lines_[line];
    return open_ != 0 && (l.writer != 0 || l.readers[0] != 0 || l.readers[1] != 0);
  }
  /// The place where some slots' transactions remembered the line is gone: dooms its readers, its
  /// writer, among them, for capacity.
  void lost(uint32_t line, bool readers, bool writer, FunctionRef<bool(int slot)> concerned);

 private:
  struct Line {
    uint64_t readers[kMaxSlots / 64];
    uint16_t writer;  ///< slot + 1
  };
  static_assert(kMaxSlots / 64 == 2);

  struct Usage {
    size_t loads = 0;
    size_t stores = 0;
    size_t parts = 1;
  };

  void evict_writer(int slot, uint32_t line);
  void evict_readers(int slot, uint32_t line);
  template <class F>
  void for_each_reader(uint32_t line, F&& f);
  void release(int slot);
  Usage& usage(int slot) {
    return usage_[static_cast<size_t>(group_of_[static_cast<size_t>(slot)])];
  }
  bool full(int slot, bool store);

  ZeroedArray<Line> lines_;
  std::vector<Transaction> transactions_;
  HtmLimits limits_;
  std::vector<int> group_of_;  ///< by slot
  std::vector<Usage> usage_;   ///< by group
  int open_ = 0;               ///< transactions that hold lines
  HtmListener& listener_;
};

}  // namespace holdfast::sim
