// SPDX-License-Identifier: Apache-2.0
//
// Durability by time-stamped logs, common to SPHT, NV-HTM and FUR-TSX: time stamps, per-thread
// logs, waits for older transactions, replay and recovery. Each engine adds harden(), its own way
// to make a transaction durable.
//
//   area   header | marker | progress of the replay, twice | one circular log per thread
//
// Time stamps. A transaction reads T from the clock after its body's last access: within the
// hardware transaction, or under the lock. If it reads or overwrites the stores of another
// transaction, that one has committed before, so its T is smaller. Before an update begins, its
// slot shows a lower bound of T. So a transaction that has read its own T, and finds no lower bound
// below it, knows that every update that appears later is newer. After recovery the clock continues
// behind the newest time found.
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "holdfast/engines/parts/basics/background_work.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/linked/linked_log.h"
#include "holdfast/engines/parts/durability/linked/linked_log_replayer.h"
#include "holdfast/engines/parts/durability/linked/time_slots.h"
#include "holdfast/engines/parts/frame/pht_options.h"

namespace holdfast {

/// The common durability part of Pht.
///
/// Thread safety: a slot's functions are for that slot's thread, for all slots at once. recover(),
/// close() and replay() need all transactions to be over.
template <class M>
class LoggedDurability {
 public:
  using Log = LinkedLog<M>;
  using Bound = typename LinkedLogReplayer<M>::Bound;

  LoggedDurability(const LoggedDurability&) = delete;
  LoggedDurability& operator=(const LoggedDurability&) = delete;

  int threads() const { return std::min(area_.logs, machine_.slots()); }
  Log log(int slot) { return {machine_, logs_, slot, replayer_.freed(slot)}; }

  void grown(size_t bytes) { replayer_.grown(bytes); }
  Status close() {
    background_.stop();
    const int n = replayers();
    const bool complete = n > 1 ? replayer_.replay_alone({n, false}).ok() : replayer_.replay_all();
    if (!complete) {
      return {Code::misuse,
              "the heap was closed while a transaction was running; the next open replays its log"};
    }
    return {};
  }

  Result<ReplayReport> replay(const ReplayOptions& options) {
    return replayer_.replay_alone(options);
  }

  /// Makes space in the log: for a transaction, or (`whole_log`) for the largest one there can be.
  /// May wait for the replayer. The caller is parked.
  void make_room(Log& log, bool whole_log) {
    log.make_present();
    const auto enough = [&] {
      const uint64_t free = log.room();
      if (free < log.size() / 2) {
        replayer_.request();
      }
      return free >= (whole_log ? log.size() : 2 * kLineBytes);
    };
    if (!enough()) [[unlikely]] {
      M::reach(Probe{"pht.room_wait"});
      const PhaseScope<M> waiting(Phase::space_wait);
      replayer_.make_room(enough);
    }
  }

  /// Announces an update whose time will be at least the current one. The caller fences.
  bool lower(int slot) {
    if (!machine_.skips(Site{"pht.lower"})) {
      slots_.run(slot, time());
    }
    return true;
  }
  /// Takes the announcement back: the update was aborted, or stored nothing.
  void park(int slot) { slots_.park(slot); }

  /// Called with the transaction's time within the hardware transaction, or under the lock.
  void announce(int /*slot*/, uint64_t /*time*/) {}

  /// The current time. Accesses no memory.
  uint64_t time() const { return machine_.now() + offset_; }

  /// Waits until all updates older than `time` are durable, before the result of a transaction at
  /// `time` leaves the heap. It also waits for updates that turn out to be newer, or abort (FUR
  /// 2.3).
  void saw(int slot, uint64_t time) {
    M::phase(Phase::durability_wait);
    slots_.await_durable(slot, time, false, Site{"pht.read.durability_wait"});
  }

 protected:
  LoggedDurability(M& machine, const Regions& regions, const PhtOptions& options, int max_threads,
                   ReplayOrder order, SlotStatistics<M>& statistics)
      : machine_(machine),
        regions_(regions),
        options_(options),
        area_(options, max_threads),
        logs_{{regions.area + area_.log_offset, area_.log_bytes, area_.logs}},
        slots_(machine, area_.logs),
        replayer_(machine, regions, logs_, regions.area + PhtArea::kTableOffset, order,
                  statistics) {}

  /// Writes header, marker and tables; `magic` identifies the engine. The caller fences.
  Status format(uint64_t magic) {
    uint64_t words[PhtArea::kHeaderWords];
    area_.header(magic, words);
    M::copy(regions_.area, words, sizeof(words));
    machine_.pwb(regions_.area, Site{"pht.format"});
    M::store(marker_word(), uint64_t{0});
    machine_.pwb(marker_word(), Site{"pht.format"});
    replayer_.format();
    return {};
  }

  /// Checks the header, replays what `bound` admits, and starts the background replayer. The clock
  /// continues behind the newest time found.
  Status recover(uint64_t magic, const char* engine, const Bound& bound, RecoveryReport& report) {
    uint64_t expected[PhtArea::kHeaderWords];
    uint64_t found[PhtArea::kHeaderWords];
    area_.header(magic, expected);
    M::copy(found, regions_.area, sizeof(found));
    if (!std::equal(std::begin(expected), std::end(expected), std::begin(found))) {
      return {Code::corrupt,
              std::string("the header of the engine area does not fit engine ") + engine +
                  " with these options; it is damaged, or the options differ from those at "
                  "creation"};
    }
    const auto last = replayer_.recover(bound, report, replayers());
    if (!last) {
      return last.status();
    }
    const uint64_t now = machine_.now();
    const uint64_t first = machine_.skips(Site{"pht.recover.clock"}) ? 0 : last.value() + 1;
    offset_ = first > now ? first - now : 0;
    report.text =
        "replayed " + std::to_string(report.transactions) + " transactions from the redo logs";
    if (options_.background) {
      background_.start([this] { return replayer_.background(); });
    }
    return {};
  }

  uint64_t* marker_word() const {
    return reinterpret_cast<uint64_t*>(regions_.area + PhtArea::kMarkerOffset);
  }

  M& machine_;
  Regions regions_;
  PhtOptions options_;
  PhtArea area_;
  LinkedLogArea<M> logs_;
  TimeSlots<M> slots_;
  LinkedLogReplayer<M> replayer_;

 private:
  int replayers() const {
    return std::min(static_cast<int>(options_.replayers), replayer_.most_replayers());
  }
  uint64_t offset_ = 0;
  BackgroundWork<M> background_{machine_};
};

}  // namespace holdfast
