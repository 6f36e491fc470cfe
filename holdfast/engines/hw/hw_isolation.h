// SPDX-License-Identifier: Apache-2.0
//
// Isolation of engine hw: locks, or the program's promise.
#pragma once

#include <string>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/shared_lock.h"

namespace holdfast {

/// Option `lock` of engine hw, by index.
///
///   none       no lock. The program promises that transactions of one partition do not overlap.
///   global     one lock for all transactions.
///   partition  a lock for each partition; a transaction takes those that it names, in ascending
///              order.
///   hardware   no lock. The design aborts transactions in conflict.
enum class HwLock : uint8_t { none, global, partition, hardware };
inline constexpr const char* kHwLocks[] = {"none", "global", "partition", "hardware"};

/// Finds transactions that overlap although no lock keeps them apart.
///
/// There is a word for each partition and one for the whole heap. It names the thread that has
/// updated there last, and says whether it still does. It also counts, so that a reader notices an
/// update that has come and gone. The thread that has used a word last changes it by plain stores,
/// which no store of a transaction has to wait for. So two transactions that begin while such a
/// store is in a store buffer may escape, if they also end in that time.
///
/// Thread safety: any thread may call any function.
template <class M>
class OverlapWatch {
 public:
  explicit OverlapWatch(M& machine)
      : words_(make_array<Line>(machine, size_t{1} + Partitions::kMost)) {}
  void have_partitions(int count) { count_ = count; }

  /// Throws Error(misuse) if an update of another thread runs in one of the partitions, or in the
  /// whole heap. Returns a number for confirm().
  uint64_t begin(Partitions partitions, bool update, int slot) {
    const uint64_t seen = look(partitions);
    if (update && partitions.is_all()) {
      take(0, slot);
    } else if (update) {
      int begun = 0;
      try {
        partitions.for_each_below(count_, [&](int partition) {
          take(1 + partition, slot);
          begun = partition + 1;
        });
      } catch (const Error&) {
        partitions.for_each_below(begun, [&](int partition) { leave(1 + partition, slot); });
        throw;
      }
    }
    return seen;
  }

  /// Throws Error(misuse) if another thread has updated one of the partitions since begin().
  void confirm(Partitions partitions, bool update, int slot, uint64_t seen) const {
    if (!update) {
      if (look(partitions) != seen) {
        refuse(partitions.is_all() ? 0 : 1 + partitions.first());
      }
    } else if (partitions.is_all()) {
      expect_taken(0, slot);
      // An update of one partition looks at the word of the heap in the same way. So at least one
      // of the two sees the other, even if both had looked before either took its word.
      partitions.for_each_below(count_, [&](int partition) { idle(1 + partition); });
    } else {
      partitions.for_each_below(count_, [&](int partition) { expect_taken(1 + partition, slot); });
    }
  }

  /// After an update.
  void end(Partitions partitions, int slot) {
    if (partitions.is_all()) {
      leave(0, slot);
    } else {
      partitions.for_each_below(count_, [&](int partition) { leave(1 + partition, slot); });
    }
  }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  struct alignas(kMaxLineBytes) Line {
    Word word{};
  };
  static constexpr uint64_t kBusy = uint64_t{1} << 16;  // above the slot
  static constexpr uint64_t kOne = kBusy << 1;          // above both: the count

  static int slot_of(uint64_t word) { return static_cast<int>(word & (kBusy - 1)); }
  static uint64_t after(uint64_t word, int slot, uint64_t busy) {
    return (word & ~(kOne - 1)) + kOne + busy + static_cast<uint64_t>(slot);
  }

  /// Throws if a word of the partitions is busy. Returns the sum of the words, which changes with
  /// each of them, because they only grow.
  uint64_t look(Partitions partitions) const {
    uint64_t sum = idle(0);
    partitions.for_each_below(count_, [&](int partition) { sum += idle(1 + partition); });
    return sum;
  }
  uint64_t idle(int index) const {
    const uint64_t word = words_[index].word.load(std::memory_order_acquire);
    if ((word & kBusy) != 0) {
      refuse(index);
    }
    return word;
  }

  void take(int index, int slot) {
    Word& word = words_[index].word;
    uint64_t before = word.load(std::memory_order_acquire);
    const uint64_t taken = after(before, slot, kBusy);
    if (slot_of(before) == slot) {
      word.store(taken, std::memory_order_release);
    } else if ((before & kBusy) != 0 || !word.compare_exchange(before, taken)) {
      refuse(index);
    }
  }
  void leave(int index, int slot) {
    Word& word = words_[index].word;
    const uint64_t taken = word.load(std::memory_order_acquire);
    if (slot_of(taken) == slot) {  // otherwise the other thread's update is refused
      word.store(after(taken, slot, 0), std::memory_order_release);
    }
  }
  void expect_taken(int index, int slot) const {
    const uint64_t word = words_[index].word.load(std::memory_order_acquire);
    if ((word & kBusy) == 0 || slot_of(word) != slot) {
      refuse(index);
    }
    if (index != 0) {
      idle(0);
    }
  }

  [[noreturn]] static void refuse(int index) {
    throw Error(Status(
        Code::misuse,
        "engine hw with lock=none takes no lock, and transactions of two threads use " +
            (index == 0 ? std::string("the heap") : "partition " + std::to_string(index - 1)) +
            " at the same time; give each thread partitions of its own and name them, or choose "
            "lock=partition or lock=global"));
  }

  Line* words_;
  int count_ = 0;
};

/// Keeps the transactions of engine hw apart.
///
/// The heap's metadata has a lock of its own, with lock=none too. A transaction takes it when it
/// uses metadata, after all its other locks. So no two transactions wait for each other.
///
/// Thread safety: any thread may call any function, each with the object of its own transaction.
template <class M>
class HwIsolation {
 public:
  /// The locks of one transaction.
  struct Held {
    Partitions partitions = Partitions::all();
    bool update = false;
    int slot = 0;
    bool locks = false;     ///< those of the partitions
    bool metadata = false;  ///< that of the metadata
    uint64_t seen = 0;      ///< by the watch
  };

  HwIsolation(M& machine, HwLock lock)
      : machine_(machine), lock_(lock), metadata_(machine), watch_(machine) {
    for (int i = 0; i < Partitions::kMost; ++i) {
      locks_.emplace_back(machine);
    }
  }

  void have_partitions(int count) {
    count_ = std::max(count, 1);
    watch_.have_partitions(count);
  }

  bool by_hardware() const { return lock_ == HwLock::hardware; }

  /// Waits until the transaction may begin. misuse: with lock=none, if it may not.
  void acquire(Held& held) {
    if (by_hardware() ||
        machine_.skips(held.update ? Site{"hw.update.lock"} : Site{"hw.read.lock"})) {
      return;
    }
    if (lock_ == HwLock::none) {
      held.seen = watch_.begin(held.partitions, held.update, held.slot);
    } else {
      const bool alone = held.update && !machine_.skips(Site{"hw.update.readers"});
      for_each_lock(held, [&](SharedLock<M>& lock) {
        held.update ? lock.acquire(alone) : lock.acquire_shared();
      });
    }
    held.locks = true;
  }

  /// The transaction uses metadata from here on.
  void acquire_metadata(Held& held) {
    if (lock_ != HwLock::global && !held.metadata && !machine_.skips(Site{"hw.metadata.lock"})) {
      metadata_.acquire();
      held.metadata = true;
    }
  }

  /// Before the commit. misuse: with lock=none, another transaction has not kept away.
  void confirm(const Held& held) const {
    if (lock_ == HwLock::none && held.locks) {
      watch_.confirm(held.partitions, held.update, held.slot, held.seen);
    }
  }

  /// Ends the isolation of the transaction. All stores, so a writer does not wait here.
  void release(Held& held) {
    if (std::exchange(held.metadata, false)) {
      metadata_.release();
    }
    if (!std::exchange(held.locks, false)) {
      return;
    }
    if (lock_ != HwLock::none) {
      for_each_lock(
          held, [&](SharedLock<M>& lock) { held.update ? lock.release() : lock.release_shared(); });
    } else if (held.update) {
      watch_.end(held.partitions, held.slot);
    }
  }

 private:
  template <class F>
  void for_each_lock(const Held& held, F&& f) {
    if (lock_ == HwLock::global) {
      f(locks_[0]);
    } else {
      held.partitions.for_each_below(count_, [&](int i) { f(locks_[static_cast<size_t>(i)]); });
    }
  }

  M& machine_;
  HwLock lock_;
  std::vector<SharedLock<M>> locks_;  ///< with lock=global only the first is used
  GlobalLock<M> metadata_;
  OverlapWatch<M> watch_;
  int count_ = 1;
};

}  // namespace holdfast
