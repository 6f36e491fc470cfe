// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "holdfast/db/views/view.h"

namespace holdfast::db {

/// A place for each thread slot's view that is closed soon, as a seek's is: with plain stores, so
/// that what a seek waits for is its entry and not its view.
///
/// Taking a seat and looking at the seats is Dekker's handshake: who takes one stores its state and
/// then reads counts, who looks has seen a transaction return and then loads states; so is leaving
/// one, and looking whether versions are parked. Each side needs a fence. While nobody looks, those
/// who take seats are trusted to do without: the first look ends that with a fence of all threads'
/// (Linux membarrier), and from then on each takes a fence of its own. A thread that has taken
/// kQuiet seats without a look in between brings the trust back. (As in engines/parts/isolation/combining/crwwp.h.)
///
/// Why trust may come back at any time: who is trusted again reads its counts after that, so after
/// the return of any transaction that those who found no trust have seen.
class Seats {
 public:
  explicit Seats(size_t slots);

  /// Null: this thread has none, or is using it. Thread safety: one thread at a time per number.
  View* take(size_t thread);
  /// By any thread.
  void leave(const View* view);

  /// Before any of the functions below, where their answer has to be safe: who takes a seat that
  /// they do not see taken reads its counts after this call; who leaves one that they see taken
  /// loads afterwards what was stored before it.
  void look() const;
  size_t taken() const;

  enum class Need { none, some, unknown };
  /// Whether any view needs what this says of a view. unknown: one is being opened.
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
  /// Enough seeks for a fence of all threads' to have paid for itself: it takes microseconds, and
  /// each saves some nanoseconds.
  static constexpr uint64_t kQuiet = 1000;

  enum Trust : int { none, ending, full };
  struct alignas(128) Seat {
    View view;
    uint64_t untrusted = 0;  ///< times taken and left without trust, by its thread
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

  void furnish(size_t thread);
  bool fence() const;
  void note_quiet(Seat& seat) const;

  const size_t slots_;
  const bool asymmetric_;
  std::vector<Seat> seats_;
  std::atomic<size_t> used_{0};  ///< seats from this one on have never been taken
  alignas(128) mutable std::atomic<int> trust_;
  alignas(128) mutable std::atomic<bool> looked_{false};  ///< since some thread asked last
  mutable std::mutex ending_;
};

}  // namespace holdfast::db
