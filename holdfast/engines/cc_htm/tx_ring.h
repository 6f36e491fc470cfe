// SPDX-License-Identifier: Apache-2.0
//
// The transactions that have begun and are not retired, in one bounded ring. Both of the paper's
// queues are in it: blue transactions execute or finish, red ones wait for their retirement.
//
//   number     a transaction's start time stamp, from 1; its slot is number % size
//   slot       state = number and colour; for red ones persist time stamp, end time stamp, log
//   min        every number below is retired, or was given up
//
// A number that the counter has given out and whose slot has not got it yet is blue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast::cc_htm {

/// The order of commits: the clock within the hardware transaction, then the number.
struct Stamp {
  uint64_t time;
  uint64_t id;
  bool operator<(const Stamp& o) const { return time != o.time ? time < o.time : id < o.id; }
  bool operator==(const Stamp&) const = default;
};

/// The facts that a thread leaves in its slot when its transaction turns red.
struct Finished {
  Stamp stamp;
  uint64_t end;       ///< end time stamp: the counter after the commit
  uint64_t position;  ///< of the record in the thread's log
  uint64_t bytes;     ///< of the record
  uint64_t thread;
  uint64_t credit;  ///< 1 if its update may return before it is retired
};

template <class M>
class TxRing {
 public:
  template <class T>
  using Atomic = typename M::template Atomic<T>;
  enum Colour : uint64_t { done = 1, blue = 2, red = 3 };

  /// Atomic words and words of hardware transactions on lines of their own.
  struct alignas(kMaxLineBytes) Slot {
    Atomic<uint64_t> state{};
    uint64_t finished[sizeof(Finished) / sizeof(uint64_t)] = {};
    /// In the read set of the transaction with that number: a store of the number dooms it.
    alignas(kMaxLineBytes) uint64_t revoked = 0;
    /// The number, stored within the hardware transaction.
    uint64_t committed = 0;
  };

  TxRing(M& machine, uint64_t size)
      : size_(size),
        shared_(make_object<Shared>(machine)),
        slots_(make_array<Slot>(machine, size)) {
    shared_->next.store(1);
    shared_->min.store(1);
  }

  static uint64_t word(uint64_t id, Colour colour) { return id << 2 | colour; }

  Slot& slot(uint64_t id) const { return slots_[id % size_]; }
  /// The state of a slot before the transaction with this number takes it.
  uint64_t before(uint64_t id) const { return id > size_ ? word(id - size_, done) : 0; }

  /// The number of the next transaction: the paper's TxCounter.
  uint64_t next() const { return shared_->next.load(); }
  /// Acquire: the homes have the values of every transaction below.
  uint64_t min() const { return shared_->min.load(std::memory_order_acquire); }

  /// Takes a number, if the ring has room for it; otherwise returns 0.
  uint64_t take() {
    uint64_t id = shared_->next.load();
    while (id < min() + size_) {  // an old number may be below the minimum
      if (shared_->next.compare_exchange(id, id + 1)) {
        return id;
      }
    }
    return 0;
  }

  /// Fills the slot. Returns false if another thread has given up the number meanwhile.
  bool start(uint64_t id) {
    uint64_t expected = before(id);
    return slot(id).state.compare_exchange(expected, word(id, blue));
  }

  /// Gives up a number whose transaction will not commit. Returns false if another thread has.
  bool give_up(uint64_t id) {
    uint64_t expected = word(id, blue);
    if (slot(id).state.compare_exchange(expected, word(id, done))) {
      return true;
    }
    expected = before(id);
    return slot(id).state.compare_exchange(expected, word(id, done));
  }

  /// Turns a transaction red. Release: pairs with finished().
  void finish(const Finished& f) {
    Slot& s = slot(f.stamp.id);
    M::copy(s.finished, &f, sizeof f);
    s.state.store(word(f.stamp.id, red), std::memory_order_release);
  }
  /// Returns the facts about a red transaction.
  Finished finished(uint64_t id) const {
    Finished f;
    M::copy(&f, slot(id).finished, sizeof f);
    return f;
  }
  void retire(uint64_t id) { slot(id).state.store(word(id, done), std::memory_order_release); }

  /// The result of a look at all slots.
  struct Look {
    uint64_t next;         ///< the counter before the look
    uint64_t oldest_blue;  ///< the smallest number of a blue transaction; next if there is none
  };
  /// Collects the red transactions, in the order of their stamps. `early`: a number whose slot is
  /// not filled yet counts as retired.
  Look collect(std::vector<Finished>& found, bool early) const {
    found.clear();
    const uint64_t first = min();
    // Before the slots: a transaction that begins later cannot have a smaller time than one that
    // was red before and ended up to here.
    const uint64_t end = next();
    Look look{.next = end, .oldest_blue = end};
    for (uint64_t id = first; id < end; ++id) {
      // Acquire: pairs with finish().
      const uint64_t state = slot(id).state.load(std::memory_order_acquire);
      if (state == word(id, Colour::red)) {
        found.push_back(finished(id));
      } else if (state != word(id, done) && !(early && state == before(id))) {
        look.oldest_blue = std::min(look.oldest_blue, id);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Finished& a, const Finished& b) { return a.stamp < b.stamp; });
    return look;
  }
  /// Raises the minimum as far as transactions have retired. Returns whether it has changed. By one
  /// thread at a time.
  bool advance_min(bool early) {
    const uint64_t first = min();
    const uint64_t end = next();
    uint64_t id = first;
    while (id < end) {
      const uint64_t state = slot(id).state.load(std::memory_order_acquire);
      if (state != word(id, done) && !(early && state == before(id))) {
        break;
      }
      ++id;
    }
    if (id != first) {
      set_min(id);
    }
    return id != first;
  }

 private:
  void set_min(uint64_t id) { shared_->min.store(id, std::memory_order_release); }

  struct alignas(kMaxLineBytes) Shared {
    Atomic<uint64_t> next{};
    alignas(kMaxLineBytes) Atomic<uint64_t> min{};
  };
  uint64_t size_;
  Shared* shared_;
  Slot* slots_;
};

}  // namespace holdfast::cc_htm
