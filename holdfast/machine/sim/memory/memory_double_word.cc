// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for the compare-exchange of 16 bytes.
#include "holdfast/base/scoped_value.h"
#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast {
namespace sim {

/// As read_modify_write(), with one difference: the thread's earlier write-backs are complete
/// before it stores, not only when it is over. This is the rule of Px86 (Raad, Wickerson, Neiger
/// and Vafeiadis, POPL 2020). Algorithms that have this operation as their only fence need it: they
/// publish, by the store, data that must be durable.
bool MemorySystem::compare_exchange(DoubleWord* at, DoubleWord& expected,
                                    const DoubleWord& desired) {
  SimThread& thread = *current_thread;
  const Transaction& tx = *thread.tx;
  const uintptr_t first = checked(at);
  const uintptr_t second = first + kWordBytes;
  if (design_ != nullptr) {
    throw Error(Status(Code::unsupported,
                       "no hardware design here knows the 16-byte compare-exchange; use an engine "
                       "that does without"));
  }
  runner_.point(thread, Op::rmw, first);
  if (tx.active()) {
    throw_if_doomed(thread);
  }
  if (!tx.unwinding) {
    drain(thread);
  }
  ++thread.stats.atomics;
  if (timed_ != nullptr) {
    timed_->atomic(thread, line_of(first));
  }
  const DoubleWord found = {visible(thread, first), visible(thread, second)};
  const bool same = found == expected;
  expected = found;
  if (tx.unwinding) {
    return same;
  }
  if (options_.rmw_orders_pwb) {
    complete_write_backs(thread);
  }
  if (same) {
    constexpr uint64_t kWhole = ~uint64_t{0};
    const MaskedWord low = {first, desired.first, kWhole};
    const MaskedWord high = {second, desired.second, kWhole};
    if (tx.active()) {
      for (const MaskedWord& word : {low, high}) {
        enqueue(thread, word, EntryKind::transactional);
        leave_all(thread);
      }
      return same;
    }
    // One store, one persist event. A crash comes before either word is in the buffer: in domain
    // process the buffer still reaches memory.
    uint64_t offset = 0;
    if (medium_.find(first, offset)) {
      persist_event();
    }
    const ScopedValue whole(no_events_, true);
    enqueue(thread, low, EntryKind::store);
    leave_all(thread);
    if (lint_ != nullptr) [[unlikely]] {
      lint_->stored(thread, second);
    }
    write(thread, high, true);  // with the first word, before another thread can act
  }
  return same;
}

}  // namespace sim
}  // namespace holdfast
