// SPDX-License-Identifier: Apache-2.0
//
// One preallocated view per thread, for iterators: opening and closing one is a few plain stores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "holdfast/db/views/view.h"
#include "holdfast/engines/parts/basics/biased_fence.h"
#include "holdfast/machine/machine.h"

namespace holdfast::db {

/// How long threads wait in the handshake of views. Only tests change it.
struct ViewLimits {
  /// Seats taken with a full fence before the bias is restored. After so many seeks a fence on all
  /// threads has paid for itself: it takes microseconds, and each seek without a fence saves some
  /// nanoseconds.
  uint64_t quiet_uses = 1000;
  /// Pauses in which a writer waits until a view that is being opened knows its counts.
  int patience = 64;
};

/// One seat per thread slot, each with one view. An iterator takes its thread's seat and leaves it
/// soon after. Both are plain stores, so a seek waits for its entry and not for its view.
///
/// Order. take() and look() are Dekker's handshake, with a BiasedFence:
///
///     take()     stores the seat's state, fences, then its caller loads the counts of transactions
///     look()     follows the commit of a transaction, fences, then its caller loads the states
///
/// So either the caller of look() sees the seat taken, or the view sees the transaction. leave()
/// needs no fence: until its store is visible, a version is kept for nothing.
///
/// The word in front of a seat's counts is its state: the number of the use and a phase. A thread
/// that examines the counts compares the state before and after.
template <class M>
class Seats {
 public:
  Seats(M& machine, size_t slots, const ViewLimits& limits)
      : machine_(machine),
        slots_(slots),
        limits_(limits),
        fence_(machine, true),
        seats_(std::make_unique<Seat[]>(slots)),
        shared_(make_object<Shared>(machine)) {
    using Row = typename View<M>::Row;
    const size_t rows = View<M>::rows_for(slots);
    for (size_t i = 0; i < slots; ++i) {
      seats_[i].view.in_seat_ = true;
      seats_[i].view.set_rows(make_array<Row>(machine, rows), rows);
    }
  }

  /// Returns the view of this thread's seat; null if there is no such seat or it is taken. The
  /// caller sets its counts and calls announce(). Thread safety: one thread at a time per `thread`.
  View<M>* take(int thread) {
    if (thread < 0 || static_cast<size_t>(thread) >= slots_) {
      return nullptr;
    }
    Seat& seat = seats_[static_cast<size_t>(thread)];
    if (!seat.used) [[unlikely]] {
      use_first(static_cast<size_t>(thread));
    }
    // Acquire: another thread may have left the seat, or have had this thread number before.
    const uint64_t before = seat.view.front_->load(std::memory_order_acquire);
    if (phase(before) != kClosed) {
      return nullptr;
    }
    // Relaxed: the counts are stored with release.
    seat.view.front_->store(before + kUse + kOpening, std::memory_order_relaxed);
    if (!fence_.light(Site{"seats.take"})) [[unlikely]] {
      note_quiet(seat);
    }
    return &seat.view;
  }
  /// Declares that all counts of the view are set. Release: the state follows the counts.
  static void announce(View<M>* view) { enter(view, kKnown); }
  /// Ends the use of a seat's view. Any thread may call it. Release: a writer that finds the seat
  /// free may free what the view has shown.
  static void leave(const View<M>* view) { enter(view, kClosed); }

  /// Makes it safe to examine seats after the commit of a transaction. If a seat is found free, the
  /// thread that takes it concurrently loads its counts after this call.
  void look() const {
    // Separates the commit from the loads of the states.
    machine_.fence(Site{"seats.look"});
    fence_.heavy(Site{"seats.revoke"});
    if (shared_->looked.load(std::memory_order_relaxed) == 0) {
      shared_->looked.store(1, std::memory_order_relaxed);
    }
  }

  /// A view that was open when it was found.
  struct Use {
    size_t seat;
    uint64_t state;
  };
  /// Some of the seats that are taken.
  class Uses {
   public:
    const Use* begin() const { return all_.data(); }
    const Use* end() const { return all_.data() + size_; }
    size_t size() const { return size_; }
    void add(const Use& use) { all_[size_++] = use; }

   private:
    std::array<Use, 256> all_;  ///< a stamp has a byte for the slot
    size_t size_ = 0;
  };
  /// Finds the seats that are taken; call look() before. Waits a moment for views that are being
  /// opened. Returns false if one still is.
  bool find(Uses* uses) const {
    const uint64_t used = shared_->used.load();
    for (size_t i = 0; i < used; ++i) {
      const uint64_t state = settled(i);
      if (phase(state) == kOpening && !machine_.skips(Site{"seats.opening"})) {
        return false;
      }
      if (phase(state) == kKnown) {
        uses->add({i, state});
      }
    }
    return true;
  }
  /// Returns whether the view of a use needs a version. If the use has ended, either answer is
  /// right.
  bool needs(const Use& use, const OldVersion& old) const {
    const View<M>& view = seats_[use.seat].view;
    return view.sees(old.created) && !view.sees(old.replaced);
  }
  /// Returns whether the use has not ended.
  bool lasts(const Use& use) const { return seats_[use.seat].view.front_->load() == use.state; }
  /// Copies the counts of the first `slots` slots to `to`. Returns false if the use has ended.
  bool copy(const Use& use, size_t slots, View<M>* to) const {
    const View<M>& from = seats_[use.seat].view;
    for (size_t i = 0; i < slots; ++i) {
      to->set_count(i, from.counts_[i].load(std::memory_order_acquire));
    }
    return lasts(use);
  }

  /// Returns the seats whose view has all counts, without waiting.
  Uses known() const { return in_phase(kKnown); }
  /// Returns the seats whose view is being opened.
  Uses opening() const { return in_phase(kOpening); }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  enum : uint64_t { kClosed, kOpening, kKnown };  ///< kKnown: all counts are set
  static constexpr uint64_t kUse = 4;
  static uint64_t phase(uint64_t state) { return state % kUse; }

  Uses in_phase(uint64_t wanted) const {
    Uses uses;
    const uint64_t used = shared_->used.load();
    for (size_t i = 0; i < used; ++i) {
      const uint64_t state = seats_[i].view.front_->load();
      if (phase(state) == wanted) {
        uses.add({i, state});
      }
    }
    return uses;
  }

  struct alignas(kMaxLineBytes) Seat {
    View<M> view;
    bool used = false;      ///< `used` of Shared includes it
    uint64_t unbiased = 0;  ///< times its thread has taken it with a full fence
  };
  struct alignas(kMaxLineBytes) Shared {
    Word used;                           ///< seats at and above this index have never been taken
    alignas(kMaxLineBytes) Word looked;  ///< 1: since note_quiet() last cleared it
  };

  /// Changes the phase within a use. Only the view's owner calls it.
  static void enter(const View<M>* view, uint64_t phase) {
    const uint64_t use = view->front_->load(std::memory_order_relaxed) / kUse * kUse;
    view->front_->store(use + phase, std::memory_order_release);
  }

  /// Raises `used` before the seat's first use. A thread that misses the new number examines seats
  /// before that use, because both accesses are sequentially consistent.
  void use_first(size_t thread) {
    seats_[thread].used = true;
    uint64_t used = shared_->used.load();
    while (used <= thread && !shared_->used.compare_exchange(used, thread + 1)) {
    }
  }

  /// Counts a use with a full fence. Restores the bias after many of them without a look().
  void note_quiet(Seat& seat) const {
    if (++seat.unbiased >= limits_.quiet_uses) {
      seat.unbiased = 0;
      if (shared_->looked.exchange(0) == 0) {
        fence_.restore();
      }
    }
  }

  /// Returns the seat's state once its view is not being opened, or after a while. A later use of
  /// the seat counts as no use: its thread loads the counts after look().
  uint64_t settled(size_t seat) const {
    const Word& word = *seats_[seat].view.front_;
    const uint64_t first = word.load();
    uint64_t now = first;
    for (int n = 0; phase(first) == kOpening && now == first && n < limits_.patience; ++n) {
      machine_.pause();
      now = word.load();
    }
    return now / kUse == first / kUse ? now : uint64_t{kClosed};
  }

  M& machine_;
  const size_t slots_;
  const ViewLimits limits_;
  BiasedFence<M> fence_;
  std::unique_ptr<Seat[]> seats_;
  Shared* shared_;
};

}  // namespace holdfast::db
