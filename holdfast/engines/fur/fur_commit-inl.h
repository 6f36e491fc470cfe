// SPDX-License-Identifier: Apache-2.0
// The life of a FUR transaction; included by fur.h.
#pragma once

#include "holdfast/engines/parts/isolation/htm/suspended.h"

namespace holdfast {

template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Thread& Fur<M, kTracking>::here() {
  const int slot = machine_.self();
  if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
    throw too_many_threads();
  }
  return *threads_[static_cast<size_t>(slot)];
}

/// BeginTx and BeginTxReadOnly up to the fence. Returns the key of the durability wait.
template <class M, Tracking kTracking>
uint64_t Fur<M, kTracking>::enter(int slot) {
  for (;;) {
    lock_.await_free();
    const uint64_t begin_time = as_printed() ? machine_.now() : 0;
    states_.activate(slot);
    // ACTIVE is visible before the first load, of the data and of the lock: both a committer's scan
    // and the lock holder's are the other half of this Dekker handshake.
    machine_.fence(Site{"fur.begin"});
    if (!lock_.held() || machine_.skips(Site{"fur.begin.lock"})) [[likely]] {
      if (as_printed()) {
        return begin_time == 0 ? 0 : begin_time - 1;  // waits for stamps < begin_time
      }
      // Relaxed: the fence above orders it behind ACTIVE, as the proof in fur.h needs.
      return log_.last_number(std::memory_order_relaxed);
    }
    states_.deactivate(slot);  // the holder waits for it
  }
}

template <class M, Tracking kTracking>
void Fur<M, kTracking>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  const uint64_t key = enter(t.slot);
  t.mode = Context::Mode::read;
  t.path = Path::outside;
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  states_.deactivate(t.slot);  // after all loads: release
  // What the body saw leaves the heap with its result, or with its exception.
  M::phase(Phase::durability_wait);
  states_.await_durable(t.slot, key, Site{"fur.read.durability_wait"});
  if (failure) {
    counts(t).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  counts(t).read_commits += 1;
}

template <class M, Tracking kTracking>
void Fur<M, kTracking>::update(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  bool whole_log = false;
  for (uint64_t tries = 0; tries < attempts_;) {
    log_.make_room(t.redo, t.slot, whole_log);
    const Outcome outcome = attempt(t, body);
    if (outcome == Outcome::committed) [[likely]] {
      return;
    }
    if (outcome == Outcome::log_full && !whole_log) {
      whole_log = true;  // no failure of the hardware: does not count
    } else {
      M::phase(Phase::back_off);
      t.backoff.pause(machine_, tries++);
    }
  }
  for (;;) {
    log_.make_room(t.redo, t.slot, whole_log);
    if (locked(t, body) == Outcome::committed) {
      return;
    }
    whole_log = true;
  }
}

template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::attempt(Thread& t,
                                                               FunctionRef<void()> body) {
  M::phase(Phase::execute);
  t.prepare(Context::Mode::update, Path::transaction);
  const uint64_t key = enter(t.slot);
  // Hardware that rolls registers back returns here a second time, with a cause.
  if (t.htm->begin(kTracking) != AbortCause::none) {
    return clean_up_abort(t);
  }
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  // Doomed, although no HtmAbort arrived: the body swallowed it, or failed on what it saw
  // afterwards.
  if (aborted || t.htm->doomed()) {
    return clean_up_abort(t);
  }
  if (failure) [[unlikely]] {
    t.htm->cancel();
    states_.deactivate(t.slot);
    M::phase(Phase::durability_wait);
    // The exception tells what the body has read.
    states_.await_durable(t.slot, key, Site{"fur.failure.durability_wait"});
    counts(t).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  try {
    commit_in_hardware(t);
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t);
  }
  if (t.log.empty()) {
    states_.deactivate(t.slot);
    M::phase(Phase::durability_wait);
    states_.await_durable(t.slot, key, Site{"fur.no_store.durability_wait"});
  } else {
    harden(t, key);
  }
  count_update(t);
  return Outcome::committed;
}

/// CommitTx, lines 27 to 35. Throws HtmAbort.
template <class M, Tracking kTracking>
void Fur<M, kTracking>::commit_in_hardware(Thread& t) {
  M::phase(Phase::commit);
  if (t.log.empty()) {
    // Nothing changes for anybody, so there is nobody to wait for. ACTIVE until then: in fur-si
    // that is what keeps the snapshot.
    t.htm->commit();
    return;
  }
  t.make_stage();  // here, since nothing may be allocated while suspended
  run_suspended<&Fur::prepare_commit>(*t.htm, *this, t);  // throws if doomed
  t.htm->commit();
}

/// CommitTx, lines 28 to 34: what a suspended transaction does. See suspended.h: once it is doomed,
/// t.log is what it was before the transaction.
template <class M, Tracking kTracking>
void Fur<M, kTracking>::prepare_commit(Fur& self, Thread& t) {
  M& machine = self.machine_;
  self.states_.deactivate(t.slot);
  if (self.as_printed()) {
    machine.fence(Site{"fur.inactive"});  // others learn of it earlier; nothing depends on it
  }
  // Who is doomed already need not flush anything, nor take a number.
  const auto doomed = [&] { return t.htm->doomed(); };
  M::phase(Phase::log_flush);
  const uint64_t* const staged = t.staged.data();
  const uint64_t bytes = t.log.bytes();
  self.stage(
      t, [&](const uint64_t* p) { return t.htm->load(p); },
      [&](void* to, const void* from, size_t n) { t.htm->load_range(to, from, n); }, doomed);
  if (!doomed()) {
    t.redo.write(staged, bytes, Site{"fur.log"});  // flushed while the waits go on
    M::phase(Phase::isolation_wait);
    // The read-modify-write also orders the body's stores, which own their lines from then on,
    // before the scan: whoever becomes active too late to be waited for runs into them.
    t.number = self.log_.take_number(t.slot);
    // Who is doomed on the way waits to the end, as printed. Hardware lets the last access win:
    // whoever returned sooner would doom the one that has doomed it, be doomed by its return, and
    // so on by turns, until one takes the lock.
    const auto stop = [&] {
      if (doomed()) {
        machine.pause();  // the machine no longer waits for it
      }
      return false;
    };
    self.states_.await_active(t.slot, t.scratch.data(), stop, Site{"fur.isolation_wait"});
  }
  M::phase(Phase::commit);
  if (!doomed()) {
    // Visible before the data is: who reads the data finds this.
    self.states_.publish_non_durable(t.slot, self.as_printed() ? machine.now() : t.number);
  }
}

/// CommitTx, lines 36 to 39: the data is visible, now it becomes durable.
template <class M, Tracking kTracking>
void Fur<M, kTracking>::harden(Thread& t, uint64_t key) {
  // The log is complete before the marker is *stored*: a stored line may reach the medium at any
  // time.
  M::phase(Phase::log_flush);
  machine_.pfence(Site{"fur.log.fence"});
  M::phase(Phase::durability_wait);
  // Everything the body read, and every value it replaced, is durable before the marker is stored.
  states_.await_durable(t.slot, key, Site{"fur.update.durability_wait"});
  M::phase(Phase::marker_flush);
  write_marker(t, Site{"fur.marker"});
  // The marker is durable before INACTIVE says so, and before update() returns.
  machine_.pfence(Site{"fur.marker.fence"});
  t.redo.advance(t.log.bytes());
  states_.settle(t.slot);
}

/// AbortHandler. Whatever state the transaction was in, it is in none now.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::clean_up_abort(Thread& t) {
  const AbortCause cause = t.htm->caught();
  states_.deactivate(t.slot);
  if (t.number != 0 && !machine_.skips(Site{"fur.abort.marker"})) {
    log_.write_abort_marker(t.number, t.slot, Site{"fur.abort"});
  }
  states_.settle(t.slot);
  counts(t).aborts[static_cast<size_t>(cause)] += 1;
  return cause == AbortCause::explicit_abort ? Outcome::log_full : Outcome::aborted;
}

/// Reads the values of everything stored to, and lays the records out in t.staged as they go into
/// the log; leaves early once `stop()` holds. (A suspended load of a line that has been lost to
/// another transaction dooms that one.)
template <class M, Tracking kTracking>
template <class LoadWord, class LoadRange, class Stop>
void Fur<M, kTracking>::stage(Thread& t, LoadWord&& load_word, LoadRange&& load_range,
                              Stop&& stop) {
  uint64_t* out = t.staged.data();
  const RedoRecord* const records = t.log.records().data();
  const size_t count = t.log.records().size();
  if (stop()) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const RedoRecord record = records[i];
    if (stop()) {  // behind the look at the record
      return;
    }
    *out++ = record.header();
    const std::byte* const from = regions_.data + record.offset;
    if (record.bytes == 8) {
      *out++ = load_word(reinterpret_cast<const uint64_t*>(from));
    } else {
      load_range(out, from, record.bytes);
      out += record.bytes / 8;
    }
  }
}

}  // namespace holdfast
