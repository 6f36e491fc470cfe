// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/soft_htm.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/support/spin.h"

namespace holdfast::native {
namespace {

/// Calls f(to, from, n) for each piece of the copy that lies in one line of `shared`. `shared` is
/// the source or the destination.
template <class F>
void by_line(void* to, const void* from, size_t n, const void* shared, F&& f) {
  auto* t = static_cast<std::byte*>(to);
  const auto* s = static_cast<const std::byte*>(from);
  size_t offset = reinterpret_cast<uintptr_t>(shared) % kLineBytes;
  while (n > 0) {
    const size_t piece = std::min(n, kLineBytes - offset);
    f(t, s, piece);
    t += piece, s += piece, n -= piece;
    offset = 0;
  }
}

}  // namespace

SoftThread::SoftThread(SoftShared& shared, int slot)
    : entries_(shared.table.entries()),
      status_(&shared.statuses[static_cast<size_t>(slot)]),
      me_(static_cast<uint64_t>(slot) + 1),
      shared_(shared) {
  // A slot passes from one thread to another through SlotTable's mutex. The mutex orders the two
  // threads' accesses to this object.
  running_ = soft_status::kRunning;
}

AbortCause SoftThread::begin(Tracking tracking) {
  assert(mode_ == Mode::closed);
  running_ += soft_status::kIncarnation;
  // Relaxed: other threads look at the word only after they have seen this transaction own an
  // entry, and taking the entry releases. A store, not an exchange: no pin can be held on a
  // transaction that has released its lines.
  status_->word.store(running_, std::memory_order_relaxed);
  // Acquire: loads of this transaction see the stores of all commits up to this version.
  snapshot_ = shared_.clock.load(std::memory_order_acquire);
  mode_ = tracking == Tracking::all ? Mode::all : Mode::stores;
  return AbortCause::none;
}

void SoftThread::suspend() {
  if (mode_ == Mode::aborted) {
    return;
  }
  assert(mode_ == Mode::all || mode_ == Mode::stores);
  resumed_ = mode_;
  mode_ = Mode::suspended;
  last_line_ = kNoLine;
  order_stores();
}

/// Separates the taking of the transaction's lines from the engine's following look for readers
/// that its stores might tear. A reader announces itself, then executes a full fence. So either the
/// engine sees the reader, or the reader sees the ownership. On x86 the locked instruction that
/// took each line has been the full fence on this side.
void SoftThread::order_stores() {
#if defined(__x86_64__)
  compiler_barrier();
#else
  full_fence();
#endif
}

void SoftThread::track(Tracking tracking) {
  if (mode_ == Mode::aborted) {
    throw HtmAbort();  // the body has caught the first one
  }
  check_alive();
  assert(mode_ == Mode::all || mode_ == Mode::stores);
  mode_ = tracking == Tracking::all ? Mode::all : Mode::stores;
  last_line_ = kNoLine;
  order_stores();
}

void SoftThread::resume() {
  if (mode_ == Mode::aborted) {
    throw HtmAbort();
  }
  assert(mode_ == Mode::suspended);
  mode_ = resumed_;
  check_alive();
}

void SoftThread::abort(AbortCode code) {
  assert(open());
  if (mode_ == Mode::aborted) {
    throw HtmAbort();
  }
  code_ = code;
  fail(AbortCause::explicit_abort);
}

AbortCause SoftThread::caught() {
  if (mode_ != Mode::closed && mode_ != Mode::aborted) {
    cause_ = alive() ? AbortCause::other : AbortCause::conflict;  // no operation has thrown yet
  }
  cancel();
  return cause_;
}

void SoftThread::cancel() {
  if (mode_ != Mode::closed && mode_ != Mode::aborted) {
    roll_back();
  }
  mode_ = Mode::closed;
}

void SoftThread::commit() {
  if (mode_ == Mode::aborted) {
    throw HtmAbort();  // the body has caught the first one
  }
  assert(mode_ == Mode::all || mode_ == Mode::stores);
  if (owned_.empty()) {
    // All tracked loads belong to the state at snapshot_, so the transaction took place then. No
    // thread can have doomed it, because that needs an entry that this transaction owns.
    finish(Mode::closed);
    return;
  }
  // Acquire and release: commits form one chain through the clock. Suppose that each of two
  // transactions has loaded a word that the other stores. The later one in the chain then sees that
  // the earlier one owns the line, and fails.
  const uint64_t version = shared_.clock.fetch_add(1, std::memory_order_acq_rel) + 1;
  // If the clock has not moved, no other transaction has committed since the snapshot, and there is
  // nothing to validate.
  if (mode_ == Mode::all && version != snapshot_ + 1 && !validate()) {
    fail(AbortCause::conflict);
  }
  // The instant of the commit. Acquire: with the exchange of a thread that dooms this transaction.
  // Release: a thread that sees CLOSING knows that ownership now means "wait".
  uint64_t expected = running_;
  if (!status_->word.compare_exchange_strong(
          expected, soft_status::with_state(running_, soft_status::kClosing),
          std::memory_order_acq_rel, std::memory_order_acquire)) {
    fail(AbortCause::conflict);
  }
  for (const SoftLine& line : writes_.lines()) {
    line.publish();
  }
  release_with(version);
  finish(Mode::closed);
}

void SoftThread::release_with(uint64_t version) {
  for (const uint32_t entry : owned_) {
    // Release: a thread that sees the line free sees the published bytes. A store, not an exchange:
    // no thread takes a line from a transaction that is not doomed.
    entries_[entry].store(soft_entry::released(version), std::memory_order_release);
  }
}

void SoftThread::finish(Mode mode) {
  // Release: all accesses to this incarnation's entries come before. begin() stores the next
  // incarnation's word afterwards.
  status_->word.store(soft_status::with_state(running_, soft_status::kIdle),
                      std::memory_order_release);
  writes_.clear();
  reads_.clear();
  owned_.clear();
  last_line_ = kNoLine;
  mode_ = mode;
}

void SoftThread::fail(AbortCause cause) {
  cause_ = cause;
  roll_back();
  throw HtmAbort();
}

void SoftThread::roll_back() {
  if (!owned_.empty()) {
    // A thread that has doomed this transaction may be taking a line just now. Its pin lasts for a
    // few instructions, which this loop waits for. In state CLOSING no thread can pin the
    // transaction any more, because only running and doomed transactions can be pinned. Relaxed
    // loads: the exchange below acquires.
    Backoff backoff;
    uint64_t word = status_->word.load(std::memory_order_relaxed);
    for (;;) {
      if (soft_status::pinned(word)) {
        backoff.wait();
        word = status_->word.load(std::memory_order_relaxed);
        continue;
      }
      // Acquire: the entries are as the last doomer has left them. Release: as in commit().
      if (status_->word.compare_exchange_weak(
              word, soft_status::with_state(running_, soft_status::kClosing),
              std::memory_order_acq_rel, std::memory_order_relaxed)) {
        break;
      }
    }
    for (const uint32_t index : owned_) {
      SoftEntry& entry = entries_[index];
      // Relaxed: the exchange above has acquired, and no other thread changes an entry of this
      // transaction in state CLOSING.
      const uint64_t value = entry.load(std::memory_order_relaxed);
      if (soft_entry::owner(value) == me_) {
        // Nothing was published, so the old version stays. Entries that other threads have taken
        // are left alone.
        entry.store(soft_entry::unowned(value), std::memory_order_release);
      }
    }
  }
  finish(Mode::aborted);
}

void SoftThread::load_range(void* to, const void* from, size_t n) {
  by_line(to, from, n, from, [this](void* t, const void* f, size_t piece) {
    switch (mode_) {
      case Mode::all:
        load_tracked(t, f, piece);
        break;
      case Mode::stores:
        load_untracked(t, f, piece);
        check_alive();
        break;
      case Mode::suspended:
        load_untracked(t, f, piece);
        break;
      case Mode::aborted:
        copy_words(t, f, piece);
        break;
      case Mode::closed:
        assert(mode_ != Mode::closed);
        break;
    }
  });
}

void SoftThread::store_range(void* to, const void* from, size_t n) {
  by_line(to, from, n, to, [this](void* t, const void* f, size_t piece) {
    switch (mode_) {
      case Mode::all:
      case Mode::stores:
        store_buffered(t, f, piece);
        break;
      case Mode::suspended:
        store_plain(t, f, piece);
        break;
      case Mode::aborted:
        break;
      case Mode::closed:
        assert(mode_ != Mode::closed);
        break;
    }
  });
}

void SoftThread::outside_load_range(void* to, const void* from, size_t n) {
  by_line(to, from, n, from,
          [this](void* t, const void* f, size_t piece) { load_untracked(t, f, piece); });
}

void SoftThread::outside_store_range(void* to, const void* from, size_t n) {
  by_line(to, from, n, to,
          [this](void* t, const void* f, size_t piece) { store_plain(t, f, piece); });
}

void SoftThread::load_untracked(void* to, const void* from, size_t n) {
  SoftEntry& entry = entry_of(from);
  uint64_t value = entry.load(std::memory_order_acquire);
  if (soft_entry::owner(value) != 0) {
    value = settle(entry, value);
  }
  // Acquire: the next look at an entry comes after this load.
  copy_words<__ATOMIC_ACQUIRE>(to, from, n);
  if (soft_entry::owner(value) == me_) {
    overlay_own(to, from, n);
  }
}

void SoftThread::load_tracked(void* to, const void* from, size_t n) {
  SoftEntry& entry = entry_of(from);
  for (;;) {
    uint64_t value = entry.load(std::memory_order_acquire);
    if (soft_entry::owner(value) != 0) {
      value = settle(entry, value);
    }
    const bool mine = soft_entry::owner(value) == me_;
    if (mine) {
      const SoftLine* own = writes_.find(line_of(from));
      if (own != nullptr && own->covers(offset_of(from), n)) {
        __builtin_memcpy(to, own->data + offset_of(from), n);
        break;
      }
    }
    if (soft_entry::version(value) > snapshot_) {
      extend();
      continue;
    }
    copy_words<__ATOMIC_ACQUIRE>(to, from, n);
    // Relaxed, because the loads before it acquire: if a commit had published into these bytes, the
    // entry would show its ownership here.
    if (entry.load(std::memory_order_relaxed) != value) {
      continue;
    }
    remember(SoftTable::index(line_of(from)), soft_entry::version(value));
    if (mine) {
      overlay_own(to, from, n);
    }
    break;
  }
  check_alive();
}

void SoftThread::overlay_own(void* to, const void* from, size_t n) {
  // Not found if another line of this transaction shares the entry.
  if (const SoftLine* own = writes_.find(line_of(from)); own != nullptr) {
    own->overlay(to, offset_of(from), n);
  }
}

bool SoftThread::validate() {
  for (const SoftReadSet::Record& read : reads_.records()) {
    SoftEntry& entry = entries_[read.entry];
    uint64_t value = entry.load(std::memory_order_acquire);
    const uint64_t owner = soft_entry::owner(value);
    // Another thread owns the line. On hardware its store would have doomed this transaction, so it
    // wins here too, unless its transaction is doomed itself and has not found out yet. Acquire,
    // with the exchange in evict().
    if (owner != 0 && owner != me_) {
      if (owner == soft_entry::kPlain || soft_status::state(shared_.statuses[owner - 1].word.load(
                                             std::memory_order_acquire)) != soft_status::kDoomed) {
        return false;
      }
      value = settle(entry, value);
    }
    if (soft_entry::version(value) != read.version) {
      return false;
    }
  }
  return true;
}

void SoftThread::extend() {
  // Acquire, and before the validation: a transaction that commits with a version up to this one
  // owned its lines before it took the version. So validate() sees the ownership or the new
  // version.
  const uint64_t now = shared_.clock.load(std::memory_order_acquire);
  if (!validate()) {
    fail(AbortCause::conflict);
  }
  snapshot_ = now;
}

void SoftThread::store_buffered(void* to, const void* from, size_t n) {
  const uintptr_t line = line_of(to);
  if (line != last_line_) {
    SoftLine* found = writes_.find(line);
    last_ = found != nullptr ? found : acquire(line);
    last_line_ = line;
  }
  check_alive();
  last_->put(offset_of(to), from, n);
}

SoftLine* SoftThread::acquire(uintptr_t line) {
  if (writes_.lines().size() >= shared_.options.store_lines) {
    fail(AbortCause::capacity);
  }
  SoftLine* added = nullptr;
  const size_t index = SoftTable::index(line);
  try {
    added = writes_.add(line);
    owned_.push_back(
        static_cast<uint32_t>(index));  // before taking the entry, since this can throw
  } catch (const std::bad_alloc&) {
    fail(AbortCause::capacity);  // engines expect no other exception of a store
  }
  SoftEntry& entry = entries_[index];
  uint64_t value = entry.load(std::memory_order_acquire);
  for (;;) {
    value = settle(entry, value);
    if (soft_entry::owner(value) == me_) {
      owned_.pop_back();  // another line of this transaction shares the entry
      return added;
    }
    // Acquire: the line is as its last owner has left it. Release: a thread that sees the ownership
    // sees this transaction's status word. Sequentially consistent, because on x86 order_stores()
    // relies on this instruction as its full fence.
    if (entry.compare_exchange_weak(value, value | me_, std::memory_order_seq_cst,
                                    std::memory_order_acquire)) {
      return added;
    }
  }
}

void SoftThread::store_plain(void* to, const void* from, size_t n) {
  SoftEntry& entry = entry_of(to);
  uint64_t value = entry.load(std::memory_order_acquire);
  for (;;) {
    value = settle(entry, value);
    if (soft_entry::owner(value) == me_) {
      give_up_own(entry, value);
      value = entry.load(std::memory_order_acquire);
      continue;
    }
    if (entry.compare_exchange_weak(value, value | soft_entry::kPlain, std::memory_order_seq_cst,
                                    std::memory_order_acquire)) {
      break;
    }
  }
  // Release, as in publish(): a thread that sees the store sees the ownership.
  copy_words<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(to, from, n);
  // The new version fails tracked transactions that have loaded the line. It is taken while the
  // line is owned, as in commit(), with the same orders.
  const uint64_t version = shared_.clock.fetch_add(1, std::memory_order_acq_rel) + 1;
  entry.store(soft_entry::released(version), std::memory_order_release);
}

/// A plain store to a line of the thread's own suspended transaction is a conflict with it, as on
/// POWER. Dooms the transaction and frees the entry. Acquire and release, as in evict(); relaxed on
/// failure, since then another thread has doomed it or taken the entry.
void SoftThread::give_up_own(SoftEntry& entry, uint64_t value) {
  uint64_t expected = running_;
  status_->word.compare_exchange_strong(expected,
                                        soft_status::with_state(running_, soft_status::kDoomed),
                                        std::memory_order_acq_rel, std::memory_order_relaxed);
  entry.compare_exchange_strong(value, soft_entry::unowned(value), std::memory_order_acq_rel,
                                std::memory_order_relaxed);
}

uint64_t SoftThread::settle(SoftEntry& entry, uint64_t value) {
  Backoff backoff;
  for (;;) {
    const uint64_t owner = soft_entry::owner(value);
    if (owner == 0 || owner == me_) {
      return value;
    }
    if (owner == soft_entry::kPlain || !evict(entry, value)) {
      backoff.wait();
    }
    value = entry.load(std::memory_order_acquire);
  }
}

/// Dooms the owner that `value` names, if it still owns the entry and is running or already doomed,
/// and frees the entry. Returns false if the owner is closing or the entry has changed; the caller
/// then looks again.
bool SoftThread::evict(SoftEntry& entry, uint64_t value) {
  std::atomic<uint64_t>& status = shared_.statuses[soft_entry::owner(value) - 1].word;
  uint64_t word = status.load(std::memory_order_acquire);
  // The second look at the entry ties the status word to the ownership. It comes after the load of
  // the word, which acquires. If the exchange below succeeds, the owner is still in the word's
  // incarnation. So it was in that incarnation at the second look, and owned the entry.
  if (entry.load(std::memory_order_acquire) != value) {
    return false;
  }
  const uint64_t state = soft_status::state(word);
  if (state != soft_status::kRunning && state != soft_status::kDoomed) {
    return false;
  }
  // Acquire and release: the exchanges in commit() and roll_back() read from this one. Relaxed on
  // failure, because the caller looks again.
  if (!status.compare_exchange_strong(
          word, soft_status::with_state(word, soft_status::kDoomed) + soft_status::kPin,
          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return false;
  }
  // The owner is pinned, so it cannot release the entry and own it again. If the exchange fails,
  // another thread that has doomed the owner was faster.
  entry.compare_exchange_strong(value, soft_entry::unowned(value), std::memory_order_acq_rel,
                                std::memory_order_relaxed);
  // Release, with the acquire in roll_back(): the entry is free before the pin is gone.
  status.fetch_sub(soft_status::kPin, std::memory_order_release);
  return true;
}

}  // namespace holdfast::native
