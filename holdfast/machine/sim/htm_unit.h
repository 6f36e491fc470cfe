// SPDX-License-Identifier: Apache-2.0
//
// Hardware transactional memory: who has read and who will write which line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

  bool doomed() const { return doom != AbortCause::none; }
  /// Accesses are transactional now.
  bool active() const { return open && !suspended && !unwinding; }
};

/// Told when a transaction is doomed, whoever caused it.
class DoomListener {
 public:
  virtual void on_doomed(int slot) = 0;

 protected:
  ~DoomListener() = default;
};

/// Conflicts are found eagerly, line by line, and the requester wins: whoever touches a line last
/// dooms the transactions that stand in the way. A doomed transaction gives up its lines and
/// speculative values at once; its thread learns of it at its next operation.
class HtmUnit {
 public:
  HtmUnit(size_t lines, size_t slots, size_t load_limit, size_t store_limit,
          DoomListener& listener);

  Transaction& transaction(int slot) { return transactions_[static_cast<size_t>(slot)]; }

  void begin(int slot, Tracking tracking);
  /// The transaction is over: committed, or doomed and caught.
  void end(int slot);
  void doom(int slot, AbortCause cause);

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

 private:
  struct Line {
    uint64_t readers[kMaxSlots / 64];
    uint16_t writer;  ///< slot + 1
  };

  void evict_writer(int slot, uint32_t line);
  void evict_readers(int slot, uint32_t line);
  void release(int slot);

  ZeroedArray<Line> lines_;
  std::vector<Transaction> transactions_;
  size_t load_limit_;
  size_t store_limit_;
  int open_ = 0;  ///< transactions that hold lines
  DoomListener& listener_;
};

}  // namespace holdfast::sim
