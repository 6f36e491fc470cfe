// SPDX-License-Identifier: Apache-2.0
// The phases of a transaction in hardware, and its way to durability; included by crafty.h.
#pragma once

namespace holdfast {

template <class M>
typename Crafty<M>::Thread& Crafty<M>::here() {
  const int slot = machine_.self();
  if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
    throw too_many_threads();
  }
  return *threads_[static_cast<size_t>(slot)];
}

template <class M>
void Crafty<M>::update(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  for (uint64_t tries = 0; tries < attempts_;) {
    if (try_update(t, body, tries)) [[likely]] {
      return;
    }
    M::phase(Phase::back_off);
    t.backoff.pause(machine_, tries);
  }
  locked(t, body, Mode::update);
}

template <class M>
void Crafty<M>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  for (uint64_t tries = 0; tries < attempts_; ++tries) {
    lock_.await_free();
    if (log(t, body, Mode::read) == Outcome::committed) [[likely]] {
      return;
    }
    M::phase(Phase::back_off);
    t.backoff.pause(machine_, tries);
  }
  locked(t, body, Mode::read);
}

/// Runs Log, then Redo or Validate. Returns true once the update has committed, or false if it must
/// begin again. Counts the hardware transactions that failed in `tries`.
template <class M>
bool Crafty<M>::try_update(Thread& t, FunctionRef<void()> body, uint64_t& tries) {
  lock_.await_free();  // the thread is parked here, else the lock's holder would wait for it
  // Until the slot is parked or hardened, no thread writes a mark newer than the base that this
  // record will have. No fence is needed: Log loads the last number, so its commit makes the slot
  // visible before any thread can commit a newer number.
  if (!machine_.skips(Site{"crafty.lower"})) {
    slots_.run(t.slot, last_number(t) + 1);
  }
  const Outcome logged = log(t, body, Mode::update);
  if (logged == Outcome::committed) {
    return true;
  }
  bool unchanged = true;  // no other update since Log, as far as is known
  while (logged == Outcome::logged && tries < attempts_) {
    const Outcome outcome = unchanged ? redo(t) : validate(t, body);
    if (outcome == Outcome::committed) [[likely]] {
      return true;
    }
    if (outcome == Outcome::aborted) {
      if (lock_.held()) {
        M::reach(Probe{"crafty.gives_way"});
        break;  // its holder waits for this slot
      }
      M::phase(Phase::back_off);
      t.backoff.pause(machine_, tries++);
    } else if (unchanged) {
      M::reach(Probe{"crafty.validates"});
      unchanged = false;
    } else {
      M::reach(Probe{"crafty.logs_again"});
      break;  // the transaction would not log the same record now
    }
  }
  slots_.park(t.slot);  // the record will never be redone
  ++tries;
  return false;
}

template <class M>
typename Crafty<M>::Outcome Crafty<M>::log(Thread& t, FunctionRef<void()> body, Mode mode) {
  M::phase(Phase::execute);
  t.begin_log(mode, Path::transaction);
  // Hardware that rolls registers back returns here a second time, with a cause.
  if (t.htm->begin(Tracking::all) != AbortCause::none) {
    return clean_up_abort(t, Outcome::aborted);
  }
  bool aborted = !run_in_hardware(t, body);
  M::phase(Phase::commit);
  try {
    if (!aborted && !t.words.empty()) {
      put_back(t);
    }
    if (!aborted) {
      t.htm->commit();
    }
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t, Outcome::aborted);
  }
  if (t.words.empty()) {
    slots_.park(t.slot);
    saw(t);
    count(t, mode);
    return Outcome::committed;
  }
  M::phase(Phase::log_flush);
  t.record.seal(t.base, Site{"crafty.log"});
  // Separates the old values in the log from Redo's stores.
  machine_.pfence(Site{"crafty.log.fence"});
  slots_.run(t.slot, t.base + 1);
  return Outcome::logged;
}

/// Runs the body within the transaction. Returns false if the transaction is doomed; the body may
/// have swallowed HtmAbort, or failed on values it saw afterwards. Throws the body's own exception.
template <class M>
bool Crafty<M>::run_in_hardware(Thread& t, FunctionRef<void()> body) {
  bool aborted = false;
  std::exception_ptr failure;
  try {
    lock_.subscribe(*t.htm);
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
    M::reach(Probe{"crafty.user_abort"});
    t.htm->cancel();
    fail(t, failure);
  }
  return true;
}

/// The end of Log: undoes the transaction's stores, except those to its log.
template <class M>
void Crafty<M>::put_back(Thread& t) {
  const bool puts = !machine_.skips(Site{"crafty.log.put_back"});
  for (WriteSet::Entry& entry : t.words.entries()) {
    entry.engine = t.htm->load(entry.word);
    if (puts) {
      t.htm->store(entry.word, entry.value);
    }
  }
  // The last step, because every update stores there. Updates that commit from now on are not in
  // the values the body has read.
  t.base = t.htm->load(&numbers_->last);
}

template <class M>
typename Crafty<M>::Outcome Crafty<M>::redo(Thread& t) {
  M::phase(Phase::commit);
  const bool looks = !machine_.skips(Site{"crafty.redo.base"});
  if (looks && last_number(t) != t.base) {
    return Outcome::stale;
  }
  if (t.htm->begin(Tracking::all) != AbortCause::none) {
    return clean_up_abort(t, Outcome::aborted);
  }
  uint64_t number = 0;
  bool stale = false;
  bool aborted = false;
  try {
    lock_.subscribe(*t.htm);
    for (const WriteSet::Entry& entry : t.words.entries()) {
      t.htm->store(entry.word, entry.engine);
    }
    number = take_number(t);
    stale = looks && number != t.base + 1;
    if (stale) {
      M::reach(Probe{"crafty.redo_stale"});
      t.htm->abort(AbortCode::stale);
    }
    t.htm->commit();
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t, stale ? Outcome::stale : Outcome::aborted);
  }
  harden(t, number);
  return Outcome::committed;
}

template <class M>
typename Crafty<M>::Outcome Crafty<M>::validate(Thread& t, FunctionRef<void()> body) {
  M::phase(Phase::execute);
  t.begin_validate();
  if (t.htm->begin(Tracking::all) != AbortCause::none) {
    return clean_up_abort(t, Outcome::aborted);
  }
  bool aborted = !run_in_hardware(t, body);
  M::phase(Phase::commit);
  uint64_t number = 0;
  try {
    if (!aborted && !t.all_matched()) {
      t.mismatch = true;
      t.htm->abort(AbortCode::stale);
    }
    if (!aborted) {
      number = take_number(t);
      t.htm->commit();
    }
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t, t.mismatch ? Outcome::stale : Outcome::aborted);
  }
  harden(t, number);
  return Outcome::committed;
}

/// Takes the next number. The last step of a hardware transaction that stores new values, so that
/// it dooms few others and is doomed by few.
template <class M>
uint64_t Crafty<M>::take_number(Thread& t) {
  const uint64_t number = t.htm->load(&numbers_->last) + 1;
  if (!machine_.skips(Site{"crafty.committed.store"})) {
    t.htm->store(t.record.committed_word(), encode_tail(number));
  }
  t.htm->store(&numbers_->last, number);
  return number;
}

template <class M>
typename Crafty<M>::Outcome Crafty<M>::clean_up_abort(Thread& t, Outcome outcome) {
  statistics_.at(t.slot).caught(*t.htm);
  return outcome;
}

/// The steps from the commit of the new values to the return. The slot shows the base until the
/// number is durable, because until then recovery knows only the base.
template <class M>
void Crafty<M>::harden(Thread& t, uint64_t number) {
  M::phase(Phase::data_flush);
  write_back_data(t, Site{"crafty.data"});
  machine_.pwb(t.record.committed_word(), Site{"crafty.committed"});
  // Separates data and number from logged(): both are durable before other threads rely on them.
  machine_.pfence(Site{"crafty.data.fence"});
  slots_.logged(t.slot, number);
  M::phase(Phase::durability_wait);
  slots_.await_logged(t.slot, number, Site{"crafty.update.durability_wait"});
  M::phase(Phase::marker_flush);
  write_mark(t.slot, number, Site{"crafty.mark"});
  // Separates the mark from the return: it is durable before any caller that has seen the data
  // returns.
  machine_.pfence(Site{"crafty.mark.fence"});
  slots_.park(t.slot);
  statistics_.at(t.slot).bytes_written +=
      t.record.bytes() + (t.words.size() + 2) * sizeof(uint64_t);  // log; data, number, mark
  count(t, Mode::update);
}

template <class M>
void Crafty<M>::write_back_data(Thread& t, Site site) {
  LineFilter seen;
  for (const WriteSet::Entry& entry : t.words.entries()) {
    if (seen.first(t.offset_of(entry.word) / machine_.line_bytes())) {
      machine_.pwb(entry.word, site);
    }
  }
}

template <class M>
void Crafty<M>::write_mark(int slot, uint64_t number, Site site) {
  M::store(mark(slot), encode_tail(number));
  machine_.pwb(mark(slot), site);
}

/// Waits until everything that the transaction has read is certain to survive, before its result
/// leaves the heap.
template <class M>
void Crafty<M>::saw(Thread& t) {
  M::phase(Phase::durability_wait);
  slots_.await_durable(t.slot, last_number(t), false, Site{"crafty.read.durability_wait"});
}

template <class M>
void Crafty<M>::count(Thread& t, Mode mode) {
  auto& counts = statistics_.at(t.slot);
  if (mode == Mode::read) {
    counts.read_commits += 1;
  } else {
    counts.update_commits += 1;
    counts.bytes_stored += t.stored_bytes;
  }
}

/// Ends a transaction whose body threw and was rolled back. The exception may reveal values that
/// the body has read, so the thread waits until these are durable.
template <class M>
void Crafty<M>::fail(Thread& t, const std::exception_ptr& failure) {
  slots_.park(t.slot);
  saw(t);
  statistics_.at(t.slot).user_aborts += 1;
  std::rethrow_exception(failure);
}

}  // namespace holdfast
