// SPDX-License-Identifier: Apache-2.0
// The path under the global lock, the paper's thread-unsafe mode; included by crafty.h.
#pragma once

namespace holdfast {

/// Runs the body alone. Taking the lock dooms every running hardware transaction, and updates that
/// are between Log and Redo take no number any more. Updates that have taken one may still be
/// hardening, which needs no lock.
template <class M>
void Crafty<M>::locked(Thread& t, FunctionRef<void()> body, Mode mode) {
  M::phase(Phase::lock_wait);
  lock_.acquire(*t.htm);
  statistics_.at(t.slot).lock_fallbacks += 1;
  M::phase(Phase::execute);
  t.begin_log(mode, Path::locked);
  t.base = last_number(t);
  if (mode == Mode::update) {
    slots_.run(t.slot, t.base + 1);  // no other update commits before the lock is released
  }
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  if (failure) [[unlikely]] {
    leave_lock(t, failure);
  }
  t.write_chunk();
  if (t.words.empty()) {
    M::reach(Probe{"crafty.lock.no_store"});
    slots_.park(t.slot);
    lock_.release(*t.htm);
    saw(t);
    count(t, mode);
    return;
  }
  const uint64_t number = t.base + 1;
  M::store(t.record.committed_word(), encode_tail(number));
  t.htm->outside_store(&numbers_->last, number);
  harden(t, number);
  lock_.release(*t.htm);
}

/// Undoes the body and rethrows its exception. The old values are durable before the slot is
/// parked, because a newer mark may declare the record finished afterwards.
template <class M>
void Crafty<M>::leave_lock(Thread& t, const std::exception_ptr& failure) {
  if (machine_.failed()) {
    std::rethrow_exception(failure);  // the lock stays held: nothing may be stored any more
  }
  M::reach(Probe{"crafty.lock.user_abort"});
  M::phase(Phase::roll_back);
  for (const WriteSet::Entry& entry : t.words.entries()) {
    t.htm->outside_store(entry.word, entry.value);
  }
  if (!t.words.empty()) {
    write_back_data(t, Site{"crafty.roll_back"});
    // Separates the old values in place from parking the slot.
    machine_.pfence(Site{"crafty.roll_back.fence"});
  }
  lock_.release(*t.htm);
  fail(t, failure);
}

}  // namespace holdfast
