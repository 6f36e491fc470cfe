// SPDX-License-Identifier: Apache-2.0
//
// Crafty: nondestructive undo logging in unmodified hardware transactions (Genç, Bond, Xu, PLDI
// 2020). In place: no working copy, no replay.
//
// Idea      A hardware transaction cannot make an undo entry durable before it stores. So it runs
//           the body, logs the old values, puts them back, and commits. Now the log can be flushed.
//           Only then a second hardware transaction stores the new values.
// Area      header | a mark per thread: everything up to this number is durable | a log per thread
// Log       Hardware transaction: subscribe to the lock; each first store to a word appends
//           {place, old value} to the log; at the end keep the new values, put the old ones back,
//           base := the last number; commit. Then the block's head, flush, fence.
// Redo      Hardware transaction: if the last number is still base, store the new values;
//           number := last := base + 1, committed := number; commit.
// Validate  Otherwise a hardware transaction runs the body again, which must store to the same
//           words, over the same old values; number := ++last, committed := number; commit. If the
//           body does not, the update begins again at Log.
// Commit    Flush data and `committed`, fence: hardened. Wait until no other update with a smaller
//           number is in Log, Redo or Validate, or not hardened. Mark := number, flush, fence.
// Reads     One hardware transaction; then wait until every update up to the last number is marked.
// Lock      After `retries` hardware transactions: run alone. Stores are held back, and logged a
//           chunk at a time, with one fence, before they go to the data in place; then as above.
// Recovery  C := the newest mark. Roll back, newest first, records with a number beyond C, and
//           records without a number whose base is at least C. Fence; mark beyond all; fence.
// Persists  ceil((32 + 16 N) / line) + 1 + 1 pwb, and one per line of data; 3 pfence. 0 per read.
//
// Why it is durably opaque
//  - Order. A transaction that reads or overwrites a value has a larger number than the transaction
//    that stored it, because `last` is loaded and stored within the transactions.
//  - Marks. A mark C is made when all updates up to C are hardened, and no thread has a record with
//    a base below C that it may still redo. Slots show a lower bound from before Log on. So every
//    update beyond C can be rolled back: it has not returned, and no transaction that has read from
//    it has returned.
//  - Roll-back. A record with a number restores the state before that number. A record without one,
//    which may or may not have been redone, has a base of at least C. Everything newer than its
//    base is rolled back before it, so its old values are correct in either case.
//  - A record with a base below C is finished: hardened, or never to be redone.
//
// Differences from the paper
//  - Numbers replace the clock. Whether others have stored since is then a test for equality, which
//    does not depend on when hardware detects conflicts. Log loads the last number as its last
//    step.
//  - Durable at return: the fence behind the data, the wait, and the mark. In the paper a thread's
//    next hardware transaction fences, and recovery rolls back the last transactions of all
//    threads. A bound keeps idle threads from holding up the others.
//  - A log therefore holds one record, and never wraps around.
//  - A word has one entry, however often it is stored to.
//  - The new values are kept in private memory, which takes no write capacity here.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "holdfast/engines/crafty/crafty_access.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/linked/time_slots.h"
#include "holdfast/engines/parts/isolation/htm/subscribed_lock.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. Read-only transactions run in hardware as
/// well.
template <class M>
class Crafty : public CraftyAccess<M> {
 public:
  using Machine = M;
  static constexpr Description kDescription = {
      .name = "crafty",
      .title = "Crafty: hardware transactions that log, undo themselves, and are redone",
      .paper = "Crafty (PLDI 2020)",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = true,
      .log = "undo, per thread",
      .fences = "3",
      .options = kCraftyOptions,
      .option_count = sizeof(kCraftyOptions) / sizeof(kCraftyOptions[0]),
      .area_bytes = &crafty_area_bytes,
  };

  /// Throws Error(invalid_argument) for an option that does not parse.
  Crafty(M& machine, const Regions& regions, const Options& options, int max_threads)
      : machine_(machine),
        regions_(regions),
        options_(CraftyOptions::parse(options).value()),
        area_(options_, max_threads),
        lock_(machine),
        slots_(machine, area_.logs),
        statistics_(machine),
        numbers_(make_object<Numbers>(machine)),
        attempts_(uses_hardware(machine.htm_capabilities()) ? options_.retries : 0) {
    for (int slot = 0; slot < std::min(area_.logs, machine.slots()); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, record_of(slot), slot, options_.chunk));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }

  Crafty(const Crafty&) = delete;
  Crafty& operator=(const Crafty&) = delete;

  Status format();
  Status recover(RecoveryReport& report);
  Status close();

  void update(FunctionRef<void()> body);
  void read(FunctionRef<void()> body);

  Statistics statistics() const { return statistics_.sum(); }

  static bool uses_hardware(const HtmCapabilities& can) {
    return std::strcmp(can.backend, "none") != 0;
  }

 private:
  using Thread = CraftyThread<M>;
  using Path = typename Thread::Path;
  using Mode = Context::Mode;
  using LoggedRecord = typename UndoRecord<M>::LoggedRecord;
  enum class Outcome : uint8_t {
    committed,
    logged,   ///< the record is durable and may be redone
    aborted,  ///< by the hardware, or by the lock's holder
    stale,    ///< others have stored since Log
  };
  struct alignas(kMaxLineBytes) Numbers {
    uint64_t last = 0;  ///< last number taken; loaded and stored in hardware transactions
  };

  UndoRecord<M> record_of(int slot) const {
    return UndoRecord<M>(machine_, area_, regions_.area, slot);
  }
  uint64_t* mark(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + CraftyArea::kMarkOffset +
                                       static_cast<size_t>(slot) * kLineBytes);
  }
  uint64_t last_number(Thread& t) const { return t.htm->outside_load(&numbers_->last); }

  Thread& here();
  bool try_update(Thread& t, FunctionRef<void()> body, uint64_t& tries);
  Outcome log(Thread& t, FunctionRef<void()> body, Mode mode);
  bool run_in_hardware(Thread& t, FunctionRef<void()> body);
  void put_back(Thread& t);
  Outcome redo(Thread& t);
  Outcome validate(Thread& t, FunctionRef<void()> body);
  uint64_t take_number(Thread& t);
  Outcome clean_up_abort(Thread& t, Outcome outcome);
  void harden(Thread& t, uint64_t number);
  void write_back_data(Thread& t, Site site);
  void write_mark(int slot, uint64_t number, Site site);
  void saw(Thread& t);
  void count(Thread& t, Mode mode);
  [[noreturn]] void fail(Thread& t, const std::exception_ptr& failure);
  void locked(Thread& t, FunctionRef<void()> body, Mode mode);
  [[noreturn]] void leave_lock(Thread& t, const std::exception_ptr& failure);

  Status damaged(const std::string& what) const {
    return {Code::corrupt, what + "; the heap was left as it is, restore it from a copy"};
  }
  Status scan(uint64_t& newest_mark, std::vector<LoggedRecord>& found) const;
  bool inside(const LoggedRecord& record) const;

  M& machine_;
  Regions regions_;
  CraftyOptions options_;
  CraftyArea area_;
  SubscribedLock<M> lock_;
  TimeSlots<M> slots_;
  SlotStatistics<M> statistics_;
  Numbers* numbers_;
  uint64_t attempts_;  ///< in hardware, before the lock
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace holdfast

#include "holdfast/engines/crafty/crafty_locked-inl.h"
#include "holdfast/engines/crafty/crafty_recover-inl.h"
#include "holdfast/engines/crafty/crafty_run-inl.h"
