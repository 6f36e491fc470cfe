// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "holdfast/machine/native/spin.h"

namespace holdfast::db {

/// A transaction's place in its thread slot's row: slot in the low byte, number above it. Stamps of
/// one slot are ordered; between slots a snapshot says what it sees.
class Stamp {
 public:
  static uint64_t make(int slot, uint64_t count) {
    return count << 8 | static_cast<uint64_t>(slot);
  }
  static size_t slot(uint64_t stamp) { return stamp & 0xff; }
  static uint64_t count(uint64_t stamp) { return stamp >> 8; }
};

/// How many transactions of each slot a snapshot sees: those before some moment, and no others.
struct View {
  std::vector<uint64_t> counts;
  std::atomic<bool> known{false};  ///< counts are set

  bool sees(uint64_t stamp) const { return counts[Stamp::slot(stamp)] >= Stamp::count(stamp); }
};

/// A mutex for sections of some tens of nanoseconds. Who finds it taken looks again a few times,
/// because going to sleep and waking up takes tens of microseconds.
class BriefMutex {
 public:
  void lock() {
    for (int i = 0; i < kLooks; ++i) {
      if (mutex_.try_lock()) {
        return;
      }
      native::pause();
    }
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kLooks = 100;
  std::mutex mutex_;
};

/// The snapshots that are open now. Volatile: a crash closes them all.
///
/// The rule that makes reclaiming safe. A snapshot is entered here before its counts are read, and
/// until they are known nothing is reclaimed. A version is reclaimed only after the transaction
/// that replaced it has returned (`committed`). So a snapshot that is entered too late to be looked
/// at reads its counts after that return, and sees the replacement.
///
/// Thread safety: any thread. judge also inside transaction bodies: nothing here touches the
/// machine, so a lock is never held while a body aborts.
class Snapshots {
 public:
  explicit Snapshots(size_t slots) : committed_(slots) {}

  /// A view whose counts the caller is to set, one per slot, and then to announce.
  View* open();
  static void announce(View* view) { view->known.store(true, std::memory_order_release); }
  void close(const View* view);
  size_t size() const { return open_.load(); }

  /// The transaction with this stamp is visible to every snapshot opened from now on.
  void committed(uint64_t stamp);

  enum class Verdict { reclaim, needed, undecided };
  /// On a version that another one, stamped `replacement`, has replaced.
  Verdict judge(uint64_t version, uint64_t replacement) const;
  /// On a deletion that is a key's newest version: whether anybody still sees what was before.
  Verdict judge_deletion(uint64_t deletion) const;

 private:
  template <class Needs>
  Verdict judge_by(uint64_t last, Needs&& needs) const;

  mutable BriefMutex mutex_;
  std::list<View> views_;
  std::list<View> closed_;  ///< to be used again: opening one is part of every walk
  std::atomic<size_t> open_{0};
  std::vector<std::atomic<uint64_t>> committed_;  ///< counts, by slot
};

}  // namespace holdfast::db
