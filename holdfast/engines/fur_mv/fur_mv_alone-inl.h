// SPDX-License-Identifier: Apache-2.0
// An update that is too large for the log, and so runs alone; included by fur_mv.h.
#pragma once

namespace holdfast {

/// Runs an update that has a loan, while no other update runs. It loads and stores in place,
/// because a write set that is much larger than the caches is slow. Readers go on with the
/// versions. The number is taken first; if the update fails, it leaves an abort marker.
template <class M>
void FurMv<M>::update_alone(Thread& t, Claim& claim, FunctionRef<void()> body) {
  M::reach(Probe{"furmv.alone"});
  claim.take();
  log_.make_room(t.redo, t.slot, true);
  pins_.await_updates();
  // All numbers given out are durable. No record that will still be replayed stores to the loan,
  // whose bytes may have had an owner.
  log_.replay_up_to(log_.last_number(), t.slot);
  M::phase(Phase::execute);
  t.prepare(Context::Mode::update);
  const uint64_t number = take_number(t);
  t.snapshot = number;
  t.stored.clear();
  t.alone = true;
  std::exception_ptr failure = run_body<M>(t, body);
  t.alone = false;
  if (!failure) {
    failure = t.reserve(t.saved.size(), 0);
  }
  if (failure || t.saved.empty()) {
    undo(t, number);
    if (failure) {
      counts(t).user_aborts += 1;
      std::rethrow_exception(failure);
    }
    log_.count_update(t.slot, 0, 0);
    return;
  }
  M::phase(Phase::commit);
  build_records(t);
  const uint64_t bytes = t.records.size() * sizeof(uint64_t);
  const bool lent = t.needs_loan(bytes);
  if (lent && bytes > t.loan.bytes) {
    M::reach(Probe{"furmv.alone.larger"});
    undo(t, number);
    throw LoanNeeded{bytes};
  }
  harden(t, number, bytes);
  if (lent) {
    // The heap may use the loan again once its records have come home.
    log_.replay_up_to(number, t.slot);
  }
  t.release();
}

/// Undoes the stores of an update that runs alone, and gives up its number.
template <class M>
void FurMv<M>::undo(Thread& t, uint64_t number) {
  M::reach(Probe{"furmv.alone.undo"});
  const PhaseScope<M> scope(Phase::roll_back);
  for (size_t i = t.saved.size(); i-- > 0;) {
    const Version& version = *t.saved[i];
    M::store_release(reinterpret_cast<uint64_t*>(M::load(&version.word)), M::load(&version.before));
  }
  log_.write_abort_marker(number, t.slot, Site{"furmv.alone.abort"});
  states_.settle(t.slot);
  // Later snapshots have everything that the body has seen.
  pins_.advance(number);
  t.saved.clear();
}

}  // namespace holdfast
