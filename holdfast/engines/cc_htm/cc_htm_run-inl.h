// SPDX-License-Identifier: Apache-2.0
// The life of a transaction up to its retirement; included by cc_htm.h.
#pragma once

namespace holdfast {

template <class M>
typename CcHtm<M>::Thread& CcHtm<M>::here() {
  const int slot = machine_.self();
  if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
    throw too_many_threads();
  }
  return *threads_[static_cast<size_t>(slot)];
}

template <class M>
void CcHtm<M>::update(FunctionRef<void()> body, Commit commit) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  t.commit = commit;
  t.revoked = 0;
  const LagOptions& lag = options_.lag;
  const bool later =
      lag.bound > 0 && (commit == Commit::later || (commit == Commit::unsaid && lag.later));
  bool whole_log = false;
  for (uint64_t tries = 0; tries < attempts_ && t.revoked < kMostRevoked;) {
    // Everything that may have to be waited for comes before the number. A thread that waited for
    // retirements while it has one would wait for itself.
    make_room(t, whole_log);
    const bool has_credit = later && take_credit();
    lock_.await_free();
    take_number(t);
    Outcome outcome;
    try {
      outcome = attempt(t, body, Mode::update, has_credit);
    } catch (...) {  // the body's exception
      return_credits(has_credit ? 1 : 0);
      throw;
    }
    if (outcome == Outcome::committed) [[likely]] {
      return;
    }
    return_credits(has_credit ? 1 : 0);
    if (outcome == Outcome::log_full && !whole_log) {
      M::reach(Probe{"cchtm.log_full"});
      whole_log = true;  // no failure of the hardware: does not count
    } else {
      if (outcome == Outcome::alias_full) {
        retire();
      }
      M::phase(Phase::back_off);
      t.backoff.pause(machine_, tries++);
    }
  }
  make_room(t, true);
  locked(t, body, Mode::update);
}

template <class M>
void CcHtm<M>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  for (uint64_t tries = 0; tries < attempts_; ++tries) {
    lock_.await_free();
    if (attempt(t, body, Mode::read, false) == Outcome::committed) [[likely]] {
      return;
    }
    M::phase(Phase::back_off);
    t.backoff.pause(machine_, tries);
  }
  locked(t, body, Mode::read);
}

/// Waits for room in the own log: half of it, or all of it, which any transaction fits into.
template <class M>
void CcHtm<M>::make_room(Thread& t, bool whole) {
  const auto thread = static_cast<uint64_t>(t.slot);
  Patience patience;
  for (;;) {
    t.room = log_.room(thread);
    if (t.room.empty || (!whole && t.room.fits(log_.capacity() / 2))) {
      return;
    }
    help(patience, false);
  }
}

/// Waits for one of `lag` credits, and helps meanwhile.
template <class M>
bool CcHtm<M>::take_credit() {
  Patience patience;
  while (!machine_.skips(Site{"cchtm.credit"})) {
    // Relaxed: the compare-exchange repeats the load.
    uint64_t used = shared_->credits.load(std::memory_order_relaxed);
    if (used >= options_.lag.bound) {
      M::reach(Probe{"cchtm.credit_wait"});
      help(patience, false);
    } else if (shared_->credits.compare_exchange(used, used + 1)) {
      break;
    }
  }
  return true;
}

template <class M>
void CcHtm<M>::take_number(Thread& t) {
  Patience patience;
  for (;;) {
    t.id = ring_.take();
    if (t.id == 0) {
      M::reach(Probe{"cchtm.ring_full"});
      help(patience, false);
    } else if (ring_.start(t.id)) {
      break;
    } else {
      M::reach(Probe{"cchtm.revoked_at_start"});
      ++t.revoked;
    }
  }
  t.min = ring_.min() + (printed(Printed::evict) ? 1 : 0);
}

template <class M>
void CcHtm<M>::give_up(Thread& t) {
  if (t.id != 0 && !ring_.give_up(t.id)) {
    M::reach(Probe{"cchtm.revoked"});
    ++t.revoked;
  }
  t.id = 0;
}

/// One attempt in a hardware transaction; an update has a number.
template <class M>
typename CcHtm<M>::Outcome CcHtm<M>::attempt(Thread& t, FunctionRef<void()> body, Mode mode,
                                             bool later) {
  t.begin_attempt(mode, Path::transaction);
  // Hardware that rolls registers back returns here a second time, with a cause.
  if (t.htm->begin(Tracking::all) != AbortCause::none) {
    return clean_up_abort(t);
  }
  if (!run_in_hardware(t, body)) {
    return clean_up_abort(t);
  }
  if (!t.writes.empty() && !t.room.fits(cc_htm::CcLog<M>::bytes_of(t.writes.size()))) {
    t.htm->cancel();
    give_up(t);
    return Outcome::log_full;
  }
  if (const std::exception_ptr failure = reserve(t)) [[unlikely]] {
    t.htm->cancel();
    give_up(t);
    fail(t, mode, failure);
  }
  M::phase(Phase::commit);
  uint64_t time = 0;
  bool aborted = false;
  try {
    if (!t.writes.empty()) {
      t.htm->store(&ring_.slot(t.id).committed, t.id);
      if (!printed(Printed::late_store)) {
        // Separates the stores from the clock: they have taken their lines, so a transaction that
        // has loaded one of them, and commits before this one, has read its clock before.
        machine_.fence(Site{"cchtm.stamp.fence"});
      }
      time = machine_.now();
    }
    t.htm->commit();
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t);
  }
  if (t.writes.empty()) {
    give_up(t);
    return_credits(later ? 1 : 0);
    before_answer(t, mode);
  } else {
    finish(t, time, later);
  }
  count(t, mode);
  return Outcome::committed;
}

/// Runs the body within the transaction. Returns false if the transaction is doomed; the body may
/// have swallowed HtmAbort, or failed on values it saw afterwards. Throws the body's own exception.
template <class M>
bool CcHtm<M>::run_in_hardware(Thread& t, FunctionRef<void()> body) {
  bool aborted = false;
  std::exception_ptr failure;
  try {
    lock_.subscribe(*t.htm);
    // A larger number: this one was given up long ago, and its slot has been used again.
    if (t.id != 0 && t.htm->load(&ring_.slot(t.id).revoked) >= t.id) {
      t.htm->abort(AbortCode::revoked);
    }
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (!aborted) {
    failure = run_body<M>(t, body, aborted);
  }
  if (aborted || t.htm->doomed()) {
    return false;
  }
  if (failure) [[unlikely]] {
    M::reach(Probe{"cchtm.user_abort"});
    t.htm->cancel();
    give_up(t);
    fail(t, t.mode, failure);
  }
  return true;
}

template <class M>
typename CcHtm<M>::Outcome CcHtm<M>::clean_up_abort(Thread& t) {
  const bool coded = statistics_.at(t.slot).caught(*t.htm) == AbortCause::explicit_abort;
  const bool alias_full = coded && t.htm->caught_code() == AbortCode::alias;
  give_up(t);
  return alias_full ? Outcome::alias_full : Outcome::aborted;
}

/// Takes the memory that finish() needs, before the commit. Returns the exception if there is none.
template <class M>
std::exception_ptr CcHtm<M>::reserve(Thread& t) {
  try {
    t.logged.reserve(t.writes.size());
    log_.reserve(static_cast<uint64_t>(t.slot), t.writes.size());
  } catch (const std::bad_alloc&) {
    return std::current_exception();
  }
  return {};
}

/// From the hardware commit to the return.
template <class M>
void CcHtm<M>::finish(Thread& t, uint64_t time, bool later, bool alone) {
  const auto thread = static_cast<uint64_t>(t.slot);
  Finished f{.stamp = {.time = time, .id = t.id},
             .end = ring_.next(),
             .position = 0,
             .bytes = cc_htm::CcLog<M>::bytes_of(t.writes.size()),
             .thread = thread,
             .credit = later ? uint64_t{1} : 0};
  M::phase(Phase::log_flush);
  std::vector<cc_htm::LoggedWord>& words = t.logged;
  words.clear();
  for (const WriteSet::Entry& e : t.writes.entries()) {
    words.push_back({.offset = t.offset_of(e.word), .value = e.value});
  }
  f.position = log_.append(thread, f.stamp, words);
  // Separates the record from the colour: it is durable before its values may go home.
  machine_.pfence(Site{"cchtm.log.fence"});
  ring_.finish(f);
  statistics_.at(t.slot).bytes_written += f.bytes;
  const uint64_t id = t.id;
  t.id = 0;
  if (!later) {
    M::phase(Phase::durability_wait);
    await_retired(id, alone, Site{"cchtm.update.wait"});
  }
}

/// Waits until everything that the transaction has read is durable, before its result leaves the
/// heap.
template <class M>
void CcHtm<M>::before_answer(Thread& t, Mode mode) {
  const bool asked = mode == Mode::update && t.commit == Commit::durable;
  if (asked || !options_.lag.later) {
    M::phase(Phase::durability_wait);
    await_below(ring_.next(), Site{"cchtm.read.wait"});
  }
}

template <class M>
void CcHtm<M>::count(Thread& t, Mode mode) {
  auto& counts = statistics_.at(t.slot);
  if (mode == Mode::read) {
    counts.read_commits += 1;
  } else {
    counts.update_commits += 1;
    counts.bytes_stored += t.stored_bytes;
  }
}

/// Ends a transaction whose body threw and has changed nothing.
template <class M>
void CcHtm<M>::fail(Thread& t, Mode mode, const std::exception_ptr& failure) {
  before_answer(t, mode);
  statistics_.at(t.slot).user_aborts += 1;
  std::rethrow_exception(failure);
}

/// Runs the body alone. Taking the lock dooms every running hardware transaction. The thread has no
/// number until its body has ended.
template <class M>
void CcHtm<M>::locked(Thread& t, FunctionRef<void()> body, Mode mode) {
  M::phase(Phase::lock_wait);
  lock_.acquire(*t.htm);
  statistics_.at(t.slot).lock_fallbacks += 1;
  t.begin_attempt(mode, Path::locked);
  std::exception_ptr failure = run_body<M>(t, body);
  if (!failure) {
    failure = reserve(t);
  }
  if (!failure && !t.writes.empty()) {
    commit_locked(t);
    lock_.release(*t.htm);
    count(t, mode);
    return;
  }
  lock_.release(*t.htm);
  if (failure) [[unlikely]] {
    M::reach(Probe{"cchtm.lock.user_abort"});
    fail(t, mode, failure);
  }
  before_answer(t, mode);
  count(t, mode);
}

/// Commits and retires the write set. Everything that committed before has an earlier time, and
/// retires before. So the home is complete then, and the entries of the words are dropped.
template <class M>
void CcHtm<M>::commit_locked(Thread& t) {
  for (WriteSet::Entry& e : t.writes.entries()) {
    e.value = e.over(t.word(e.word));
  }
  const auto outside = [&](const uint64_t* p) { return t.htm->outside_load(p); };
  for (;;) {
    take_number(t);
    auto& slot = ring_.slot(t.id);
    t.htm->outside_store(&slot.committed, t.id);
    // Separates the number from the look at `revoked`: either another thread sees that this
    // transaction has committed, or this one sees that it was given up.
    machine_.fence(Site{"cchtm.lock.commit.fence"});
    if (outside(&slot.revoked) < t.id) {
      break;
    }
    M::reach(Probe{"cchtm.lock.revoked"});
    give_up(t);
  }
  finish(t, machine_.now(), false, true);
  for (const WriteSet::Entry& e : t.writes.entries()) {
    auto* const entry = alias_.find(cc_htm::AliasTable<M>::place_of(t.offset_of(e.word)), outside);
    if (entry != nullptr && !machine_.skips(Site{"cchtm.lock.entry"})) {
      M::reach(Probe{"cchtm.lock.entry"});
      t.htm->outside_store(&entry->place, uint64_t{0});
    }
  }
}

}  // namespace holdfast
