// SPDX-License-Identifier: Apache-2.0
//
// One preallocated view per thread, for iterators: opening and closing one is a few plain stores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "holdfast/db/views/view.h"

namespace holdfast::db {

/// One seat per thread slot, each with one view. An iterator takes its thread's seat and leaves it
/// soon after. Both are plain stores, so a seek waits for its entry and not for its view.
///
/// Order. Both pairs below are Dekker's handshake, in which each side stores, fences, then loads:
///
///     take()     stores the seat's state, then its caller loads the counts of transactions
///     look()     follows the commit of a transaction, then its caller loads the states
///
///     leave()    stores the seat's state, then its caller loads whether versions are parked
///     look()     follows the store that says so, then its caller loads the states
///
/// Trust. A fence in take() and leave() would make every seek wait. So while no thread looks,
/// threads with seats are trusted to omit it. The first look() ends the trust with a fence on all
/// threads (Linux membarrier), and from then on take() and leave() fence. A thread that has taken
/// kQuiet seats without a look() in between restores the trust. crwwp.h in
/// engines/parts/isolation/combining does the same.
///
/// Trust may return at any time. A thread that is trusted again loads its counts after that. So it
/// loads them after the commit of any transaction that look() followed while it found no trust.
class Seats {
 public:
  explicit Seats(size_t slots);

  /// Returns the view of this thread's seat; null if there is no such seat or it is taken. Thread
  /// safety: one thread at a time per `thread`.
  View* take(size_t thread);
  /// Ends the use of a seat's view. Any thread may call it.
  void leave(const View* view);

  /// Makes the answers of taken() and ask() safe; call it before them. If they see a seat as free,
  /// the thread that takes it concurrently loads its counts after this call. If they see it as
  /// taken, the thread that leaves it then loads everything that was stored before this call.
  void look() const;
  /// Returns the number of seats that are taken.
  size_t taken() const;

  enum class Need { none, some, unknown };
  /// Returns whether needs(view) holds for the view of any seat. unknown: a view is being opened.
  template <class Needs>
  Need ask(Needs&& needs) const {
    const size_t used = used_.load();
    for (size_t i = 0; i < used; ++i) {
      const Need need = ask_one(seats_[i].view, needs);
      if (need != Need::none) {
        return need;
      }
    }
    return Need::none;
  }

 private:
  /// After so many seeks a fence on all threads has paid for itself: it takes microseconds, and
  /// each seek without a fence saves some nanoseconds.
  static constexpr uint64_t kQuiet = 1000;

  enum Trust : int { none, ending, full };
  struct alignas(128) Seat {
    View view;
    uint64_t untrusted = 0;  ///< times its thread has taken it without trust
  };

  template <class Needs>
  static Need ask_one(const View& view, Needs&& needs) {
    for (;;) {
      const uint64_t state = view.state_.load();
      if (View::phase(state) == View::closed) {
        return Need::none;
      }
      if (View::phase(state) == View::opening) {
        return Need::unknown;
      }
      const bool needed = needs(view);
      if (view.state_.load() == state) {
        return needed ? Need::some : Need::none;
      }
    }
  }

  void allocate_counts(size_t thread);
  bool fence() const;
  void note_quiet(Seat& seat) const;

  const size_t slots_;
  const bool asymmetric_;
  std::vector<Seat> seats_;
  std::atomic<size_t> used_{0};  ///< seats at and above this index have never been taken
  alignas(128) mutable std::atomic<int> trust_;
  alignas(128) mutable std::atomic<bool> looked_{false};  ///< since note_quiet() last cleared it
  mutable std::mutex ending_;
};

}  // namespace holdfast::db
