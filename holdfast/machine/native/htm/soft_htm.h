// SPDX-License-Identifier: Apache-2.0
//
// `soft`: transactional memory in software, with the interface and the semantics of hardware TM.
//
// Stores    are buffered, and take ownership of their line in a shared table at once. The requester
//           wins: whoever stores to, or loads from, a line of a running transaction dooms it and
//           goes on. (Acquiring at commit would be too late: it tears a reader that starts between
//           an engine's scan for readers and the publication.)
// Loads     of a tracked transaction are invisible: they are checked against a version clock, as in
//           TL2 (Dice, Shalev, Shavit, DISC 2006) with extension of the snapshot (Riegel, Felber,
//           Fetzer, DISC 2006), so that every load belongs to one consistent state and a
//           transaction whose loads were overwritten fails at a later load or at commit.
//           Rollback-only and suspended loads are not tracked and behave like plain ones.
// Commit    takes a version, checks what was loaded, turns its status word from RUNNING to CLOSING,
//           publishes the buffered bytes and releases the lines with the new version.
// Doom      is noticed at the next load, store, resume or commit, which throws HtmAbort. A load
//           looks after it has read, so a doomed transaction returns no value that its doomer
//           wrote.
//
// A commit becomes visible to plain loads at one instant, the change of the status word, although
// its stores reach memory one by one. A plain load (outside_load) looks at the line's entry first:
//   - unowned: it loads. Should a transaction take the line, commit and publish between look and
//     load, then the load returns the old value and counts as performed at the look, or the new one
//     and counts as performed at the load, after the commit. No third value: a word is published
//     whole.
//   - owned by a running transaction: it dooms it first. It will never publish.
//   - owned by a closing transaction: it waits for the release.
// Let a thread see y new, and load x, which the same transaction T changed, afterwards. T owned x
// before it published y. The load of y acquires what the store of y released, so the look at x sees
// T's ownership, and waits, or something later than T. It cannot return the old x.
//
// What this does not give is a snapshot: loads before the instant and loads after it see both
// states, exactly as on hardware. A reader that loads x, then (T begins, stores x and y, commits) y
// has met no owner on its way. That is why FUR must wait, with its stores done and its lines owned,
// for every reader that was active then (FUR 2.1, "isolation wait"): readers that began before are
// waited for, and readers that come later meet the ownership.
#pragma once

#include <memory>
#include <vector>

#include "holdfast/base/bytes.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/htm/soft_sets.h"
#include "holdfast/machine/native/htm/soft_status.h"
#include "holdfast/machine/native/htm/soft_table.h"
#include "holdfast/machine/native/memory/words.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::native {

/// What the software transactions of one machine share.
struct SoftShared {
  /// `used`: false where another backend runs the transactions. Then there is no table.
  SoftShared(int slot_count, SoftOptions limits, bool used = true)
      : table(used),
        options(limits),
        slots(slot_count),
        statuses(std::make_unique<SoftStatus[]>(static_cast<size_t>(slot_count))) {}

  SoftTable table;
  const SoftOptions options;
  const int slots;
  std::unique_ptr<SoftStatus[]> statuses;
  /// The version of the latest commit or plain store.
  alignas(2 * kLineBytes) std::atomic<uint64_t> clock{0};
};

/// The transactions of one thread; see "Hardware transactional memory" in machine.h. Called by that
/// thread only. Costs: a plain load two machine loads and a branch; a store to a new line one
/// compare-exchange; a commit with stores two atomic read-modify-writes, without stores none.
class alignas(2 * kLineBytes) SoftThread {
 public:
  SoftThread(SoftShared& shared, int slot);
  SoftThread(const SoftThread&) = delete;
  SoftThread& operator=(const SoftThread&) = delete;

  AbortCause begin(Tracking tracking);
  void suspend();
  void resume();
  void track(Tracking tracking);
  void commit();
  [[noreturn]] void abort();
  AbortCause caught();
  void cancel();
  bool open() const { return mode_ != Mode::closed; }
  bool doomed() const { return mode_ == Mode::aborted || (open() && !alive()); }

  template <Word T>
  T load(const T* p) {
    if constexpr (kAligned<T>) {
      if (mode_ == Mode::stores && is_free(bytes_at(p))) [[likely]] {
        const T value = load_word<__ATOMIC_ACQUIRE>(p);
        if (alive()) [[likely]] {  // after the load; ordered by its acquire
          return value;
        }
      } else if (mode_ == Mode::all) {
        return load_tracked_word(p);
      }
    }
    std::array<std::byte, kBytesOf<T>> raw;
    load_range(raw.data(), bytes_at(p), kBytesOf<T>);
    return std::bit_cast<T>(raw);
  }

  template <Word T>
  void store(T* p, T value) {
    if constexpr (kAligned<T>) {
      if (line_of(bytes_at(p)) == last_line_ && alive()) [[likely]] {
        last_->put(offset_of(bytes_at(p)), bytes_at(&value), kBytesOf<T>);
        return;
      }
    }
    store_range(bytes_at(p), bytes_at(&value), kBytesOf<T>);
  }

  void load_range(void* to, const void* from, size_t n);
  void store_range(void* to, const void* from, size_t n);

  /// The hottest path of engines whose readers run outside of transactions.
  template <Word T>
  T outside_load(const T* p) {
    if constexpr (kAligned<T>) {
      // Acquire, both: the look at the entry sees what was stored before the line was released, and
      // what is loaded orders the next look (see the top of this file).
      if (is_free(bytes_at(p))) [[likely]] {
        return load_word<__ATOMIC_ACQUIRE>(p);
      }
    }
    std::array<std::byte, kBytesOf<T>> raw;
    outside_load_range(raw.data(), bytes_at(p), kBytesOf<T>);
    return std::bit_cast<T>(raw);
  }

  template <Word T>
  void outside_store(T* p, T value) {
    outside_store_range(bytes_at(p), bytes_at(&value), kBytesOf<T>);
  }

  void outside_load_range(void* to, const void* from, size_t n);
  void outside_store_range(void* to, const void* from, size_t n);

 protected:
  /// Whether this is the backend that runs the thread's transactions.
  bool in_software() const { return entries_ != nullptr; }

 private:
  enum class Mode : uint8_t {
    closed,
    all,     // running, loads tracked
    stores,  // running, rollback-only
    suspended,
    aborted,  // rolled back; waiting for caught()
  };
  static constexpr uintptr_t kNoLine = 0;

  static size_t offset_of(const void* p) { return reinterpret_cast<uintptr_t>(p) % kLineBytes; }
  SoftEntry& entry_of(const void* p) const { return entries_[SoftTable::index(line_of(p))]; }
  bool is_free(const void* p) const {
    return soft_entry::owner(entry_of(p).load(std::memory_order_acquire)) == 0;
  }
  /// Whether nobody has doomed the running transaction. Relaxed: whoever took a line away doomed us
  /// before, and we looked at the line's entry, or at what was published, with acquire.
  bool alive() const { return status_->word.load(std::memory_order_relaxed) == running_; }

  /// The common case of load_tracked, out of line to keep callers small.
  template <Word T>
  [[gnu::noinline]] T load_tracked_word(const T* p) {
    const uintptr_t index = SoftTable::index(line_of(bytes_at(p)));
    const uint64_t seen = entries_[index].load(std::memory_order_acquire);
    if (soft_entry::owner(seen) == 0 && soft_entry::version(seen) <= snapshot_) [[likely]] {
      const T value = load_word<__ATOMIC_ACQUIRE>(p);
      // Relaxed, and see load_tracked.
      if (entries_[index].load(std::memory_order_relaxed) == seen) [[likely]] {
        remember(index, soft_entry::version(seen));
        check_alive();
        return value;
      }
    }
    std::array<std::byte, kBytesOf<T>> raw;
    load_tracked(raw.data(), bytes_at(p), kBytesOf<T>);
    return std::bit_cast<T>(raw);
  }

  // These handle bytes of one line.
  void load_tracked(void* to, const void* from, size_t n);
  void load_untracked(void* to, const void* from, size_t n);
  void overlay_own(void* to, const void* from, size_t n);
  void store_buffered(void* to, const void* from, size_t n);
  void store_plain(void* to, const void* from, size_t n);

  /// Makes sure that no other transaction owns the line of this entry: dooms it or waits for it.
  /// Returns the entry's value, unowned or ours.
  uint64_t settle(SoftEntry& entry, uint64_t value);
  bool evict(SoftEntry& entry, uint64_t value);
  SoftLine* acquire(uintptr_t line);
  void own(SoftEntry& entry);
  void give_up_own(SoftEntry& entry, uint64_t value);

  bool validate();
  void extend();
  /// Notes a tracked load. An entry is noted once: a second version of it would not be consistent
  /// with the snapshot, and does not get here.
  void remember(size_t entry, uint64_t version) {
    const auto index = static_cast<uint32_t>(entry);
    if (!reads_.contains(index)) {
      if (reads_.records().size() >= shared_.options.load_lines) {
        fail(AbortCause::capacity);
      }
      reads_.add(index, version);
    }
  }
  void check_alive() {
    if (!alive()) [[unlikely]] {
      fail(AbortCause::conflict);
    }
  }

  [[noreturn]] void fail(AbortCause cause);
  void roll_back();
  void release_with(uint64_t version);
  static void order_stores();
  void finish(Mode mode);

  // First line: all that the fast paths need.
  SoftEntry* const entries_;
  SoftStatus* const status_;
  uint64_t running_ = 0;           // the status word of the current incarnation, not doomed
  uintptr_t last_line_ = kNoLine;  // the line stored to last, while running
  SoftLine* last_ = nullptr;
  const uint64_t me_;  // as an owner
  Mode mode_ = Mode::closed;
  Mode resumed_ = Mode::closed;  // the mode to go back to
  AbortCause cause_ = AbortCause::none;

  SoftShared& shared_;
  uint64_t snapshot_ = 0;  // all tracked loads so far are consistent as of this version
  SoftWriteSet writes_;
  SoftReadSet reads_;
  std::vector<uint32_t> owned_;  // entries we have acquired
};

}  // namespace holdfast::native
