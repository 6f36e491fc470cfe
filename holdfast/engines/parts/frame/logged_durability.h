// SPDX-License-Identifier: Apache-2.0
//
// What SPHT and NV-HTM have in common: time stamps, per-thread logs, waiting for older
// transactions, replay and recovery. How a transaction becomes durable is theirs: harden().
//
//   area   header | marker | what has been replayed, twice | one circular log per thread
//
// Time stamps. T is read from the clock within the hardware transaction, or under the lock, after
// the body's last access. If a transaction reads or overwrites what another one has stored, the
// other one committed before, so its T is smaller. A slot shows a lower bound of T from before the
// transaction begins; so whoever has read its own T, and finds no lower bound below it, knows that
// whatever appears later is newer. The clock goes on behind the newest time found at recovery.
#pragma once

#include <algorithm>
#include <limits>
#include <string>

#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/durability/linked/linked_log.h"
#include "holdfast/engines/parts/durability/linked/linked_log_replayer.h"
#include "holdfast/engines/parts/durability/linked/time_slots.h"
#include "holdfast/engines/parts/frame/pht_options.h"

namespace holdfast {

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
    stop_background();
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

  /// Space for a transaction, or for the largest one there can be. The caller is parked.
  void make_room(Log& log, bool whole_log) {
    const auto enough = [&] {
      const uint64_t free = log.room();
      if (free < log.size() / 2) {
        replayer_.request();
      }
      return free >= (whole_log ? log.size() : 2 * kLineBytes);
    };
    if (!enough()) [[unlikely]] {
      const PhaseScope<M> waiting(Phase::space_wait);
      replayer_.make_room(enough);
    }
  }

  /// Announces an update with a time of at least now. The caller fences.
  bool lower(int slot) {
    if (!machine_.skips(Site{"pht.lower"})) {
      slots_.run(slot, time());
    }
    return true;
  }
  /// There is no update to wait for after all.
  void park(int slot) { slots_.park(slot); }

  /// Within the hardware transaction that commits, or under the lock.
  void announce(int /*slot*/, uint64_t /*time*/) {}

  /// Of this moment. No memory is accessed.
  uint64_t time() const { return machine_.now() + offset_; }

  /// What a transaction at `time` has seen leaves the heap: all that is older has to be durable.
  /// FUR 2.3: this waits for updates that turn out to be newer, or abort, as well.
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
  ~LoggedDurability() { stop_background(); }

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
      background_running_ = true;
      machine_.set_background([this] {
        try {
          return replayer_.background();
        } catch (const MediumFailure&) {
          return false;  // whoever needs the medium next learns of it
        }
      });
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
  void stop_background() {
    if (background_running_) {
      background_running_ = false;
      machine_.set_background(nullptr);
    }
  }

  uint64_t offset_ = 0;
  bool background_running_ = false;
};

}  // namespace holdfast
