// SPDX-License-Identifier: Apache-2.0
//
// FUR-MV: the durability of FUR (EuroSys 2026, 3.2 and 3.3) over multi-versioning in software, for
// computers without hardware transactional memory.
//
// Idea      A reader takes the newest snapshot that is durable as a whole, and finds its versions
//           without locks: readers never wait, never abort, and execute no fence. An update reads
//           the newest snapshot, buffers its stores, and commits under locks of stripes (first
//           committer wins). Redo logs and durability markers are FUR's.
// Area      NumberedLog's: header | tail | durability markers | one circular redo log per thread
// Read      pin; s = D, the number up to which all transactions are durable; body; unpin.
// Update    pin; s = last number given out; body. Lock the stripes stored to, in order; a number
//           beyond s on one of them aborts. Take number c; NON_DURABLE; old values -> versions, new
//           ones in place; unlock. Then log, pwb; pfence; wait for all NON_DURABLE up to s; marker,
//           pwb; psync; settled. Before the return: wait for all up to c, D := c.
// Large     An update whose records do not fit into the thread's log gets a loan from the heap, and
//           runs while no other update does. Number c first; it saves versions and stores in place.
//           The records lie in the loan, and the marker says where. It returns once they have been
//           replayed. If it fails, its values are restored, and c gets an abort marker.
// Recovery  Replay the logs of all durable markers beyond the tail, in the order of their numbers.
// Persists  ceil(16 N / line) + 1 pwb, 1 pfence and 1 psync per update of N words; none per read.
//
// Why it is correct
//  - Snapshots. An update takes c under its locks. So another update that reads s >= c finds the
//    stripe locked, and waits, or finds the new value. D >= c only once c's values are in place. So
//    a reader of snapshot D need not wait: the holder of a locked stripe is not in its snapshot.
//  - Durability. Everything a reader returns is durable before the reader begins. Everything an
//    update has read or replaced is durable before the update stores its marker. (First committer
//    wins: the last number on a stripe it stores to is <= s.) So after any crash the survivors are
//    closed under reads and overwrites. Their replay in the order of their numbers is a history
//    with snapshot isolation.
//  - Order of publication. NON_DURABLE, with a lower bound for c, is visible before c is taken. So
//    a transaction that has number c, or reads it as its snapshot, finds all smaller numbers that
//    are not durable.
//  - Progress. Updates wait for smaller numbers only, and take numbers after all locks: no cycles.
//    After the number is taken only memory for versions can be missing. Such an update, and one
//    that runs alone and fails, leaves an abort marker, so there are no gaps.
//  - Real time. Acknowledged updates are in every later snapshot, because D >= c before update()
//    returns. That is one wait more than FUR has, at a point where no thread waits for this
//    transaction. Updates without stores, and attempts that lost a conflict, wait for all up to s
//    and advance D as well. So every later snapshot has everything their bodies have seen.
//
// Differences from the paper
//  - FUR isolates with hardware transactions; this engine isolates with versions and stripe locks.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "holdfast/engines/fur_mv/fur_mv_access.h"
#include "holdfast/engines/fur_mv/fur_mv_options.h"
#include "holdfast/engines/fur_mv/versions.h"
#include "holdfast/engines/parts/basics/run_body.h"
#include "holdfast/engines/parts/durability/numbered/numbered_log.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"

namespace holdfast {

/// The engine; see Engine in engine.h for the contract. Readers cost no fence and no wait. Old
/// versions live in volatile memory, which grows while a long reader needs them.
template <class M>
class FurMv : public FurMvAccess<M> {
 public:
  using Machine = M;
  static constexpr Description kDescription = kFurMv;

  FurMv(M& machine, const Regions& regions, const Options& options, int max_threads)
      : machine_(machine),
        options_(FurMvOptions::parse(options, max_threads).value()),
        log_(machine, regions, options_.log, max_threads),
        states_(log_.states()),
        table_(machine, options_.stripes),
        pins_(machine, log_.logs()),
        way_(machine, std::max<uint64_t>(1, options_.retries)) {
    for (int slot = 0; slot < std::min(log_.logs(), machine.slots()); ++slot) {
      threads_.push_back(std::make_unique<Thread>(machine, table_, pins_, options_.versions,
                                                  log_.redo(slot), slot));
      threads_.back()->data = regions.data;
      threads_.back()->capacity = regions.capacity;
    }
  }

  Status format() { return log_.format(); }
  Status recover(RecoveryReport& report) {
    Status status = log_.recover(kDescription.name, report);
    pins_.advance(log_.last_number());
    return status;
  }
  Status close() { return log_.close(); }
  Result<ReplayReport> replay(const ReplayOptions& options) { return log_.replay(options); }
  void grown(size_t bytes) { log_.grown(bytes); }
  void lend(const Loan& loan) { here().loan = loan; }

  void update(FunctionRef<void()> body);
  void read(FunctionRef<void()> body);

  Statistics statistics() const { return log_.statistics().sum(); }

 private:
  using Thread = FurMvThread<M>;
  using Table = VersionTable<M>;
  using Claim = typename RightOfWay<M>::Claim;
  enum class Outcome : uint8_t { committed, conflict, log_full, must_wait };

  Thread& here();
  Outcome attempt(Thread& t, const Claim& claim, FunctionRef<void()> body);
  void update_alone(Thread& t, Claim& claim, FunctionRef<void()> body);
  void undo(Thread& t, uint64_t number);
  void save_promoted(Thread& t, uint64_t number);
  uint64_t take_number(Thread& t);
  bool lock_stripes(Thread& t);
  void unlock_stripes(Thread& t, size_t count);
  std::exception_ptr save_versions(Thread& t, uint64_t number);
  void put_in_place(Thread& t);
  void give_up(Thread& t, uint64_t number);
  static uint64_t record_bytes(const Thread& t);
  void build_records(Thread& t);
  void harden(Thread& t, uint64_t number, uint64_t bytes);
  void await_all(const Thread& t, uint64_t number, Site site);
  auto& counts(const Thread& t) { return log_.statistics().at(t.slot); }

  M& machine_;
  FurMvOptions options_;
  NumberedLog<M> log_;
  StateArray<M>& states_;
  Table table_;
  SnapshotPins<M> pins_;
  RightOfWay<M> way_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

template <class M>
typename FurMv<M>::Thread& FurMv<M>::here() {
  const auto slot = static_cast<size_t>(machine_.self());
  if (slot >= threads_.size()) [[unlikely]] {  // as a thread without a slot has, -1
    throw too_many_threads();
  }
  return *threads_[slot];
}

template <class M>
void FurMv<M>::read(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::read);
  t.prepare(Context::Mode::read);
  pins_.pin(t.slot);
  t.snapshot = machine_.skips(Site{"furmv.read.durable"}) ? log_.last_number() : pins_.durable();
  const std::exception_ptr failure = run_body<M>(t, body);
  pins_.unpin(t.slot);
  if (failure) {
    counts(t).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  counts(t).read_commits += 1;
}

template <class M>
void FurMv<M>::update(FunctionRef<void()> body) {
  Thread& t = here();
  const TransactionScope<M> scope(TransactionKind::update);
  Claim claim(way_, t.backoff);
  if (t.loan.bytes != 0) [[unlikely]] {
    update_alone(t, claim, body);
    return;
  }
  bool whole_log = false;
  for (;;) {
    claim.await();
    log_.make_room(t.redo, t.slot, whole_log);
    const Outcome outcome = attempt(t, claim, body);
    if (outcome == Outcome::committed) {
      return;
    }
    if (outcome == Outcome::must_wait) {
      continue;
    }
    if (outcome == Outcome::log_full) {
      M::reach(Probe{"furmv.log_full"});
      whole_log = true;
      continue;
    }
    counts(t).aborts[static_cast<size_t>(AbortCause::conflict)] += 1;
    const bool held = claim.held();
    claim.aborted();
    counts(t).lock_fallbacks += claim.held() && !held ? 1 : 0;
  }
}

template <class M>
typename FurMv<M>::Outcome FurMv<M>::attempt(Thread& t, const Claim& claim,
                                             FunctionRef<void()> body) {
  M::phase(Phase::execute);
  t.prepare(Context::Mode::update);
  pins_.pin(t.slot, true);
  // A thread that runs alone takes the right of way, then looks at the pins.
  if (!machine_.skips(Site{"furmv.alone.look"}) && claim.must_wait()) [[unlikely]] {
    M::reach(Probe{"furmv.must_wait"});
    pins_.unpin(t.slot);
    return Outcome::must_wait;
  }
  // Sequentially consistent: loads that follow find each value up to this number in place, or its
  // stripe locked.
  t.snapshot = log_.last_number();
  std::exception_ptr failure = run_body<M>(t, body);
  if (!failure) [[likely]] {
    failure = t.reserve(t.writes.size(), t.writes.size());
  }
  if (failure || t.writes.empty()) {
    pins_.unpin(t.slot);
    // The body's result, or its exception, may reveal the values it has read.
    await_all(t, t.snapshot, Site{"furmv.no_store.durability_wait"});
    if (failure) {
      counts(t).user_aborts += 1;
      std::rethrow_exception(failure);
    }
    log_.count_update(t.slot, 0, 0);
    return Outcome::committed;
  }
  M::phase(Phase::commit);
  const uint64_t bytes = record_bytes(t);
  if (bytes > t.redo.room()) [[unlikely]] {
    pins_.unpin(t.slot);
    await_all(t, t.snapshot, Site{"furmv.no_store.durability_wait"});
    if (t.needs_loan(bytes)) {
      M::reach(Probe{"furmv.loan_needed"});
      throw LoanNeeded{bytes};
    }
    return Outcome::log_full;
  }
  if (!lock_stripes(t)) {
    M::reach(Probe{"furmv.conflict"});
    pins_.unpin(t.slot);
    // The attempt is over, but its body may have revealed what it has read.
    await_all(t, t.snapshot, Site{"furmv.conflict.durability_wait"});
    return Outcome::conflict;
  }
  const uint64_t number = take_number(t);
  failure = save_versions(t, number);
  if (failure) [[unlikely]] {
    give_up(t, number);
    counts(t).user_aborts += 1;
    std::rethrow_exception(failure);
  }
  put_in_place(t);
  unlock_stripes(t, t.locked.size());
  pins_.unpin(t.slot);
  build_records(t);
  harden(t, number, bytes);
  return Outcome::committed;
}

/// Locks the stripes stored to and those promoted, in the order of the table, so that waits form no
/// cycle. Returns false if a transaction newer than the snapshot has overwritten one of them.
template <class M>
bool FurMv<M>::lock_stripes(Thread& t) {
  for (const WriteSet::Entry& entry : t.writes.entries()) {
    t.locked.push_back({&table_.of(t.offset_of(entry.word)), 0});
  }
  for (const uint64_t offset : t.promoted) {
    t.locked.push_back({&table_.of(offset), 0});
  }
  auto by_place = [](const auto& a, const auto& b) { return a.stripe < b.stripe; };
  auto same = [](const auto& a, const auto& b) { return a.stripe == b.stripe; };
  std::sort(t.locked.begin(), t.locked.end(), by_place);
  t.locked.erase(std::unique(t.locked.begin(), t.locked.end(), same), t.locked.end());
  for (size_t i = 0; i < t.locked.size(); ++i) {
    auto& [stripe, owner] = t.locked[i];
    // No order is relied on: the compare-exchange below repeats the load.
    owner = stripe->owner.load(std::memory_order_acquire);
    for (;;) {
      if (Table::locked(owner)) {
        M::reach(Probe{"furmv.stripe_wait"});
        owner = machine_.wait_while(stripe->owner, owner);
      } else if (Table::number(owner) > t.snapshot && !machine_.skips(Site{"furmv.first"})) {
        if (i > 0) {
          M::reach(Probe{"furmv.unlocks_some"});
        }
        unlock_stripes(t, i);
        return false;
      } else if (stripe->owner.compare_exchange(owner, owner | 1)) {
        break;
      }
    }
  }
  return true;
}

/// Unlocks the first `count` stripes and stores their owner words of `before`. Release: their words
/// are in place.
template <class M>
void FurMv<M>::unlock_stripes(Thread& t, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    t.locked[i].stripe->owner.store(t.locked[i].before, std::memory_order_release);
  }
}

template <class M>
uint64_t FurMv<M>::take_number(Thread& t) {
  // Visible before the number is taken, which is a read-modify-write. So a thread that waits for
  // all numbers up to one that is >= this bound finds it.
  states_.publish_non_durable(t.slot, log_.last_number() + 1);
  const uint64_t number = log_.take_number(t.slot);
  states_.publish_non_durable(t.slot, number);
  return number;
}

/// Saves the values that the transaction overwrites. The stripes are locked. Returns the exception
/// if there is no memory; some stripes have the number then.
template <class M>
std::exception_ptr FurMv<M>::save_versions(Thread& t, uint64_t number) {
  try {
    for (WriteSet::Entry& entry : t.writes.entries()) {
      auto& stripe = table_.of(t.offset_of(entry.word));
      const uint64_t before = M::load(entry.word);
      entry.value = entry.over(before);
      t.save(stripe, number, reinterpret_cast<uintptr_t>(entry.word),
             machine_.skips(Site{"furmv.version"}) ? entry.value : before, 1);
    }
    save_promoted(t, number);
  } catch (const std::bad_alloc&) {
    return std::current_exception();
  }
  return {};
}

/// Gives the transaction's number to all its stripes.
template <class M>
void FurMv<M>::save_promoted(Thread& t, uint64_t number) {
  for (auto& [stripe, owner] : t.locked) {
    owner = number << 1;
    // A stripe that is only promoted gets the number too, so that another transaction that promotes
    // it or stores to it detects the conflict. A version of no word keeps the list in step with the
    // number.
    // Relaxed: this thread has locked the stripe.
    if (Table::number(stripe->owner.load(std::memory_order_relaxed)) != number) {
      M::reach(Probe{"furmv.only_promoted"});
      t.save(*stripe, number, 0, 0, 1);
    }
  }
}

/// Stores the values. The stripes are locked, and have the number.
template <class M>
void FurMv<M>::put_in_place(Thread& t) {
  // Release: each word follows the number in its stripe's owner (versions.h).
  for (const WriteSet::Entry& entry : t.writes.entries()) {
    M::store_release(entry.word, entry.value);
  }
}

/// Gives up a number for which save_versions() has failed. The versions saved so far do no harm:
/// they have the values that are in place.
template <class M>
void FurMv<M>::give_up(Thread& t, uint64_t number) {
  for (auto& [stripe, before] : t.locked) {
    // Relaxed load: this thread has locked the stripe.
    before = stripe->owner.load(std::memory_order_relaxed) & ~uint64_t{1};
  }
  unlock_stripes(t, t.locked.size());
  pins_.unpin(t.slot);
  log_.write_abort_marker(number, t.slot, Site{"furmv.alone.abort"});
  states_.settle(t.slot);
  // The exception may reveal the values that the body has read.
  await_all(t, t.snapshot, Site{"furmv.no_store.durability_wait"});
}

/// Calls f(first, n) for each run of n neighbouring words, of `count` words that were stored one
/// after another. A run shares a record. word(i) is the address of word i.
template <class Word, class F>
void for_each_run(size_t count, Word&& word, F&& f) {
  for (size_t i = 0, n = 1; i < count; i += n, n = 1) {
    while (i + n < count && word(i + n) == word(i) + n && n < RedoRecord::kMaxWords) {
      ++n;
    }
    f(i, n);
  }
}

/// Bytes that the transaction's records take in the log.
template <class M>
uint64_t FurMv<M>::record_bytes(const Thread& t) {
  uint64_t words = t.writes.size();
  for_each_run(
      t.writes.size(), [&](size_t i) { return t.writes.entries()[i].word; },
      [&](size_t, size_t) { ++words; });
  return words * sizeof(uint64_t);
}

/// Lays out the records in t.records as they go into the log.
template <class M>
void FurMv<M>::build_records(Thread& t) {
  t.records.clear();
  const auto build = [&](size_t count, auto&& word, auto&& value) {
    for_each_run(count, word, [&](size_t first, size_t n) {
      t.records.push_back(RedoRecord{t.offset_of(word(first)), n * sizeof(uint64_t)}.header());
      for (size_t i = first; i < first + n; ++i) {
        t.records.push_back(value(i));
      }
    });
  };
  if (t.saved.empty()) [[likely]] {
    const auto& entries = t.writes.entries();
    build(
        entries.size(), [&](size_t i) { return entries[i].word; },
        [&](size_t i) { return entries[i].value; });
  } else {
    const auto word = [&](size_t i) {
      return reinterpret_cast<uint64_t*>(M::load(&t.saved[i]->word));
    };
    build(t.saved.size(), word, [&](size_t i) { return M::load(word(i)); });
  }
}

/// Makes the transaction durable, whose data is visible now.
template <class M>
void FurMv<M>::harden(Thread& t, uint64_t number, uint64_t bytes) {
  M::phase(Phase::log_flush);
  const bool lent = t.needs_loan(bytes);
  uint64_t start = t.redo.start();
  if (lent) [[unlikely]] {
    start = log_.write_lent(t.loan, t.records.data(), bytes, Site{"furmv.lent.log"});
  } else {
    t.redo.write(t.records.data(), bytes, Site{"furmv.log"});
  }
  // Separates the log from the marker: the log is durable before the marker is *stored*, because a
  // stored line may reach the medium at any time.
  machine_.pfence(Site{"furmv.log.fence"});
  M::phase(Phase::durability_wait);
  // Before the marker is stored, every value is durable that the body has read or replaced.
  states_.await_durable(t.slot, t.snapshot, Site{"furmv.update.durability_wait"});
  M::phase(Phase::marker_flush);
  log_.write_marker(number, t.slot, start, t.records.data(), bytes, Site{"furmv.marker"});
  // Separates the marker from settle(): it is durable before other threads see INACTIVE.
  machine_.psync(Site{"furmv.marker.fence"});
  t.redo.advance(lent ? 0 : bytes);
  states_.settle(t.slot);
  log_.count_update(t.slot, t.stored_bytes, bytes);
  await_all(t, number, Site{"furmv.ack.durability_wait"});
}

/// Waits until all transactions up to `number` are durable, then includes them in D.
template <class M>
void FurMv<M>::await_all(const Thread& t, uint64_t number, Site site) {
  M::phase(Phase::durability_wait);
  states_.await_durable(t.slot, number, site);
  pins_.advance(number);
}

}  // namespace holdfast

#include "holdfast/engines/fur_mv/fur_mv_alone-inl.h"
