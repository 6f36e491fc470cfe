// SPDX-License-Identifier: Apache-2.0
// The path under the single global lock, which Algorithm 1 leaves out; included by fur.h.
#pragma once

namespace holdfast {

/// Runs the body alone. Four rules make that right:
///  1. Own state INACTIVE, lock, fence, then wait for everybody who is ACTIVE. Those who come later
///  see
///     the lock behind their own fence and retract; that covers readers, who have no transaction to
///     doom.
///  2. A committer in its isolation wait is INACTIVE already and not waited for. Any access to its
///  write
///     set, and any store to its read set, dooms it or waits until it has published: it comes
///     entirely before this transaction, or not at all.
///  3. Such a committer's data may be visible and not durable. So all NON_DURABLE transactions are
///  waited
///     for, whatever their number, before this transaction's number is taken and its marker stored.
///     None of them waits for the lock.
///  4. The lock is released last: who begins afterwards reads durable data.
/// Log space was made before: the holder never waits for the replayer. If it was not enough, the
/// body is undone and run again with the whole log.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::locked(Thread& t, FunctionRef<void()> body) {
  M::phase(Phase::lock_wait);
  lock_.acquire();
  M::phase(Phase::isolation_wait);
  // The lock is visible before the scan (the other half of enter()'s handshake).
  machine_.fence(Site{"fur.lock"});
  states_.await_active(t.slot, t.scratch.data(), [] { return false; }, Site{"fur.lock.scan"});
  counts(t).lock_fallbacks += 1;

  M::phase(Phase::execute);
  t.prepare(Context::Mode::update, Path::locked);
  bool aborted = false;
  const std::exception_ptr failure = run_body<M>(t, body, aborted);
  if (failure) [[unlikely]] {
    return leave_lock(t, failure);
  }
  if (t.log.empty()) {
    M::phase(Phase::durability_wait);
    // For what the body has read.
    states_.await_all_durable(t.slot, Site{"fur.lock.read.durability_wait"});
    count_update(t);
    lock_.release();
    return Outcome::committed;
  }
  M::phase(Phase::log_flush);
  t.make_stage();
  stage(
      t, [&](const uint64_t* p) { return t.htm->outside_load(p); },
      [&](void* to, const void* from, size_t n) { t.htm->outside_load_range(to, from, n); },
      [] { return false; });
  t.redo.write(t.staged.data(), t.log.bytes(), Site{"fur.lock.log"});
  machine_.pfence(Site{"fur.lock.log.fence"});  // the log is complete before the marker is stored
  M::phase(Phase::durability_wait);
  // So is everything the body may have read.
  states_.await_all_durable(t.slot, Site{"fur.lock.durability_wait"});
  M::phase(Phase::marker_flush);
  t.number = log_.take_number(t.slot);  // above the number of everything it depends on
  write_marker(t, Site{"fur.lock.marker"});
  machine_.pfence(
      Site{"fur.lock.marker.fence"});  // the marker is durable before anybody can read the data
  t.redo.advance(t.log.bytes());
  states_.settle(t.slot);
  count_update(t);
  lock_.release();
  return Outcome::committed;
}

/// The lock path has stored in place: put the old values back, newest first. Rethrows what the user
/// threw; a log that was full is for the caller to see to, without the lock.
template <class M, Tracking kTracking>
typename Fur<M, kTracking>::Outcome Fur<M, kTracking>::leave_lock(
    Thread& t, const std::exception_ptr& failure) {
  M::phase(Phase::roll_back);
  if (machine_.skips(Site{"fur.lock.roll_back.order"})) {
    std::reverse(t.undo.begin(), t.undo.end());
  }
  for (auto old = t.undo.rbegin(); old != t.undo.rend(); ++old) {
    t.htm->outside_store(old->at, old->value);
  }
  if (t.log_full) {
    lock_.release();
    return Outcome::log_full;
  }
  M::phase(Phase::durability_wait);
  // The exception tells what the body has read.
  states_.await_all_durable(t.slot, Site{"fur.lock.failure.durability_wait"});
  counts(t).user_aborts += 1;
  lock_.release();
  std::rethrow_exception(failure);
}

}  // namespace holdfast
