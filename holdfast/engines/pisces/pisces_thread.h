// SPDX-License-Identifier: Apache-2.0
//
// A thread's transaction under Pisces, and the choice between the two versions of a stripe.
//
//   lock word   0, or owned : 1 | slot : 9 | attempt : 30 | number of the owner's copy : 24
//
// The attempt distinguishes a lock word from an earlier one with the same slot and number.
//
// Why a load from the home needs no second load of the lock word. A stripe's home changes only
// after its owner has waited for all snapshots older than its commit. Suppose that this
// transaction, with snapshot `start`, found the stripe free, or owned by a transaction that was
// still running. A transaction that stores to its home later has read the clock after that load, so
// its time is larger than `start`. Therefore it waits for this transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"
#include "holdfast/engines/pisces/pisces_states.h"

namespace holdfast {

/// The transaction, and the memory it keeps between transactions. For one thread.
template <class M>
class alignas(kMaxLineBytes) PiscesThread : public SoftwareContext {
 public:
  using Lock = typename OwnershipTable<M>::Lock;

  /// A stripe that the transaction owns. Its copy has the same number as this entry.
  struct Held {
    Lock* lock;       ///< null: an earlier entry has the same lock word
    uint64_t offset;  ///< of the stripe
    uint8_t changed;  ///< a bit per word
  };

  PiscesThread(M& machine, const OwnershipTable<M>& table, PiscesStates<M>& states,
               uint64_t most_changed, int own_slot)
      : backoff(static_cast<uint64_t>(own_slot)),
        machine_(machine),
        table_(table),
        states_(states),
        copies_(states.copies(own_slot)),
        most_changed_(most_changed),
        owned_(kOwned | static_cast<uint64_t>(own_slot) << kSlotShift) {
    slot = own_slot;
  }

  Backoff backoff;

  void begin(Mode new_mode) {
    prepare_context(new_mode);
    changed_ = 0;
    attempt_ = (attempt_ + 1) & kAttemptMask;
    start_ = states_.activate(slot);
  }

  const std::vector<Held>& held() const { return held_; }
  const StripeCopy& copy(size_t number) const { return copies_.at(number); }
  bool changes_nothing() const { return changed_ == 0; }

  /// Releases all stripes. Release: a thread that finds them free sees the values in place.
  void release() {
    for (const Held& held : held_) {
      if (held.lock != nullptr) {
        held.lock->store(0, std::memory_order_release);
      }
    }
    held_.clear();
  }

  template <class T>
  T load(const T* p) {
    // Acquire: pairs with release().
    const uint64_t seen = lock_of(offset_of(p)).load(std::memory_order_acquire);
    if (seen == 0) [[likely]] {
      return M::load(p);
    }
    T value;
    load_owned(&value, p, sizeof(T), seen);
    return value;
  }

  void load_range(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_stripe(data, from, n, [&](const std::byte* piece, size_t bytes) {
      // Acquire: pairs with release().
      const uint64_t seen = lock_of(offset_of(piece)).load(std::memory_order_acquire);
      if (seen == 0) [[likely]] {
        M::copy(out, piece, bytes);
      } else {
        load_owned(out, piece, bytes, seen);
      }
      out += bytes;
    });
  }

  template <class T>
  void store(T* p, T value) {
    store_piece(reinterpret_cast<const std::byte*>(p), &value, sizeof(T));
    stored_bytes += sizeof(T);
  }

  void store_range(void* to, const void* from, size_t n) {
    const auto* in = static_cast<const std::byte*>(from);
    for_each_stripe(data, to, n, [&](const std::byte* piece, size_t bytes) {
      store_piece(piece, in, bytes);
      in += bytes;
    });
    stored_bytes += n;
  }

  /// Owns the stripes, as a store does. So two transactions that promote or store to a stripe do
  /// not both commit.
  void promote(const void* p, size_t n) {
    for_each_stripe(data, p, n, [&](const std::byte* piece, size_t /*bytes*/) {
      static_cast<void>(own(stripe_of(piece)));
    });
  }

 private:
  static constexpr uint64_t kOwned = uint64_t{1} << 63;
  static constexpr int kSlotShift = 54;
  static constexpr int kAttemptShift = StripeCopies<M>::kNumberBits;
  static constexpr uint64_t kAttemptMask = (uint64_t{1} << (kSlotShift - kAttemptShift)) - 1;
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kAttemptShift) - 1;
  static constexpr uint64_t kStripeMask = (uint64_t{1} << Stripes::kStripeBits) - 1;
  static_assert(kMaxThreads + 2 <= 1 << (63 - kSlotShift));

  static int owner_of(uint64_t word) { return static_cast<int>((word & ~kOwned) >> kSlotShift); }

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - data);
  }
  uint64_t stripe_of(const void* p) const { return offset_of(p) & ~kStripeMask; }
  Lock& lock_of(uint64_t offset) const { return table_.of(offset); }

  /// Loads [from, from + n), which lies in one stripe, whose lock word was `seen`, not 0.
  [[gnu::noinline]] void load_owned(void* to, const void* from, size_t n, uint64_t seen) {
    const Lock& lock = lock_of(offset_of(from));
    while (seen != 0) {
      const int owner = owner_of(seen);
      if (owner == slot) {
        const auto number = find_own(seen, stripe_of(from));
        number ? copy_out(to, copies_.at(*number), offset_of(from), n) : M::copy(to, from, n);
        return;
      }
      const auto& version = states_.version(owner);
      // Acquire: pairs with publish() and settle().
      const uint64_t state = version.load(std::memory_order_acquire);
      if (state == PiscesStates<M>::kCritical && !machine_.skips(Site{"pisces.read.critical"})) {
        M::reach(Probe{"pisces.read.critical"});
        machine_.wait_while(version, state);
        seen = lock.load(std::memory_order_acquire);
        continue;
      }
      // The owner is running, or its version is newer than the snapshot: take the home. The state
      // may already be that of a later transaction of the owner. Then the stripe's new content is
      // in place.
      if (state > start_) {
        break;
      }
      const bool found = copy_version(to, from, n, owner, seen);
      // Relaxed: the acquire loads of the copy keep this second load behind them. If the lock word,
      // attempt included, is unchanged, the copies were still those of the commit.
      const uint64_t again = lock.load(std::memory_order_relaxed);
      if (again == seen || machine_.skips(Site{"pisces.read.second_look"})) {
        if (!found) {
          M::reach(Probe{"pisces.read.other_stripe"});
          break;  // the owner has another stripe under the same lock word
        }
        M::reach(Probe{"pisces.read.copy"});
        return;
      }
      M::reach(Probe{"pisces.read.changed"});
      seen = lock.load(std::memory_order_acquire);
    }
    M::copy(to, from, n);
  }

  /// Copies the committed version of a stripe that another thread owns. Returns false if there is
  /// none. The copied bytes are valid only if the lock word is unchanged afterwards.
  ///
  /// Acquire, all loads of copies: the caller's second load of the lock word stays behind them.
  bool copy_version(void* to, const void* from, size_t n, int owner, uint64_t seen) {
    const StripeCopies<M>& copies = states_.copies(owner);
    const Lock& lock = lock_of(offset_of(from));
    uint64_t number = seen & kNumberMask;
    for (;;) {
      const StripeCopy& copy = copies.at(number);
      if (M::load_acquire(&copy.offset) == stripe_of(from)) {
        copy_out(to, copy, offset_of(from), n);
        return true;
      }
      const uint64_t next = M::load_acquire(&copy.next);
      // A chain that is being reused may be circular. Relaxed: the check only ends the loop.
      if (next == 0 || lock.load(std::memory_order_relaxed) != seen) {
        return false;
      }
      number = next - 1;
    }
  }

  static void copy_out(void* to, const StripeCopy& copy, uint64_t offset, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    const auto* const from =
        reinterpret_cast<const std::byte*>(copy.words) + (offset & kStripeMask);
    for_each_word(from, n, [&](const uint64_t* word, size_t shift, size_t bytes, uint64_t) {
      const uint64_t value = M::load_acquire(word);
      std::memcpy(out, reinterpret_cast<const std::byte*>(&value) + shift, bytes);
      out += bytes;
    });
  }

  /// Stores to [at, at + n), which lies in one stripe.
  void store_piece(const std::byte* at, const void* from, size_t n) {
    const auto number = own(stripe_of(at));
    if (!number) {
      return;
    }
    StripeCopy& copy = copies_.at(*number);
    Held& held = held_[*number];
    if (held.changed == 0) {
      count_change();
    }
    const auto* in = static_cast<const std::byte*>(from);
    std::byte* const to = reinterpret_cast<std::byte*>(copy.words) + (offset_of(at) & kStripeMask);
    for_each_word(to, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t mask) {
      uint64_t bits = 0;
      std::memcpy(reinterpret_cast<std::byte*>(&bits) + shift, in, bytes);
      M::store_release(word, (M::load(word) & ~mask) | bits);
      held.changed |= static_cast<uint8_t>(1U << (word - copy.words));
      in += bytes;
    });
  }

  /// Owns a stripe and returns the number of its copy, or nothing if the transaction is doomed.
  std::optional<uint64_t> own(uint64_t stripe) {
    if (doomed) {
      return std::nullopt;
    }
    Lock& lock = lock_of(stripe);
    // No order is relied on: the thread sees its own stores, and add() repeats the load.
    const uint64_t seen = lock.load(std::memory_order_acquire);
    if (seen != 0 && owner_of(seen) == slot) {
      const auto known = find_own(seen, stripe);
      return known ? known : add(stripe, nullptr, seen & kNumberMask);
    }
    if (seen != 0) {
      doom();
    }
    return add(stripe, &lock, 0);
  }

  /// Finds the copy of a stripe under the lock word `seen`, which this transaction owns.
  std::optional<uint64_t> find_own(uint64_t seen, uint64_t stripe) const {
    for (uint64_t number = seen & kNumberMask;;) {
      const StripeCopy& copy = copies_.at(number);
      if (M::load(&copy.offset) == stripe) {
        return number;
      }
      const uint64_t next = M::load(&copy.next);
      if (next == 0) {
        return std::nullopt;
      }
      number = next - 1;
    }
  }

  /// Makes a copy of a stripe. Takes ownership of `lock`; if it is null, the transaction owns the
  /// lock word already, and `head` is the first copy under it.
  [[gnu::noinline]] uint64_t add(uint64_t stripe, Lock* lock, uint64_t head) {
    const uint64_t number = held_.size();
    if (number >= StripeCopies<M>::kMost) {
      refuse();
    }
    copies_.provide(machine_, number);
    held_.push_back({lock, stripe, 0});  // before taking the stripe, since this can throw
    StripeCopy& copy = copies_.at(number);
    // Release, here and for every word of a copy. A reader may still use an earlier copy with this
    // number. If it sees the new words, its second load of the lock word shows that the copy has
    // been reused.
    M::store_release(&copy.offset, stripe);
    uint64_t next = 0;
    if (lock != nullptr) {
      uint64_t expected = 0;
      if (!lock->compare_exchange(expected, owned_ | attempt_ << kAttemptShift | number)) {
        held_.pop_back();
        doom();
      }
    } else {
      M::reach(Probe{"pisces.second_stripe"});
      StripeCopy& first = copies_.at(head);
      next = M::load(&first.next);
      M::store_release(&first.next, number + 1);
    }
    M::store_release(&copy.next, next);
    // The stripe is owned, so no other transaction changes its home. The home has the snapshot's
    // version: the owner of a later version would wait for this transaction before it releases it.
    const auto* const home = reinterpret_cast<const uint64_t*>(data + stripe);
    for (size_t i = 0; i < StripeCopy::kWords; ++i) {
      M::store_release(&copy.words[i], M::load(&home[i]));
    }
    return number;
  }

  void count_change() {
    if (++changed_ > most_changed_) {
      refuse();
    }
  }

  /// Throws, and makes the transaction fail even if the body swallows the exception.
  [[noreturn]] void refuse() {
    M::reach(Probe{"pisces.too_large"});
    const Error error(Status(Code::too_large,
                             "the transaction stores to more than its log can hold; create the "
                             "heap with a larger log_bytes, or split the transaction"));
    nested_failure = std::make_exception_ptr(error);
    throw Error(error);
  }

  M& machine_;
  OwnershipTable<M> table_;
  PiscesStates<M>& states_;
  StripeCopies<M>& copies_;
  const uint64_t most_changed_;  ///< stripes
  const uint64_t owned_;
  uint64_t attempt_ = 0;
  uint64_t start_ = 0;
  uint64_t changed_ = 0;
  std::vector<Held> held_;
};

}  // namespace holdfast
