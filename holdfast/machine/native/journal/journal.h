// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/copy_line.h"
#include "holdfast/machine/native/journal/group.h"
#include "holdfast/machine/native/journal/replay.h"
#include "holdfast/machine/native/journal/ring.h"

namespace holdfast::native {

/// Neighbouring lines in memory, and their place in the file.
struct LineRun {
  uint64_t offset;  ///< in the file, a multiple of the line
  const std::byte* memory;
  uint64_t lines;
};

/// The size and the work of a journal: at its opening, and since.
struct JournalCounters {
  uint64_t ring_bytes = 0;        ///< room for groups
  uint64_t held_bytes = 0;        ///< of this, in groups that have not gone home
  uint64_t recovered_groups = 0;  ///< replayed at opening
  uint64_t recovered_lines = 0;
  uint64_t groups = 0;       ///< written since
  uint64_t lines = 0;        ///< in these groups
  uint64_t group_bytes = 0;  ///< their bytes, padding included
  uint64_t home_lines = 0;   ///< written home by checkpoints
  uint64_t checkpoints = 0;
};

/// The journal under a heap file: images of lines, in the order in which fences have taken them.
///
/// Position p is the memory as it was when the copying of line p ended, with each line at a prefix
/// of its stores. A power cut could leave the same image on persistent memory. So every prefix of
/// the journal is an image that an engine recovers from.
///
/// append() copies lines, and costs no I/O unless the group is full. await() makes the journal
/// durable up to a position: one thread writes a group and syncs. The others spin for some
/// microseconds, then sleep, and their lines gather for the next group. A full ring is emptied by a
/// checkpoint: the newest content of each line goes home from durable groups, never from memory.
///
/// Thread safety: any thread. Errors: after the first failure of the file, each call throws
/// MediumFailure, except an await() for what is durable already.
class Journal {
 public:
  using CopyLine = void (*)(std::byte* to, const std::byte* from);

  /// Makes an empty journal at this place, durably.
  static Status format(JournalFile& file, const JournalPlace& place, uint64_t salt);

  /// Writes the lines of all whole groups home, durably, and begins an empty journal with a new
  /// salt. corrupt: the journal is damaged; nothing was changed. `file` must outlive the journal.
  static Result<std::unique_ptr<Journal>> open(JournalFile& file, const JournalPlace& place,
                                               uint64_t salt, CopyLine copy = &copy_line);

  /// Copies these lines and returns the position behind them. No call returns while another thread
  /// copies, even one without lines: a store after this fence cannot reach a line that has an
  /// earlier position.
  uint64_t append(std::span<const LineRun> runs);

  /// Returns the position behind the last line.
  uint64_t position();
  /// Returns the position up to which the journal is durable. Acquire: a thread that sees it may
  /// answer for what it covers.
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  /// Returns when the journal is durable up to `position`.
  void await(uint64_t position);

  /// Makes everything durable and writes it home. `closing`: records the empty journal as closed.
  void checkpoint(bool closing = false);

  /// Waits for no device.
  JournalCounters counters() const;
  const JournalPlace& place() const { return ring_.place(); }

 private:
  Journal(JournalFile& file, const JournalPlace& place, CopyLine copy);

  Status recover(uint64_t salt);
  void throw_if_failed() const;
  void wait_for_device(std::unique_lock<std::mutex>& lock);
  template <class F>
  void count(F&& add);
  template <class F>
  void use_device(std::unique_lock<std::mutex>& lock, F&& work);
  void flush(std::unique_lock<std::mutex>& lock);
  Status write_group(GroupBuilder& group, GroupHead head);
  Status write_durable_home(bool closing);

  const CopyLine copy_;

  std::mutex mutex_;  // guards everything below but atomics, the device's part, and counters_
  std::atomic<bool> device_taken_{false};  // stored under the mutex
  std::atomic<int> rounds_{0};  // counts uses of the device that have ended, for waiting threads
  Status failure_;
  GroupBuilder groups_[2];
  size_t gathering_ = 0;  // the group that append() fills; the device may hold the other one
  uint64_t end_ = 0;
  std::atomic<uint64_t> durable_{0};

  // The device's part: only the thread that has taken it.
  JournalRing ring_;
  uint64_t ring_end_ = 0;  // place behind the last group
  uint64_t next_number_ = 0;

  mutable std::mutex counters_mutex_;
  JournalCounters counters_;
};

}  // namespace holdfast::native
