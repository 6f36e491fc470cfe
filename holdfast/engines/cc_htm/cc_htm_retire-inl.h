// SPDX-License-Identifier: Apache-2.0
// Retirement, and waiting for it; included by cc_htm.h.
#pragma once

namespace holdfast {

/// Waits until every transaction with a number below `end` has retired or was given up. Helps
/// meanwhile. `alone`: the caller has the global lock, so no blue body can commit.
template <class M>
void CcHtm<M>::await_below(uint64_t end, Site site, bool alone) {
  if (machine_.skips(site)) {
    return;
  }
  Patience patience;
  while (ring_.min() < end) {
    help(patience, alone);
  }
}

/// Waits until the red transaction has retired. `alone`: as above.
template <class M>
void CcHtm<M>::await_retired(uint64_t id, bool alone, Site site) {
  if (machine_.skips(site)) {
    return;
  }
  Patience patience;
  // Acquire: its stores are home and durable.
  while (ring_.slot(id).state.load(std::memory_order_acquire) == Ring::word(id, Ring::red)) {
    help(patience, alone);
  }
}

/// Retires what can be retired. If that is nothing, waits for the oldest blue transaction for a
/// while, then gives it up.
template <class M>
void CcHtm<M>::help(Patience& patience, bool alone) {
  const auto [some, blue] = retire();
  if (some || blue == kNone) {
    return;
  }
  auto& state = ring_.slot(blue).state;
  const uint64_t seen = state.load(std::memory_order_acquire);
  if (seen != Ring::word(blue, Ring::blue) && seen != ring_.before(blue)) {
    return;
  }
  const uint64_t now = machine_.now();
  if (patience.blue != blue) {
    patience = {.blue = blue, .since = now};
  }
  const PhaseScope<M> waiting(Phase::durability_wait);
  if (!alone && now - patience.since < patience_) {
    machine_.pause();
    return;
  }
  if (!retirement_.lock_or_wait()) {
    return;
  }
  const bool given_up = ring_.min() > blue || give_up_body(blue);
  retirement_.unlock();
  M::reach(given_up ? Probe{"cchtm.gives_up"} : Probe{"cchtm.gives_up.too_late"});
  if (!given_up) {
    machine_.wait_while(state, seen);  // it has committed, and turns red without waiting
  }
}

/// Gives up a blue transaction that has not committed. Returns false if it has, or if its own
/// thread has given it up. The caller has the lock of the thread that retires, and the number is
/// not below the smallest one. So its slot is not used again meanwhile, and the numbers stored to
/// `revoked` only grow.
template <class M>
bool CcHtm<M>::give_up_body(uint64_t id) {
  auto& slot = ring_.slot(id);
  auto& htm = *here().htm;
  htm.outside_store(&slot.revoked, id);
  // Separates the store, which dooms the body, from the look at its commit: a body that has not
  // committed by now never will.
  machine_.fence(Site{"cchtm.revoke.fence"});
  if (htm.outside_load(&slot.committed) == id && !machine_.skips(Site{"cchtm.revoke.look"})) {
    return false;
  }
  return ring_.give_up(id);
}

/// Retires a batch, or waits while another thread does. Without memory it retires nothing, and the
/// caller tries again: transactions that wait for it have committed. After a failure of the medium
/// the lock stays taken, and every wait throws.
template <class M>
typename CcHtm<M>::Round CcHtm<M>::retire() {
  if (!retirement_.lock_or_wait()) {
    return {.some = true, .blue = kNone};
  }
  Round round{.some = true, .blue = kNone};
  try {
    round = retire_batch();
  } catch (const std::bad_alloc&) {  // see above
  }
  retirement_.unlock();
  return round;
}

template <class M>
typename CcHtm<M>::Round CcHtm<M>::retire_batch() {
  const bool early = printed(Printed::early_min);
  const auto look = ring_.collect(red_, early);
  size_t count = 0;
  while (count < red_.size() &&
         ((printed(Printed::start) ? red_[count].stamp.id : red_[count].end) <= look.oldest_blue ||
          machine_.skips(Site{"cchtm.retire.end"}))) {
    ++count;
  }
  if (count > 0) {
    bring_home(count);
  }
  const bool advanced = ring_.advance_min(early);
  return {.some = count > 0 || advanced,
          .blue = look.oldest_blue == look.next ? kNone : look.oldest_blue};
}

/// Brings the stores of the first `count` red transactions home. Their records are durable.
template <class M>
void CcHtm<M>::bring_home(size_t count) {
  const PhaseScope<M> scope(Phase::replay);
  auto& htm = *here().htm;
  log_.begin_batch(red_[count - 1].stamp, count);
  // Separates the watermark from the home: if any of these stores reaches the medium, recovery
  // replays the whole batch.
  machine_.pfence(Site{"cchtm.upto.fence"});
  uint64_t credits = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    // Outside stores: they doom transactions that have loaded neighbors of these words.
    log_.for_each_word(red_[i], [&](const cc_htm::LoggedWord& word) {
      htm.outside_store(reinterpret_cast<uint64_t*>(regions_.data + word.offset), word.value);
      lines_.add(word.offset);
      bytes += sizeof(uint64_t);
    });
    credits += red_[i].credit;
  }
  if (!printed(Printed::no_flush)) {
    lines_.write_back(regions_.data, Site{"cchtm.home"});
  }
  // Separates the home from the watermark that calls it complete.
  machine_.pfence(Site{"cchtm.home.fence"});
  log_.end_batch();
  // Separates the watermark from the reuse of the records.
  machine_.pfence(Site{"cchtm.from.fence"});
  log_.free(red_, count);
  for (size_t i = 0; i < count; ++i) {
    ring_.retire(red_[i].stamp.id);
  }
  return_credits(credits);
  auto& counters = statistics_.here();
  counters.bytes_written += bytes + 2 * sizeof(cc_htm::Watermark);
  counters.replayed += count;
}

}  // namespace holdfast
