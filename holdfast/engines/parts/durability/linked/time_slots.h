// SPDX-License-Identifier: Apache-2.0
//
// Stage and time stamp of every thread's update transaction (SPHT, NV-HTM; FUR 2.3). One line per
// thread:
//
//   word         time << 2 | stage
//     parked     no update is running, or the last one is durable: no reason to wait
//     running    the update's time will be at least this one
//     committed  visible, with this time; its log is not durable yet
//     logged     its log is durable, but a crash may still discard the transaction
//   notes        time and link position of the thread's last two logged transactions
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "holdfast/engines/parts/durability/linked/linked_record.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// The slots of all threads. A thread changes only its own slot; every thread may wait for others.
template <class M>
class TimeSlots {
 public:
  TimeSlots(M& machine, int slots)
      : machine_(machine),
        slots_(slots),
        lines_(make_array<Line>(machine, static_cast<size_t>(slots))) {}

  /// Relaxed, both. The fence that the caller executes next orders `running`. `committed` may
  /// become visible late: until then other threads see the lower bound, and wait. The log's fences,
  /// or the hardware commit, order it (see the engines' headers).
  void run(int slot, uint64_t lower_bound) { set(slot, lower_bound, kRunning, kRelaxed); }
  void commit(int slot, uint64_t time) { set(slot, time, kCommitted, kRelaxed); }
  /// Release: the log's fence and the note come before.
  void logged(int slot, uint64_t time) { set(slot, time, kLogged, kRelease); }
  /// Release: the marker's fence comes before; for an aborted transaction, its roll-back.
  void park(int slot) { set(slot, 0, kParked, kRelease); }

  /// Waits until no other update with a time of at most `time` runs or has an incomplete log.
  /// Returns true if a newer one has committed and is not durable yet.
  bool await_logged(int self, uint64_t time, Site site) {
    bool newer = false;
    for (const int s : machine_.scan(slots_, site)) {
      if (s != self) {
        const uint64_t word = await(s, [&](uint64_t w) {
          return time_of(w) > time || stage(w) == kLogged || stage(w) == kParked;
        });
        newer = newer || (time_of(word) > time && stage(word) >= kCommitted);
      }
    }
    return newer;
  }

  /// Waits until every other update with a time of at most `time` is durable, or gone. With
  /// `ties_by_slot`, an update with the same time counts only if its slot is lower than `self`. So
  /// two updates do not wait for each other.
  void await_durable(int self, uint64_t time, bool ties_by_slot, Site site) {
    for (const int s : machine_.scan(slots_, site)) {
      if (s != self) {
        await(s, [&](uint64_t w) {
          return time_of(w) > time || stage(w) == kParked ||
                 (ties_by_slot && time_of(w) == time && s > self);
        });
      }
    }
  }

  /// Waits until every other update that has committed with a time of at most `time` is durable.
  /// Updates that are only running are not waited for. Two updates with the same time have not read
  /// from each other.
  void await_committed(int self, uint64_t time, Site site) {
    for (const int s : machine_.scan(slots_, site)) {
      if (s != self) {
        await(s, [&](uint64_t w) {
          return time_of(w) > time || stage(w) == kParked || stage(w) == kRunning ||
                 (time_of(w) == time && s > self);
        });
      }
    }
  }

  /// The largest time, at most `now`, up to which no update is running or not yet durable. The
  /// caller has read `now` from the clock before.
  uint64_t none_before(uint64_t now) const {
    uint64_t bound = now;
    for (const int s : machine_.scan(slots_, Site{})) {
      const uint64_t word = lines_[s].word.load();
      if (stage(word) != kParked) {
        bound = std::min(bound, time_of(word) - 1);
      }
    }
    return bound;
  }

  /// Publishes the place of the own record for threads that look for their predecessor. Call it
  /// before logged().
  void note(const LinkedRecord& r) {
    Line& line = lines_[r.thread];
    // Relaxed load: only this thread writes the line. Release stores: each store stays behind those
    // before it. So an even, unchanged version proves that the loads in between are consistent.
    const uint64_t version = line.version.load(std::memory_order_relaxed);
    line.version.store(version + 1, std::memory_order_release);
    line.before_last.copy(line.last);
    line.last.time.store(r.time, std::memory_order_release);
    line.last.link.store(r.link_position(), std::memory_order_release);
    line.version.store(version + 2, std::memory_order_release);
  }

  struct Predecessor {
    int thread;
    uint64_t link_position;
  };
  /// The newest transaction older than `r`; the caller has waited until all older ones are logged.
  /// Returns nothing if there was none in this run, or if a thread's notes of it have been
  /// replaced.
  std::optional<Predecessor> predecessor(const LinkedRecord& r) const {
    std::optional<Predecessor> found;
    LinkedRecord newest;
    for (const int s : machine_.scan(slots_, Site{})) {
      const Notes notes = read_notes(s);
      LinkedRecord other{.thread = s, .time = notes.time};
      uint64_t link = notes.link;
      if (!other.before(r)) {
        other.time = notes.time_before;
        link = notes.link_before;
        if (other.time != 0 && !other.before(r)) {
          return {};
        }
      }
      if (other.time != 0 && (!found || newest.before(other))) {
        newest = other;
        found = Predecessor{s, link};
      }
    }
    return found;
  }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr auto kRelease = std::memory_order_release;
  static constexpr uint64_t kParked = 0;
  static constexpr uint64_t kRunning = 1;
  static constexpr uint64_t kCommitted = 2;
  static constexpr uint64_t kLogged = 3;

  struct Note {
    Word time{};
    Word link{};
    void copy(const Note& other) {
      time.store(other.time.load(kRelaxed), kRelease);
      link.store(other.link.load(kRelaxed), kRelease);
    }
  };
  struct alignas(kMaxLineBytes) Line {
    Word word{};
    Word version{};
    Note last;
    Note before_last;
  };
  struct Notes {
    uint64_t time, link, time_before, link_before;
  };

  static uint64_t time_of(uint64_t word) { return word >> 2; }
  static uint64_t stage(uint64_t word) { return word & 3; }
  void set(int slot, uint64_t time, uint64_t stage, std::memory_order order) {
    lines_[slot].word.store(time << 2 | stage, order);
  }
  template <class Done>
  uint64_t await(int s, Done&& done) {
    const Word& word = lines_[s].word;
    uint64_t w = word.load();  // sequentially consistent: stays behind the caller's fence
    while (!done(w)) {
      w = machine_.wait_while(word, w);
    }
    return w;
  }

  Notes read_notes(int s) const {
    const Line& line = lines_[s];
    for (;;) {
      // Acquire, all: each load stays before the next one.
      const uint64_t version = line.version.load(std::memory_order_acquire);
      const Notes notes{line.last.time.load(std::memory_order_acquire),
                        line.last.link.load(std::memory_order_acquire),
                        line.before_last.time.load(std::memory_order_acquire),
                        line.before_last.link.load(std::memory_order_acquire)};
      if (version % 2 == 0 && line.version.load(std::memory_order_acquire) == version) {
        return notes;
      }
      machine_.pause();
    }
  }

  M& machine_;
  int slots_;
  Line* lines_;
};

}  // namespace holdfast
