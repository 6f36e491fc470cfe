// SPDX-License-Identifier: Apache-2.0
// Recovery and the barriers; included by cc_htm.h.
#pragma once

namespace holdfast {

/// Replays the batch that was on its way home. Stamps and numbers begin anew: the new epoch makes
/// every old record void.
template <class M>
Status CcHtm<M>::recover(RecoveryReport& report) {
  std::vector<cc_htm::FoundRecord> found;
  if (Status status = log_.examine(printed(Printed::deletion), found); !status.ok()) {
    return status;
  }
  for (const cc_htm::FoundRecord& record : found) {
    for (const cc_htm::LoggedWord& word : record.words) {
      M::store(reinterpret_cast<uint64_t*>(regions_.data + word.offset), word.value);
      lines_.add(word.offset);
      report.bytes += sizeof(uint64_t);
    }
  }
  if (!found.empty()) {
    lines_.write_back(regions_.data, Site{"cchtm.recover.home"});
    // Separates the home from the epoch that makes its records void.
    machine_.pfence(Site{"cchtm.recover.home.fence"});
  }
  if (!machine_.skips(Site{"cchtm.recover.void"})) {
    log_.begin_epoch();
  }
  // The records are void before a new one may follow.
  machine_.psync(Site{"cchtm.recover.sync"});
  report.needed = !found.empty();
  report.transactions = found.size();
  background_.start([this] { return retire().some; });
  return {};
}

template <class M>
Status CcHtm<M>::settle() {
  try {
    await_below(ring_.next(), Site{"cchtm.settle.wait"});
  } catch (const MediumFailure& failure) {
    return failure.status();
  }
  return {};
}

template <class M>
Status CcHtm<M>::barrier() {
  const TransactionScope<M> scope(TransactionKind::update);
  Thread& t = here();
  lock_.acquire(*t.htm);
  await_below(ring_.next(), Site{"cchtm.barrier.wait"}, true);
  lock_.release(*t.htm);
  return {};
}

template <class M>
PendingUpdates CcHtm<M>::pending() const {
  PendingUpdates pending;
  uint64_t oldest = kNone;
  for (uint64_t id = ring_.min(); id < ring_.next(); ++id) {
    if (ring_.slot(id).state.load(std::memory_order_acquire) == Ring::word(id, Ring::red)) {
      ++pending.count;
      oldest = std::min(oldest, ring_.finished(id).stamp.time);
    }
  }
  const uint64_t now = machine_.now();
  pending.age = now - std::min(oldest, now);
  return pending;
}

}  // namespace holdfast
