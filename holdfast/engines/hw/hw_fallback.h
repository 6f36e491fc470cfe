// SPDX-License-Identifier: Apache-2.0
//
// Software undo logging for updates that the hardware design has no room for.
//
// Area      one line with the epoch | one log for all threads (undo_log.h), under a lock
// Begin     Take the lock. Commits of this thread that wait in its store buffer become durable
//           behind the first fence, before the first store of the update.
// Store     The first one to a line: save the line's bytes, pwb, pfence. Then change it in place,
//           outside of the design's transactions.
// Commit    pwb the changed lines, pfence; empty the log, pwb, psync; release the lock.
// Recovery  The design first. Then the bytes saved are put back, as in engine undo.
#pragma once

#include <optional>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/shared_lock.h"
#include "holdfast/engines/swl/first_writes.h"
#include "holdfast/engines/undo/undo.h"

namespace holdfast {

/// The log of one heap. Isolation is the engine's: no other transaction uses the lines.
///
/// Thread safety: begin() excludes other threads until commit() or roll_back() has returned.
template <class M>
class HwFallback {
 public:
  /// The log takes the engine's area. `enabled`: whether there is one.
  HwFallback(M& machine, const Regions& regions, bool enabled) : machine_(machine), lock_(machine) {
    if (enabled) {
      log_.emplace(machine, regions, Options{});
      lines_.emplace(machine, regions, Options{});
    }
  }

  bool enabled() const { return log_.has_value(); }

  void format() {
    if (log_) {
      log_->format();
    }
  }
  Status recover(RecoveryReport& report) { return log_ ? log_->recover(report) : Status(); }

  void begin() {
    lock_->acquire(true);
    lines_->clear();
  }

  /// Call it before each store. Throws Error(too_large) if the log is full.
  void before_store(const void* p, size_t n) {
    lines_->add({static_cast<const std::byte*>(p), n}, [&](const undo::Range& range) {
      if (!machine_.skips(Site{"hw.fallback.record"})) {
        const PhaseScope<M> scope(Phase::log_flush);
        log_->append(range.begin, range.bytes);
      }
    });
  }

  /// Makes the update durable. Returns the bytes of log written.
  size_t commit() {
    size_t written = 0;
    if (lines_->any()) {
      M::phase(Phase::data_flush);
      lines_->for_each_stored(machine_.line_bytes(), [&](const undo::Range& range) {
        machine_.pwb_range(range.begin, range.bytes, Site{"hw.fallback.data"});
      });
      // The data are durable before the log that could undo them is emptied.
      machine_.pfence(Site{"hw.fallback.data.fence"});
      M::phase(Phase::marker_flush);
      written = log_->finish();
    }
    lock_->release();
    return written;
  }

  void roll_back() {
    log_->roll_back();
    lock_->release();
  }

 private:
  M& machine_;
  std::optional<SharedLock<M>> lock_;
  std::optional<UndoLog<M, undo::PackedRecords<M>>> log_;
  std::optional<swl::FirstWrites<M, true>> lines_;
};

}  // namespace holdfast
