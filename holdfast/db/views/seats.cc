// SPDX-License-Identifier: Apache-2.0
#include "holdfast/db/views/seats.h"

#include <algorithm>

#include "holdfast/machine/native/medium/all_threads_fence.h"
#include "holdfast/machine/native/medium/write_back.h"

namespace holdfast::db {

Seats::Seats(size_t slots)
    : slots_(slots),
      asymmetric_(native::can_fence_all_threads()),
      seats_(slots),
      trust_(asymmetric_ ? full : none) {}

View* Seats::take(size_t thread) {
  if (thread >= seats_.size()) {
    return nullptr;
  }
  Seat& seat = seats_[thread];
  // Acquire: another thread may have left the seat, or have had this thread number before.
  if (View::phase(seat.view.state_.load(std::memory_order_acquire)) != View::closed) {
    return nullptr;
  }
  if (seat.view.counts_.empty()) [[unlikely]] {
    allocate_counts(thread);
  }
  seat.view.begin_use();
  if (!fence()) {
    note_quiet(seat);
  }
  return &seat.view;
}

/// Allocates the seat's counts and raises used_. A concurrent look() either sees this seat or
/// precedes its use.
void Seats::allocate_counts(size_t thread) {
  seats_[thread].view.counts_ = View(slots_).counts_;
  size_t used = used_.load();
  while (used <= thread && !used_.compare_exchange_weak(used, thread + 1)) {
  }
}

void Seats::leave(const View* view) {
  view->enter(View::closed);
  fence();
}

/// Separates the store of a seat's state from the loads behind it. Returns true if the thread was
/// trusted to omit the fence.
bool Seats::fence() const {
  asm volatile("" ::: "memory");  // the compiler must keep the order in either case
  if (trust_.load() == full) [[likely]] {
    return true;
  }
  native::full_fence();
  return false;
}

/// Counts a use without trust. Restores the trust after kQuiet of them without a look().
void Seats::note_quiet(Seat& seat) const {
  if (++seat.untrusted < kQuiet || !asymmetric_) {
    return;
  }
  seat.untrusted = 0;
  if (!looked_.exchange(false)) {
    int no = none;
    trust_.compare_exchange_strong(no, full);
  }
}

void Seats::look() const {
  if (!looked_.load(std::memory_order_relaxed)) {
    looked_.store(true, std::memory_order_relaxed);
  }
  if (trust_.load() == none) [[likely]] {
    return;
  }
  // A thread that finds `ending` waits here for the fence on all threads: until then, some thread
  // may still be trusted.
  const std::lock_guard lock(ending_);
  if (trust_.load() != none) {
    trust_.store(ending);
    native::fence_all_threads();
    trust_.store(none);
  }
}

size_t Seats::taken() const {
  const size_t used = used_.load();
  return static_cast<size_t>(std::count_if(
      seats_.begin(), seats_.begin() + static_cast<ptrdiff_t>(used),
      [](const Seat& seat) { return View::phase(seat.view.state_.load()) != View::closed; }));
}

}  // namespace holdfast::db
