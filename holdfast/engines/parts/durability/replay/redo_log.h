// SPDX-License-Identifier: Apache-2.0
//
// A thread's circular redo log in persistent memory (FUR 3.2.2). A transaction's records
// (redo_record.h) start at a cache line and may wrap around the end of the log. The durability
// marker holds start and length.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "holdfast/base/round.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// One thread's log, for its owner. Positions count bytes since the engine started and never wrap.
/// The next transaction overwrites the records of an aborted one, to which no marker refers.
template <class M>
class RedoLog {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  /// The replayer advances `freed`.
  RedoLog(M& machine, const RedoLogArea& area, int thread, const Position* freed)
      : machine_(machine), base_(area.of(thread)), bytes_(area.bytes), freed_(freed) {}

  /// Continues at the position where a former engine stopped on this log; `freed` must equal it.
  void resume(uint64_t position) { head_ = position; }

  uint64_t size() const { return bytes_; }
  uint64_t head() const { return head_; }
  uint64_t start() const { return head_ % bytes_; }
  /// Acquire: a store into freed space comes after the replayer's last load from it.
  uint64_t free_bytes() const { return bytes_ - (head_ - freed_->load(std::memory_order_acquire)); }
  /// Bytes that a transaction may take.
  uint64_t room() const { return machine_.skips(Site{"log.room"}) ? bytes_ : free_bytes(); }

  /// Copies n bytes to the head and begins to write them back. The head stays where it is.
  void write(const uint64_t* words, uint64_t n, Site site) {
    const uint64_t at = start();
    const uint64_t straight = n < bytes_ - at ? n : bytes_ - at;
    copy_out(at, words, straight, site);
    if (straight < n) {
      M::reach(Probe{"log.wraps"});
      copy_out(0, words + straight / 8, n - straight, site);
    }
  }

  /// Moves the head to the next line, once the transaction just written has its marker.
  void advance(uint64_t n) { head_ += taken(machine_, n); }

  /// Space that n bytes of records take in a log: whole lines.
  static uint64_t taken(const M& machine, uint64_t n) {
    const uint64_t line = machine.line_bytes();
    return round_up(n, line);
  }

 private:
  void copy_out(uint64_t at, const uint64_t* words, uint64_t n, Site site) {
    M::copy(base_ + at, words, n);
    machine_.pwb_range(base_ + at, n, site);
  }

  M& machine_;
  std::byte* base_;
  uint64_t bytes_;
  const Position* freed_;
  uint64_t head_ = 0;
};

}  // namespace holdfast
