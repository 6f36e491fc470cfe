// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/native/support/futex.h"

namespace holdfast::native {

/// Threads that wait for groups of a journal. At most two groups have waiting threads: the one that
/// was begun last, and the one that gathers, which has the next number. So a thread sleeps with
/// those of its own group only, and the end of a group wakes no thread that has to wait on, but one
/// that may write the next group.
///
/// Thread safety: any thread; begin() and end() are called by one thread after the other.
class GroupWaits {
 public:
  /// A place to sleep at, and its state.
  struct Ticket {
    unsigned place;
    uint32_t state;
  };

  /// The group with this number begins to be written. It has the lines up to position `end`.
  void begin(uint64_t number, uint64_t end) { begun_.store(end << 1 | (number & 1)); }

  /// Returns the ticket of the group that brings `position` to the medium, or has done so. The
  /// lines up to there are in a group that was begun, or in the one that gathers.
  Ticket ticket(uint64_t position) const {
    const uint64_t begun = begun_.load();
    const auto place = static_cast<unsigned>((begun & 1) ^ (position <= begun >> 1 ? 0 : 1));
    return {place, groups_[place].load()};
  }
  /// Sleeps until a group has ended since the ticket was drawn, or a little. Between the two, the
  /// caller looks whether a group is being written.
  void wait(const Ticket& ticket) { groups_[ticket.place].wait(ticket.state); }

  /// The group that was begun last has ended: a thread that waits on sees that no group is being
  /// written. wake() follows.
  void end() {
    groups_[0].add();
    groups_[1].add();
  }
  /// Wakes the threads of that group, and first one of the next group. `number`: that of the group.
  /// Another group may have been begun since end(). Then it wakes some threads that sleep again.
  void wake(uint64_t number) {
    groups_[1 - number % 2].wake_one();
    groups_[number % 2].wake_all();
  }
  /// Wakes all threads. After end().
  void wake_all() {
    groups_[0].wake_all();
    groups_[1].wake_all();
  }

 private:
  struct alignas(kLineBytes) Place : Futex {};

  std::atomic<uint64_t> begun_{0};  // end << 1 | the number's last bit; of the group begun last
  Place groups_[2];                 // of groups with even and with odd numbers
};

}  // namespace holdfast::native
