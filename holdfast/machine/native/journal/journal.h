// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"
#include "holdfast/machine/native/journal/copy_line.h"
#include "holdfast/machine/native/journal/group.h"
#include "holdfast/machine/native/journal/group_waits.h"
#include "holdfast/machine/native/journal/page_numbers.h"
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
  uint64_t home_bytes = 0;   ///< of the pages that checkpoints have written home
  uint64_t checkpoints = 0;
  uint64_t damaged_pages = 0;     ///< that checkpoints have found; see verify()
  uint64_t given_back_bytes = 0;  ///< of private pages that went back to the system
};

/// The journal under a heap file: images of lines, in the order in which fences have taken them.
///
/// Position p is the memory as it was when the copying of line p ended, with each line at a prefix
/// of its stores. A power cut could leave the same image on persistent memory. So every prefix of
/// the journal is an image that an engine recovers from.
///
/// append() copies lines, and costs no I/O unless the group is full. await() makes the journal
/// durable up to a position: one thread writes a group and syncs. The others spin for some
/// microseconds, then sleep, and their lines gather for the next group. A checkpoint empties the
/// ring: the newest content of each line goes home from durable groups, never from memory. Groups
/// are written meanwhile. It comes when the ring is nearly full and cannot grow, or when the lines
/// lie in so many pages that private copies of these take too much memory.
///
/// Two threads may serve a journal: flush_in_background() and checkpoint_in_background(). Without
/// them, the thread that finds a group or the ring full does their work.
///
/// Thread safety: any thread. Errors: after the first failure of the file, each call throws
/// MediumFailure, except an await() for what is durable already.
class Journal {
 public:
  using CopyLine = void (*)(std::byte* to, const std::byte* from);

  /// Makes an empty journal at this place, durably. It takes the first `bytes` of it, 0 for all,
  /// and doubles when it is nearly full, up to the bytes that the rest of the file has.
  /// `changes`: as for JournalRing::format().
  static Status format(JournalFile& file, const JournalPlace& place, uint64_t salt,
                       uint64_t bytes = 0, bool changes = true);

  /// Finds the whole groups, makes them durable, and goes on behind them. Their lines stay in the
  /// ring until the next checkpoint, as those of later groups do; take_recovered() has them. An
  /// empty journal begins with a new salt. corrupt: the journal is damaged; nothing was changed.
  /// `file`, and `checksums` if not null, must outlive the journal.
  static Result<std::unique_ptr<Journal>> open(JournalFile& file, const JournalPlace& place,
                                               uint64_t salt, CopyLine copy = &copy_line,
                                               PageChecksums* checksums = nullptr);

  /// Returns the lines that open() has found. The caller puts them into memory before any line is
  /// appended.
  std::unique_ptr<RecoveredLines> take_recovered() { return std::move(recovered_); }

  /// Copies these lines and returns a position behind them. No call returns while another thread
  /// copies, even one without lines: a store after this fence cannot reach a line that has an
  /// earlier position. Throws bad_alloc; then the journal may have some of the lines.
  uint64_t append(std::span<const LineRun> runs);

  /// Returns the position behind the last line. Acquire: it covers each line whose append() has
  /// happened before.
  uint64_t position() const { return end_.load(std::memory_order_acquire); }
  /// Returns the position up to which the journal is durable. Acquire: a thread that sees it may
  /// answer for what it covers.
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  /// Returns when the journal is durable up to `position`.
  void await(uint64_t position);

  /// Makes everything durable and writes it home. `closing`: records the empty journal as closed;
  /// no other thread uses the journal then.
  void checkpoint(bool closing = false);

  /// Writes groups until stop(): when some lines have gathered and the device is idle, and when the
  /// oldest line has waited for the time limit.
  void flush_in_background();
  /// Makes checkpoints until stop(), whenever one is due. Calls `then` while take_home_pages() has
  /// some, also after checkpoints that other threads have made. It takes them, and then may throw
  /// bad_alloc.
  void checkpoint_in_background(const std::function<void()>& then = {});
  bool is_checkpoint_due() const;

  /// Returns the offsets of the pages that checkpoints have brought home since the last call. A
  /// page may be there twice.
  std::vector<uint64_t> take_home_pages();
  /// Visits those of these pages that have no line in the journal. No thread appends and no page
  /// changes meanwhile.
  void for_each_at_home(std::span<const uint64_t> pages, FunctionRef<void(uint64_t)> visit) const;

  /// Compares pages of the file with their checksums, and returns how many. Leaves out those that a
  /// crash may have torn, until the first checkpoint. Other threads may use the journal meanwhile;
  /// for a page that a checkpoint is writing it waits. corrupt: a page differs. 0 pages without a
  /// table, and while that is stale.
  Result<uint64_t> verify(const PageRange& range);
  /// Calls punch(), which may make these pages zeros, once it is durable that they may be. Other
  /// threads may append lines of them meanwhile: no checkpoint writes a page before punch() has
  /// returned, and later records of all lines are whole.
  Status make_hole(const PageRange& range, FunctionRef<void()> punch);
  /// Whether the table is out of date, because pages have changed without the journal. Durable.
  bool is_table_stale() const;
  Status set_table_stale(bool stale);
  /// Makes a stale table anew, durably. The file has this length. No line has been appended.
  Status renew_table(uint64_t file_bytes);

  /// Ends both. Their threads may be joined then.
  void stop();
  /// From now on flush_in_background() makes each line durable within this time.
  void limit_age(std::chrono::milliseconds age);

  /// Waits for no device.
  JournalCounters counters() const;
  const JournalPlace& place() const { return ring_.place(); }

 private:
  Journal(JournalFile& file, const JournalPlace& place, CopyLine copy, PageChecksums* checksums);

  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  /// A place in the ring between two groups.
  struct RingPoint {
    uint64_t at = 0;
    uint64_t number = 0;    // of the next group
    uint64_t position = 0;  // behind the last line before it
  };

  Status recover(uint64_t salt);
  Status make_durable(const JournalTail& tail);
  bool has_line_in(uint64_t page) const { return numbers_.at(page) >= tail_number_; }
  std::byte* place_line(Lock& lock, uint64_t offset);
  void count_line(uint64_t offset, uint64_t number);
  bool due() const;
  void throw_if_failed() const;
  void fail(Status status);
  GroupBuilder& gathered() { return groups_[gathering_]; }
  void make_group_room(Lock& lock);
  void wait_for_device(Lock& lock);
  bool is_flush_due() const;
  void flush(Lock& lock);
  Status write_group(GroupBuilder& group, GroupHead head);
  bool ring_has_room(uint64_t bytes) const;
  Status make_ring_room(uint64_t bytes);
  Status bring_home(Lock& lock, bool closing);
  Status write_durable_home(const RingPoint& end, bool closing, HomeWrites& writes);
  Result<bool> is_damaged(uint64_t page);
  Status with_head(Lock& lock, FunctionRef<Status()> work);
  bool wraps() const;
  Status prepare_growth();
  Status grow_ring(Lock& lock);
  bool make_longer(Lock& lock);
  void limit_groups();
  void renew_cache();

  const CopyLine copy_;
  PageChecksums* const checksums_;  // null: the file has none
  // Its head: only the thread in with_head(). Its length: changes under the mutex.
  JournalRing ring_;
  uint64_t salt_ = 0;
  bool changes_ = false;  // groups have changes of lines; the ring's head is another thread's
  std::unique_ptr<LineCache> cache_;  // of the thread that has taken the device
  std::atomic<bool> home_changed_{false};
  std::unique_ptr<RecoveredLines> recovered_;

  mutable std::mutex mutex_;               // guards everything below but atomics
  std::atomic<bool> device_taken_{false};  // stored under the mutex
  std::atomic<bool> quick_{false};         // the last group took little time; a hint
  GroupWaits waits_;                       // for the end of the group that has the device
  Status failure_;
  GroupBuilder groups_[2];
  size_t gathering_ = 0;  // the group that append() fills; the device may hold the other one
  uint64_t gathering_number_ = 0;  // it will have
  std::atomic<uint64_t> end_{0};   // stored under the mutex
  std::atomic<uint64_t> durable_{0};
  Clock::time_point gathers_since_;

  RingPoint written_;  // behind the last durable group
  uint64_t tail_ = 0;  // place of the oldest group
  uint64_t tail_number_ = 0;
  PageNumbers numbers_;               // of the newest group with a line of the page
  std::vector<uint64_t> held_pages_;  // pages whose number is at least tail_number_
  std::vector<uint64_t> home_pages_;  // pages that were held, for take_home_pages()
  bool head_taken_ = false;           // a thread is in with_head()
  uint64_t checkpoints_ended_ = 0;    // that have written pages
  bool torn_ = false;                 // pages of recovered lines may be torn, until a checkpoint
  bool table_stale_ = false;
  uint64_t prepared_ = 0;   // the ring may have this length from the next group on; 0: as it is
  bool disk_full_ = false;  // the ring grows no more; only the thread in with_head()
  JournalCounters counters_;

  bool stopped_ = false;
  bool flushes_ = false;                   // a thread is in flush_in_background()
  bool checkpoints_ = false;               // a thread is in checkpoint_in_background()
  std::chrono::milliseconds most_age_{0};  // 0: no limit
  std::condition_variable flush_wanted_;
  std::condition_variable checkpoint_wanted_;
  std::condition_variable group_freed_;
  std::condition_variable tail_moved_;
};

}  // namespace holdfast::native
