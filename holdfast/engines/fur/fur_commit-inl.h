// SPDX-License-Identifier: Apache-2.0
// The steps of a FUR transaction, from begin to commit or abort; included by fur.h.
#pragma once

#include "holdfast/engines/parts/isolation/htm/suspended.h"

namespace holdfast {

template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Thread& Fur<M, kTracking>::here() {
  const auto slot = static_cast<size_t>(machine_.self());
  if (slot >= threads_.size()) [[unlikely]] {  // as a thread without a slot has, -1
    throw too_many_threads();
  }
  return *threads_[slot];
}

/// BeginTx and BeginTxReadOnly up to the fence. Returns the durability wait's key.
template <class M, Tracking kTracking>
uint64_t Fur<M, kTracking>::enter(int slot) {
  for (;;) {
    lock_.await_free();
    const uint64_t begin_time = as_printed() ? machine_.now() : 0;
    states_.activate(slot);
    // Separates ACTIVE from the first load, be it of the data or of the lock. Counterparts of this
    // Dekker handshake are a committer's scan and the lock holder's scan.
    machine_.fence(Site{"fur.begin"});
    if (!lock_.held() || machine_.skips(Site{"fur.begin.lock"})) [[likely]] {
      if (as_printed()) {
        return begin_time == 0 ? 0 : begin_time - 1;  // waits for stamps < begin_time
      }
      // Relaxed: the fence above orders the load behind ACTIVE, as the proof in fur.h needs.
      return log_.last_number(std::memory_order_relaxed);
    }
    M::reach(Probe{"fur.retracts"});
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
  states_.deactivate(t.slot);  // release: after all loads of the body
  // The body's result, or its exception, may reveal the values it has read.
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
    if (outcome == Outcome::log_full) {  // never with the whole log
      M::reach(Probe{"fur.log_full"});
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
    M::reach(Probe{"fur.lock.log_full"});
    whole_log = true;
  }
}

template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::attempt(Thread& t,
                                                               FunctionRef<void()> body) {
  M::phase(Phase::execute);
  t.prepare(Path::transaction);
  const uint64_t key = enter(t.slot);
  // Hardware that rolls registers back returns here a second time, with a cause.
  if (t.htm->begin(kTracking) != AbortCause::none) {
    return clean_up_abort(t);
  }
  bool aborted = false;
  std::exception_ptr failure = run_body<M>(t, body, aborted);
  // The body may have swallowed HtmAbort, or failed on values it saw after its transaction was
  // doomed.
  if (aborted || t.htm->doomed()) {
    return clean_up_abort(t);
  }
  if (!failure) [[likely]] {
    failure = t.make_stage();  // here, because a suspended transaction must not allocate
  }
  if (failure) [[unlikely]] {
    M::reach(Probe{"fur.user_abort"});
    t.htm->cancel();
    states_.deactivate(t.slot);
    M::phase(Phase::durability_wait);
    // The exception may reveal what the body has read.
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
    M::reach(Probe{"fur.no_store"});
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
    // The transaction changes nothing, so it need not wait for readers. It stays ACTIVE until its
    // hardware commit: in fur-si that keeps the snapshot intact.
    t.htm->commit();
    return;
  }
  run_suspended<&Fur::prepare_commit>(*t.htm, *this, t);  // throws if doomed
  t.htm->commit();
}

/// CommitTx, lines 28 to 34: the steps of the suspended transaction. Once it is doomed, t.log has
/// its content of before the transaction (suspended.h).
template <class M, Tracking kTracking>
void Fur<M, kTracking>::prepare_commit(Fur& self, Thread& t) {
  M& machine = self.machine_;
  self.states_.deactivate(t.slot);
  if (self.as_printed()) {
    machine.fence(Site{"fur.inactive"});  // shows INACTIVE sooner; no order depends on it
  }
  // A doomed transaction flushes nothing and takes no number.
  const auto doomed = [&] { return t.htm->doomed(); };
  M::phase(Phase::log_flush);
  const uint64_t* const staged = t.staged.data();
  const uint64_t bytes = t.log.bytes();
  self.stage(
      t, [&](const uint64_t* p) { return t.htm->load(p); },
      [&](void* to, const void* from, size_t n) { t.htm->load_range(to, from, n); }, doomed);
  if (!doomed()) {
    t.redo.write(staged, bytes, Site{"fur.log"});  // written back during the waits
    M::phase(Phase::isolation_wait);
    // The read-modify-write also orders the body's stores before the scan. They own their lines
    // from then on, so a reader that becomes ACTIVE too late for the scan conflicts with them.
    t.number = self.log_.take_number(t.slot);
    // A transaction that becomes doomed here still waits to the end, as printed. On hardware the
    // last access wins. If it returned sooner, its retry would doom the transaction that has doomed
    // it. That one would return and doom this one, and so on, until one of them takes the lock.
    const auto stop = [&] {
      if (doomed()) {
        machine.pause();  // wait_while() returns at once when doomed, so slow the loop down
      }
      return false;
    };
    self.states_.await_active(t.slot, t.scratch.data(), stop, Site{"fur.isolation_wait"});
  }
  M::phase(Phase::commit);
  if (!doomed()) {
    // Visible before the data: a reader of the data finds this state.
    self.states_.publish_non_durable(t.slot, self.as_printed() ? machine.now() : t.number);
  }
}

/// CommitTx, lines 36 to 39: makes the data, which is visible now, durable.
template <class M, Tracking kTracking>
void Fur<M, kTracking>::harden(Thread& t, uint64_t key) {
  // Separates the log from the marker: the log is durable before the marker is *stored*, because a
  // stored line may reach the medium at any time.
  M::phase(Phase::log_flush);
  machine_.pfence(Site{"fur.log.fence"});
  M::phase(Phase::durability_wait);
  // Before the marker is stored, every value is durable that the body has read or replaced.
  states_.await_durable(t.slot, key, Site{"fur.update.durability_wait"});
  M::phase(Phase::marker_flush);
  write_marker(t, Site{"fur.marker"});
  // Separates the marker from settle(): the marker is durable before other threads see INACTIVE,
  // and before update() returns.
  machine_.pfence(Site{"fur.marker.fence"});
  t.redo.advance(t.log.bytes());
  states_.settle(t.slot);
}

/// AbortHandler. Leaves the slot INACTIVE, whatever state the transaction was in.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::clean_up_abort(Thread& t) {
  const AbortCause cause = counts(t).caught(*t.htm);
  states_.deactivate(t.slot);
  if (t.number != 0 && !machine_.skips(Site{"fur.abort.marker"})) {
    M::reach(Probe{"fur.abort_with_number"});
    log_.write_abort_marker(t.number, t.slot, Site{"fur.abort"});
  }
  states_.settle(t.slot);
  return cause == AbortCause::explicit_abort ? Outcome::log_full : Outcome::aborted;
}

/// Reads the values of all places stored to, and lays out the records in t.staged as they go into
/// the log. Returns early once `stop()` holds. (A suspended load of a line that another transaction
/// has taken dooms that transaction.)
template <class M, Tracking kTracking>
template <class LoadWord, class LoadRange, class Stop>
void Fur<M, kTracking>::stage(Thread& t, LoadWord&& load_word, LoadRange&& load_range,
                              Stop&& stop) {
  uint64_t* out = t.staged.data();
  const RedoRecord* const records = t.log.records().data();
  const size_t count = t.log.records().size();
  // POWER rolls the list back, too. If that came between these loads, they belong to two lists.
  if (stop()) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    const RedoRecord record = records[i];
    if (stop()) {  // after the load of the record, for the same reason
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
