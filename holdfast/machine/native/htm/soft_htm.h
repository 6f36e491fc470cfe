// SPDX-License-Identifier: Apache-2.0
//
// `soft`: transactional memory in software, with the interface and the semantics of hardware TM.
//
// Stores   A store is buffered, and the transaction takes ownership of the line in a shared table
//          at once. The requester wins: an access of another thread to a line of a running
//          transaction dooms that transaction and continues. (Taking ownership at commit would be
//          too late. It would tear a reader that starts between an engine's scan for readers and
//          the publication.)
// Loads    Tracked loads write nothing shared. They are checked against a version clock, as in TL2
//          (Dice, Shalev, Shavit, DISC 2006), with extension of the snapshot (Riegel, Felber,
//          Fetzer, DISC 2006). So all loads belong to one consistent state, and a transaction whose
//          loads were overwritten fails at a later load or at commit. Rollback-only and suspended
//          loads are not tracked and behave like plain ones.
// Commit   The transaction takes a version, validates its loads, changes its status word from
//          RUNNING to CLOSING, publishes the buffered bytes, and releases the lines with the new
//          version.
// Doom     The next load, store, resume or commit finds that the transaction is doomed, and throws
//          HtmAbort. A load checks after it has read. So a doomed transaction returns no value that
//          its doomer has written.
//
// Why a commit is visible to plain loads at one instant. The stores reach memory one by one; the
// instant is the change of the status word. A plain load (outside_load) first looks at the entry of
// the line:
//
//   unowned        It loads. A transaction may take the line, commit and publish between look and
//                  load. If the load returns the old value, it counts as performed at the look. If
//                  it returns the new value, it counts as performed at the load, after the commit.
//                  There is no third value, because a word is published whole.
//   owner RUNNING  It dooms the owner first, which then never publishes.
//   owner CLOSING  It waits for the release.
//
// Suppose a thread sees the new y, and then loads x, which the same transaction T has changed. T
// owned x before it published y. The load of y acquires the release of that store. So the look at x
// sees the ownership of T, and waits, or it sees something later than T. It cannot return the old
// x.
//
// This is no snapshot. Loads before the instant see the old state and loads after it the new one,
// exactly as on hardware. A reader may load x, then T begins, stores x and y and commits, then the
// reader loads y: it has met no owner. Therefore FUR waits, with its stores done and its lines
// owned, for each reader that is active then (FUR 2.1, "isolation wait"). Readers that began before
// are waited for, and readers that come later meet the ownership.
//
// Memory orders. Each look at an entry acquires, and each change of an entry releases. So a thread
// that sees an owner sees the owner's status word, and a thread that sees a line free sees what its
// last owner has published. Accesses that need another order have the argument beside them.
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

/// The state that the software transactions of one machine share.
struct SoftShared {
  /// `used` is false if another backend runs the transactions. There is no table then.
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
  alignas(kMaxLineBytes) std::atomic<uint64_t> clock{0};
};

/// The software transactions of one thread. Contract: HtmThread in machine.h. Only that thread
/// calls it.
///
/// Cost: a plain load is two machine loads and a branch. A store to a new line is one
/// compare-exchange. A commit with stores is two atomic read-modify-writes; one without stores has
/// none.
class alignas(kMaxLineBytes) SoftThread {
 public:
  SoftThread(SoftShared& shared, int slot);
  SoftThread(const SoftThread&) = delete;
  SoftThread& operator=(const SoftThread&) = delete;

  AbortCause begin(Tracking tracking);
  void suspend();
  void resume();
  void track(Tracking tracking);
  void commit();
  [[noreturn]] void abort(AbortCode code);
  AbortCause caught();
  AbortCode caught_code() const { return code_; }
  void cancel();
  bool open() const { return mode_ != Mode::closed; }
  bool doomed() const { return mode_ == Mode::aborted || (open() && !alive()); }

  template <Word T>
  T load(const T* p) {
    if (mode_ == Mode::stores && is_free(bytes_at(p))) [[likely]] {
      const T value = load_word<__ATOMIC_ACQUIRE>(p);
      if (alive()) [[likely]] {  // the acquire orders this check after the load
        return value;
      }
    } else if (mode_ == Mode::all) {
      return load_tracked_word(p);
    }
    std::array<std::byte, kBytesOf<T>> raw;
    load_range(raw.data(), bytes_at(p), kBytesOf<T>);
    return std::bit_cast<T>(raw);
  }

  template <Word T>
  void store(T* p, T value) {
    if (line_of(bytes_at(p)) == last_line_ && alive()) [[likely]] {
      last_->put(offset_of(bytes_at(p)), bytes_at(&value), kBytesOf<T>);
      return;
    }
    store_range(bytes_at(p), bytes_at(&value), kBytesOf<T>);
  }

  void load_range(void* to, const void* from, size_t n);
  void store_range(void* to, const void* from, size_t n);

  /// The hottest path of engines whose readers run outside transactions.
  template <Word T>
  T outside_load(const T* p) {
    // Acquire, both. The look at the entry makes the stores before the line's release visible.
    // The load of the word orders the next look after it (see the top of this file).
    if (is_free(bytes_at(p))) [[likely]] {
      return load_word<__ATOMIC_ACQUIRE>(p);
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
  /// True if `soft` is the machine's backend.
  bool in_software() const { return entries_ != nullptr; }

 private:
  enum class Mode : uint8_t {
    closed,
    all,     // running, loads are tracked
    stores,  // running, rollback-only
    suspended,
    aborted,  // rolled back, until caught()
  };
  static constexpr uintptr_t kNoLine = 0;

  static size_t offset_of(const void* p) { return reinterpret_cast<uintptr_t>(p) % kLineBytes; }
  SoftEntry& entry_of(const void* p) const { return entries_[SoftTable::index(line_of(p))]; }
  bool is_free(const void* p) const {
    return soft_entry::owner(entry_of(p).load(std::memory_order_acquire)) == 0;
  }
  /// True if no thread has doomed the running transaction. Relaxed: a thread that takes a line away
  /// dooms this transaction first. This thread has looked at the line's entry, or loaded what was
  /// published, with acquire; so it sees the doom as well.
  bool alive() const { return status_->word.load(std::memory_order_relaxed) == running_; }

  /// The common case of load_tracked. Not inlined, to keep callers small.
  template <Word T>
  [[gnu::noinline]] T load_tracked_word(const T* p) {
    const uintptr_t index = SoftTable::index(line_of(bytes_at(p)));
    const uint64_t seen = entries_[index].load(std::memory_order_acquire);
    if (soft_entry::owner(seen) == 0 && soft_entry::version(seen) <= snapshot_) [[likely]] {
      const T value = load_word<__ATOMIC_ACQUIRE>(p);
      // Relaxed, because the load before it acquires; load_tracked has the argument.
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

  // The next five handle bytes of one line.
  void load_tracked(void* to, const void* from, size_t n);
  void load_untracked(void* to, const void* from, size_t n);
  void overlay_own(void* to, const void* from, size_t n);
  void store_buffered(void* to, const void* from, size_t n);
  void store_plain(void* to, const void* from, size_t n);

  /// Makes sure that no other transaction owns the entry: dooms the owner, or waits for it. Returns
  /// the entry's value, which is unowned or owned by this transaction.
  uint64_t settle(SoftEntry& entry, uint64_t value);
  bool evict(SoftEntry& entry, uint64_t value);
  /// Takes ownership of a line for this transaction, and returns its new buffer.
  SoftLine* acquire(uintptr_t line);
  void give_up_own(SoftEntry& entry, uint64_t value);

  /// True if no entry in the read set has changed since it was noted.
  bool validate();
  /// Moves the snapshot's time to the present, or fails the transaction.
  void extend();
  /// Notes a tracked load. An entry is noted once: a load that finds a second version of it is not
  /// consistent with the snapshot, and does not get here.
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

  // The first line has all members that the fast paths need.
  SoftEntry* const entries_;
  SoftStatus* const status_;
  uint64_t running_ = 0;           // the status word of this incarnation while it is not doomed
  uintptr_t last_line_ = kNoLine;  // the line of the latest store, while running
  SoftLine* last_ = nullptr;       // and its buffer
  const uint64_t me_;              // this thread as an owner in entries
  Mode mode_ = Mode::closed;
  Mode resumed_ = Mode::closed;  // the mode to return to after suspension
  AbortCause cause_ = AbortCause::none;
  AbortCode code_ = AbortCode::none;

  SoftShared& shared_;
  uint64_t snapshot_ = 0;  // all tracked loads so far belong to the state at this version
  SoftWriteSet writes_;
  SoftReadSet reads_;
  std::vector<uint32_t> owned_;  // entries that this transaction has acquired
};

}  // namespace holdfast::native
