// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/soft_htm.h"

#include <algorithm>
#include <cassert>

#include "holdfast/machine/native/medium/write_back.h"
#include "holdfast/machine/native/support/spin.h"

namespace holdfast::native {
namespace {

/// Calls f(to, from, n) for the pieces of [from, from + n) that lie in one line of `shared`, which
/// is either the source or the destination.
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
  // A slot passes from thread to thread through SlotTable's mutex, which orders this object.
  running_ = soft_status::kRunning;
}

AbortCause SoftThread::begin(Tracking tracking) {
  assert(mode_ == Mode::closed);
  running_ += soft_status::kIncarnation;
  // Relaxed: others look at the word only after they have seen us own an entry, which is released
  // later. Plain store: no pin can be held on a transaction that has released its lines.
  status_->word.store(running_, std::memory_order_relaxed);
  // Acquire: what commits up to this version have published is visible to our loads.
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

/// An engine now looks for readers that its stores might tear. Either it sees such a reader, or the
/// reader, who has announced itself with a full fence, sees our ownership: store-load order on this
/// side. On x86 the locked instruction that took each line was that fence.
void SoftThread::order_stores() {
#if defined(__x86_64__)
  compiler_barrier();
#else
  full_fence();
#endif
}

void SoftThread::track(Tracking tracking) {
  if (mode_ == Mode::aborted) {
    throw HtmAbort();  // the body swallowed the first one
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

void SoftThread::abort() {
  assert(open());
  if (mode_ == Mode::aborted) {
    throw HtmAbort();
  }
  fail(AbortCause::explicit_abort);
}

AbortCause SoftThread::caught() {
  if (mode_ != Mode::closed && mode_ != Mode::aborted) {
    cause_ = alive() ? AbortCause::other : AbortCause::conflict;  // nothing has thrown so far
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
    throw HtmAbort();  // the body swallowed the first one
  }
  assert(mode_ == Mode::all || mode_ == Mode::stores);
  if (owned_.empty()) {
    // All that was loaded was consistent as of snapshot_: the transaction took place then. Nobody
    // can have doomed it, since that goes through an entry we own.
    finish(Mode::closed);
    return;
  }
  // Acquire and release: commits form one chain through the clock. Of two transactions that each
  // loaded what the other stores, the later in the chain sees that the earlier owns it, and fails.
  const uint64_t version = shared_.clock.fetch_add(1, std::memory_order_acq_rel) + 1;
  // Nobody else has committed since the snapshot when the clock stood still: nothing to check.
  if (mode_ == Mode::all && version != snapshot_ + 1 && !validate()) {
    fail(AbortCause::conflict);
  }
  // The instant. Acquire: a doomer's view. Release: from here on our ownership means "wait".
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
    // Release: who sees the line free sees what was published. A store, since nobody takes a line
    // from a transaction that has not been doomed.
    entries_[entry].store(soft_entry::released(version), std::memory_order_release);
  }
}

void SoftThread::finish(Mode mode) {
  // Release: no use of this incarnation's entries is left. The next incarnation's word follows.
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
    // Whoever has doomed us may be taking a line just now, and is given the few instructions that
    // takes. Then nobody can begin to: only running and doomed transactions can be pinned.
    Backoff backoff;
    uint64_t word = status_->word.load(std::memory_order_relaxed);
    for (;;) {
      if (soft_status::pinned(word)) {
        backoff.wait();
        word = status_->word.load(std::memory_order_relaxed);
        continue;
      }
      // Acquire: the entries as the last doomer left them.
      if (status_->word.compare_exchange_weak(
              word, soft_status::with_state(running_, soft_status::kClosing),
              std::memory_order_acq_rel, std::memory_order_relaxed)) {
        break;
      }
    }
    for (const uint32_t index : owned_) {
      SoftEntry& entry = entries_[index];
      const uint64_t value = entry.load(std::memory_order_relaxed);
      if (soft_entry::owner(value) == me_) {
        // Nothing was published, so the old version stands. Stolen ones are left alone.
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
  // Acquire: orders the next look at an entry after this load.
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
    // Relaxed, after an acquiring load: had a commit published into these bytes, we would see here
    // that it owned the line.
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
  // Not found when another line of ours shares the entry.
  if (const SoftLine* own = writes_.find(line_of(from)); own != nullptr) {
    own->overlay(to, offset_of(from), n);
  }
}

bool SoftThread::validate() {
  for (const SoftReadSet::Record& read : reads_.records()) {
    SoftEntry& entry = entries_[read.entry];
    uint64_t value = entry.load(std::memory_order_acquire);
    const uint64_t owner = soft_entry::owner(value);
    // Owned by someone else: on hardware that store would have doomed us, so it wins here as well,
    // unless its transaction is doomed itself and only has not noticed.
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
  // Acquire, and before the check: whoever commits with a version up to this one owned its lines
  // before it took the version, so the check sees the ownership or the new version.
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
  SoftLine* added = writes_.add(line);
  const size_t index = SoftTable::index(line);
  owned_.push_back(static_cast<uint32_t>(index));  // before owning it, since this can throw
  SoftEntry& entry = entries_[index];
  uint64_t value = entry.load(std::memory_order_acquire);
  for (;;) {
    value = settle(entry, value);
    if (soft_entry::owner(value) == me_) {
      owned_.pop_back();  // another line of ours shares the entry
      return added;
    }
    // Acquire: the line as its last owner left it. Release: whoever sees us own it sees our status
    // word. Sequentially consistent, as the reader's side of the argument in suspend() needs.
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
  // Release, as in publish(): who sees the store sees the ownership.
  copy_words<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(to, from, n);
  // A new version fails the tracked transactions that have loaded the line. Taken while the line is
  // owned, like a commit's.
  const uint64_t version = shared_.clock.fetch_add(1, std::memory_order_acq_rel) + 1;
  entry.store(soft_entry::released(version), std::memory_order_release);
}

/// A plain store to a line of our own suspended transaction is a conflict with it, as on POWER.
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

/// Dooms the owner that `value` names, if it still owns the entry and is running or doomed already,
/// and frees the entry. False: it is closing, or things have changed; look again.
bool SoftThread::evict(SoftEntry& entry, uint64_t value) {
  std::atomic<uint64_t>& status = shared_.statuses[soft_entry::owner(value) - 1].word;
  uint64_t word = status.load(std::memory_order_acquire);
  // Looking at the entry again ties the word to the ownership: if the owner is still in the word's
  // incarnation when the exchange below succeeds, it was so at this second look, and owned the
  // entry. The look comes after the load of the word, which acquires.
  if (entry.load(std::memory_order_acquire) != value) {
    return false;
  }
  const uint64_t state = soft_status::state(word);
  if (state != soft_status::kRunning && state != soft_status::kDoomed) {
    return false;
  }
  if (!status.compare_exchange_strong(
          word, soft_status::with_state(word, soft_status::kDoomed) + soft_status::kPin,
          std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return false;
  }
  // Pinned: the owner cannot release the entry and come back with it. Failure means that another
  // doomer was faster.
  entry.compare_exchange_strong(value, soft_entry::unowned(value), std::memory_order_acq_rel,
                                std::memory_order_relaxed);
  status.fetch_sub(soft_status::kPin, std::memory_order_release);
  return true;
}

}  // namespace holdfast::native
