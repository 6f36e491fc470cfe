// SPDX-License-Identifier: Apache-2.0
// The steps of a transaction in hardware, and of a read outside; included by pht.h.
#pragma once

namespace holdfast {

template <class M, template <class> class C, template <class> class D>
typename Pht<M, C, D>::Thread& Pht<M, C, D>::here() {
  const int slot = machine_.self();
  if (slot < 0 || static_cast<size_t>(slot) >= threads_.size()) [[unlikely]] {
    throw too_many_threads();
  }
  return *threads_[static_cast<size_t>(slot)];
}

template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::update(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  bool whole_log = false;
  for (uint64_t tries = 0; tries < attempts_;) {
    durability_.make_room(t.log, whole_log);
    const Outcome outcome = attempt(t, body, Mode::update);
    if (outcome == Outcome::committed) [[likely]] {
      return;
    }
    if (goes_to_lock(outcome)) {
      break;
    }
    if (outcome == Outcome::log_full && !whole_log) {
      M::reach(Probe{"pht.log_full"});
      whole_log = true;  // no failure of the hardware: does not count
    } else {
      M::phase(Phase::back_off);
      t.backoff.pause(machine_, tries++);
    }
  }
  for (;;) {
    durability_.make_room(t.log, whole_log);
    if (locked(t, body, Mode::update) == Outcome::committed) {
      return;
    }
    M::reach(Probe{"pht.lock.log_full"});
    whole_log = true;
  }
}

template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  if constexpr (!Concurrency::kReadsInHardware) {
    read_outside(t, body);
    return;
  }
  for (uint64_t tries = 0; tries < attempts_; ++tries) {
    const Outcome outcome = attempt(t, body, Mode::read);
    if (outcome == Outcome::committed) [[likely]] {
      return;
    }
    if (goes_to_lock(outcome)) {
      break;
    }
    M::phase(Phase::back_off);
    t.backoff.pause(machine_, tries);
  }
  locked(t, body, Mode::read);
}

/// One attempt in a hardware transaction.
template <class M, template <class> class C, template <class> class D>
typename Pht<M, C, D>::Outcome Pht<M, C, D>::attempt(Thread& t, FunctionRef<void()> body,
                                                     Mode mode) {
  M::phase(Phase::execute);
  t.begin(mode, Path::transaction);
  concurrency_.enter(
      t, [&] { return mode == Mode::update && durability_.lower(t.slot); },
      [&] { durability_.park(t.slot); });
  // Hardware that rolls registers back returns here a second time, with a cause.
  if (t.htm->begin(Concurrency::kTracking) != AbortCause::none) {
    return clean_up_abort(t);
  }
  bool aborted = false;
  std::exception_ptr failure;
  try {
    concurrency_.begin(t);
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (!aborted) {
    failure = run_body<M>(t, body, aborted);
  }
  // The body may have swallowed HtmAbort, or failed on values it saw after its transaction was
  // doomed.
  if (aborted || t.htm->doomed()) {
    return clean_up_abort(t);
  }
  if (failure) [[unlikely]] {
    M::reach(Probe{"pht.user_abort"});
    t.htm->cancel();
    fail(t, durability_.time(), failure);
  }
  M::phase(Phase::commit);
  uint64_t time = 0;
  try {
    // The time is read inside the transaction: a transaction that reads the stores committed here
    // reads its clock later. It is read after the isolation wait if the concurrency part allows
    // that, so that transactions waiting for this one learn sooner that it is newer.
    if (Concurrency::kTimeBeforeWait) {
      time = durability_.time();
    }
    if (t.stored_bytes != 0) {
      concurrency_.before_commit(t);
    }
    if (!Concurrency::kTimeBeforeWait) {
      time = durability_.time();
    }
    if (t.stored_bytes != 0) {
      durability_.announce(t.slot, time);
    }
    t.htm->commit();
  } catch (const HtmAbort&) {
    aborted = true;
  }
  if (aborted) {
    return clean_up_abort(t);
  }
  concurrency_.leave(t.slot);
  finish(t, mode, time);
  return Outcome::committed;
}

/// After the transaction has become visible: makes its stores durable, or waits until everything it
/// has read is durable.
template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::finish(Thread& t, Mode mode, uint64_t time) {
  if (t.log.empty()) {
    if (mode == Mode::update) {
      M::reach(Probe{"pht.no_store"});
      durability_.park(t.slot);
    }
    durability_.saw(t.slot, time);
  } else {
    auto& counts = statistics_.at(t.slot);
    counts.bytes_written += durability_.harden(t.log, t.slot, time);
  }
  count(t, mode);
}

/// Ends a transaction whose body threw and was rolled back. The exception may reveal values that
/// the body has read, so the thread waits until these are durable.
template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::fail(Thread& t, uint64_t time, const std::exception_ptr& failure) {
  concurrency_.leave(t.slot);
  durability_.park(t.slot);
  durability_.saw(t.slot, time);
  statistics_.at(t.slot).user_aborts += 1;
  std::rethrow_exception(failure);
}

template <class M, template <class> class C, template <class> class D>
typename Pht<M, C, D>::Outcome Pht<M, C, D>::clean_up_abort(Thread& t) {
  const AbortCause cause = statistics_.at(t.slot).caught(*t.htm);
  concurrency_.leave(t.slot);
  durability_.park(t.slot);
  if (t.log.full()) {
    return Outcome::log_full;
  }
  return cause == AbortCause::capacity ? Outcome::too_large : Outcome::aborted;
}

template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::read_outside(Thread& t, FunctionRef<void()> body) {
  t.begin(Mode::read, Path::outside);
  concurrency_.enter(t, [] { return false; }, [] {});
  uint64_t time = Concurrency::kTimeBeforeWait ? durability_.time() : 0;
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  if (!Concurrency::kTimeBeforeWait) {
    time = durability_.time();
  }
  concurrency_.leave(t.slot);  // release: after all loads of the body
  if (failure) {
    fail(t, time, failure);
  }
  finish(t, Mode::read, time);
}

template <class M, template <class> class C, template <class> class D>
void Pht<M, C, D>::count(Thread& t, Mode mode) {
  auto& counts = statistics_.at(t.slot);
  if (mode == Mode::read) {
    counts.read_commits += 1;
  } else {
    counts.update_commits += 1;
    counts.bytes_stored += t.stored_bytes;
  }
}

}  // namespace holdfast
