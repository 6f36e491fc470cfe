// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for transactions of a hardware design.
#include <utility>

#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast::sim {
namespace {

/// The word of a marker in the store buffer. Its address is volatile memory and its mask is empty,
/// so it stores nothing.
constexpr MaskedWord kNoWord = {kArenaBase, 0, 0};

}  // namespace

DesignHost& MemorySystem::needed_design() {
  if (design_ == nullptr) {
    throw Error(Status(Code::unsupported,
                       "this simulated machine has no hardware design; choose one with "
                       "SimOptions::design (--design)"));
  }
  return *design_;
}

void MemorySystem::tx_start() {
  SimThread& thread = *current_thread;
  DesignHost& design = needed_design();
  runner_.point(thread, Op::begin, 0);
  check_failure();
  design.issue_begin(thread);
  timed_->operation(thread);
  enqueue(thread, kNoWord, EntryKind::tx_begin);
  if (design.isolates()) {
    drain(thread);  // the design must know of the transaction before it loads
  }
}

void MemorySystem::tx_commit() {
  SimThread& thread = *current_thread;
  DesignHost& design = needed_design();
  runner_.point(thread, Op::commit, 0);
  check_failure();
  throw_if_design_doomed(thread);
  design.issue_end(thread);
  timed_->operation(thread);
  enqueue(thread, kNoWord, EntryKind::tx_commit);
  if (design.commit_waits()) {
    drain(thread);
    throw_if_design_doomed(thread);
  }
}

AbortCause MemorySystem::tx_abort() {
  SimThread& thread = *current_thread;
  DesignHost& design = needed_design();
  runner_.point(thread, Op::commit, 0);
  if (thread.doomed == AbortCause::none) {
    drain(thread);
  }
  if (thread.doomed != AbortCause::none) {
    return design.caught(thread);
  }
  design.issue_end(thread);
  runner_.wait_until(thread, design.abort(thread, thread.clock));
  return AbortCause::none;
}

AbortCause MemorySystem::tx_caught() {
  return needed_design().caught(*current_thread);
}

/// All entries of the store buffer belong to the transaction: a design that dooms makes commits
/// wait.
void MemorySystem::design_doomed(int slot) {
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  thread.buffer.clear();
  runner_.buffer_changed(thread);
  if (thread.state == SimThread::State::waiting) {
    waiters_.remove(slot);
    runner_.wake(thread);
  }
}

void MemorySystem::design_epoch_ended() {
  if (at_epoch_end_ && !power_is_gone()) {
    at_epoch_end_();
  }
}

// ---- power

void MemorySystem::load(DesignRemains remains) {
  design_->load(std::move(remains));
  medium_.fail(Status(Code::misuse,
                      "this simulated machine starts with what a hardware design has left behind; "
                      "call SimMachine::power_on() before its medium is used"));
}

void MemorySystem::power_on() {
  if (design_ == nullptr || !design_->needs_power_on()) {
    return;
  }
  SimThread& thread = *current_thread;
  starting_ = true;
  try {
    thread.clock = design_->power_on(thread.clock);
  } catch (...) {
    starting_ = false;
    throw;
  }
  starting_ = false;
  medium_.fail({});
}

void MemorySystem::settle_design() {
  if (design_ != nullptr) {
    current_thread->clock = design_->settle(current_thread->clock, false);
  }
}

/// Returns whether the oldest entry of the thread's store buffer may leave. If not, sets the time
/// at which it asks again. With `now_or_never` the thread waits until it may.
bool MemorySystem::design_admits(SimThread& thread, bool now_or_never) {
  Entry& front = thread.buffer.front();
  if (front.kind == EntryKind::write_back) {
    return true;
  }
  for (;;) {
    const Time now = runner_.now();
    const Time ready = design_->admit(thread, front, now);
    if (thread.buffer.empty()) {
      return false;  // the design has aborted the transaction, and the entry with it
    }
    if (ready <= now) {
      return true;
    }
    if (!now_or_never) {
      front.leave = ready;
      runner_.buffer_changed(thread);
      return false;
    }
    thread.clock = ready;  // the thread is the current one, and waits here
  }
}

}  // namespace holdfast::sim
