// SPDX-License-Identifier: Apache-2.0
//
// FUR's durability (3.2, 3.3), for any way of isolating transactions: a redo log per thread, and
// one array of durability markers in the order of the transactions' numbers.
//
//   area      header | tail | durability markers | one circular redo log per thread
//   update    room for a number and for the log; ... number := ++order; log, pwb; pfence; wait for
//             the transactions it depends on; marker, pwb; pfence; settled
//   recovery  replay the logs of all durable markers beyond the tail, in the order of their numbers
//
// The engine's isolation must guarantee three rules. Numbers follow the order of conflicting
// transactions. A transaction's NON_DURABLE is visible before its data. A transaction stores its
// marker only after the markers of the transactions it has read from are durable.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/engines/parts/basics/background_work.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/numbered/numbered_log_area.h"
#include "holdfast/engines/parts/durability/replay/durability_markers.h"
#include "holdfast/engines/parts/durability/replay/log_replayer.h"
#include "holdfast/engines/parts/durability/replay/redo_log.h"
#include "holdfast/engines/parts/durability/replay/state_array.h"

namespace holdfast {

/// Redo logs, markers, states and replayer of one heap.
///
/// Thread safety: a slot's functions are for that slot's thread, all slots at once. format(),
/// recover(), close() and replay() need all transactions to be over. A transaction is durable when
/// the fence after its marker is over.
template <class M>
class NumberedLog {
 public:
  NumberedLog(M& machine, const Regions& regions, const NumberedLogOptions& options,
              int max_threads)
      : machine_(machine),
        regions_(regions),
        background_(options.background),
        replayers_(static_cast<int>(options.replayers)),
        area_(options, max_threads),
        logs_{regions.area + area_.log_offset, area_.log_bytes, area_.logs, regions.home},
        markers_(machine, regions.area + area_.marker_offset, area_.markers),
        states_(machine, area_.logs),
        statistics_(machine),
        order_(make_object<Order>(machine)),
        replayer_(machine, regions,
                  reinterpret_cast<uint64_t*>(regions.area + NumberedLogArea::kTailOffset),
                  markers_, logs_, states_, statistics_) {}

  NumberedLog(const NumberedLog&) = delete;
  NumberedLog& operator=(const NumberedLog&) = delete;

  int logs() const { return area_.logs; }
  /// A slot's log, for the thread of that slot.
  RedoLog<M> redo(int slot) const {
    return RedoLog<M>(machine_, logs_, slot, replayer_.freed(slot));
  }
  StateArray<M>& states() { return states_; }
  SlotStatistics<M>& statistics() { return statistics_; }
  const SlotStatistics<M>& statistics() const { return statistics_; }
  void grown(size_t bytes) { replayer_.grown(bytes); }

  Status format();
  /// `engine` is the engine's name in messages.
  Status recover(const char* engine, RecoveryReport& report);
  Status close();
  Result<ReplayReport> replay(const ReplayOptions& options) {
    return replayer_.replay_alone(order_->last.load(), options);
  }

  /// The last number given out.
  uint64_t last_number(std::memory_order order = std::memory_order_seq_cst) const {
    return order_->last.load(order);
  }

  /// Takes the next number for the transaction of this slot. Call make_room() before.
  uint64_t take_number(int slot) {
    const uint64_t number = order_->last.fetch_add(1) + 1;
    states_.take_number(slot, number);
    return number;
  }

  /// Waits for room for one more number, and for room in the log: any, or the whole of it. The
  /// caller holds neither a number nor a lock, because the replayer waits for every transaction
  /// that holds a number.
  void make_room(const RedoLog<M>& redo, int slot, bool whole_log);

  /// Replays all transactions up to `number`, or waits for the thread that does. The caller is as
  /// in make_room().
  void replay_up_to(uint64_t number, int slot) {
    const PhaseScope<M> waiting(Phase::space_wait);
    replayer_.make_room(slot, [&] { return replayer_.tail() >= number; });
  }

  /// Copies records into a loan and begins to write them back. Returns their start for the marker.
  uint64_t write_lent(const Loan& loan, const uint64_t* records, uint64_t bytes, Site site) {
    std::byte* const to = regions_.home + loan.offset;
    if constexpr (requires { machine_.medium().keep_content(to, bytes); }) {
      // Pages of the working copy without stores show the home's content, and a reader with an old
      // snapshot may still read what has been freed there.
      machine_.medium().keep_content(regions_.data + loan.offset, bytes);
    }
    M::copy(to, records, bytes);
    machine_.pwb_range(to, bytes, site);
    return logs_.bytes + loan.offset;
  }

  /// Stores the marker of a transaction and begins to write it back. `start` is redo.start() for
  /// records at the log's head, or the result of write_lent().
  void write_marker(uint64_t number, int slot, uint64_t start, const uint64_t* records,
                    uint64_t bytes, Site site) {
    markers_.write(
        {.number = number,
         .thread = slot,
         .start = start,
         .bytes = bytes,
         .checksum = holdfast::checksum(records, bytes, LogReplayer<M>::seed(number, slot))},
        site);
  }

  /// Fills the gap that an aborted transaction leaves in the numbers. Needs no fence: the running
  /// replayer sees the marker anyway, and recovery, which may miss it, skips gaps.
  void write_abort_marker(uint64_t number, int slot, Site site) {
    markers_.write({.number = number, .aborted = true, .thread = slot}, site);
    statistics_.at(slot).bytes_written += DurabilityMarkers<M>::kStoredBytes;
  }

  void count_update(int slot, uint64_t stored_bytes, uint64_t log_bytes) {
    auto& counts = statistics_.at(slot);
    counts.update_commits += 1;
    counts.bytes_stored += stored_bytes;
    if (log_bytes != 0) {
      counts.bytes_written += log_bytes + DurabilityMarkers<M>::kStoredBytes;
    }
  }

 private:
  /// The last number given out (the paper's globalOrderTs).
  struct alignas(kMaxLineBytes) Order {
    typename M::template Atomic<uint64_t> last{};
  };

  M& machine_;
  Regions regions_;
  bool background_;
  int replayers_;
  NumberedLogArea area_;
  RedoLogArea logs_;
  DurabilityMarkers<M> markers_;
  StateArray<M> states_;
  SlotStatistics<M> statistics_;
  Order* order_;
  LogReplayer<M> replayer_;
  BackgroundWork<M> background_work_{machine_};
};

template <class M>
void NumberedLog<M>::make_room(const RedoLog<M>& redo, int slot, bool whole_log) {
  const uint64_t markers = area_.markers;
  const auto logs = static_cast<uint64_t>(area_.logs);
  auto enough = [&] {
    // Loads the tail first: in this order, `used` is at least its value at any moment in between.
    // Each thread takes at most one number between this check and its next. So `logs` slots of
    // slack suffice for all threads that have passed the check but not yet taken their number.
    const uint64_t tail = replayer_.tail();
    const uint64_t used = order_->last.load() - tail;
    if (used > markers / 2) {
      replayer_.request();
    }
    const uint64_t free = redo.room();
    if (free < redo.size() / 2) {
      replayer_.request();
    }
    return (used + logs < markers || machine_.skips(Site{"numbered.room"})) &&
           free >= (whole_log ? redo.size() : 1);
  };
  if (!enough()) [[unlikely]] {
    M::reach(Probe{"numbered.room_wait"});
    const PhaseScope<M> waiting(Phase::space_wait);
    replayer_.make_room(slot, enough);
  }
}

template <class M>
Status NumberedLog<M>::format() {
  uint64_t words[NumberedLogArea::kHeaderWords];
  area_.header(words);
  M::copy(regions_.area, words, sizeof(words));
  machine_.pwb(regions_.area, Site{"numbered.format"});
  replayer_.format();
  markers_.format(Site{"numbered.format"});
  // The initial state is durable before the first transaction.
  machine_.psync(Site{"numbered.format.sync"});
  return {};
}

template <class M>
Status NumberedLog<M>::recover(const char* engine, RecoveryReport& report) {
  uint64_t expected[NumberedLogArea::kHeaderWords];
  uint64_t found[NumberedLogArea::kHeaderWords];
  area_.header(expected);
  M::copy(found, regions_.area, sizeof(found));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(found))) {
    return {Code::corrupt,
            "the header of the engine area does not fit engine " + std::string(engine) +
                " with these options; it is damaged, or the options differ from those at creation"};
  }
  replayers_ = std::min(replayers_, replayer_.most_replayers());
  const auto last = replayer_.recover(report, replayers_);
  if (!last) {
    return last.status();
  }
  // New numbers are larger than every number found, so that no old marker passes for a new one.
  order_->last.store(machine_.skips(Site{"recover.numbers"}) ? 0 : last.value());
  report.text =
      "replayed " + std::to_string(report.transactions) + " transactions from the redo logs";
  if (background_) {
    background_work_.start([this] { return replayer_.background(); });
  }
  return {};
}

template <class M>
Status NumberedLog<M>::close() {
  background_work_.stop();
  const uint64_t last = order_->last.load();
  const bool complete = replayers_ > 1 ? replayer_.replay_alone(last, {replayers_, false}).ok()
                                       : replayer_.replay_all(last);
  if (!complete) {
    return {Code::misuse,
            "the heap was closed while a transaction was running; the next open replays its log"};
  }
  return {};
}

}  // namespace holdfast
