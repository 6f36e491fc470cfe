// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for hardware transactions and for failures.
#include <utility>

#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast::sim {
namespace {

[[noreturn]] void misuse(const char* what) {
  throw Error(Status(Code::misuse, what));
}

bool possible(const HtmDescription& htm, Tracking tracking) {
  return htm.present &&
         (tracking == Tracking::all || htm.rollback_only || htm.suspend_load_tracking);
}

}  // namespace

void MemorySystem::learn_of_doom(SimThread& thread) {
  if (timed_ != nullptr && thread.tx->active() && timed_->interrupted(thread)) {
    htm_.doom(thread.slot, AbortCause::interrupt);
  }
  if (thread.tx->doomed()) {
    thread.tx->unwinding = true;
    throw HtmAbort{};
  }
}

void MemorySystem::on_doomed(int slot) {
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  thread.buffer.drop_transactional();
  runner_.buffer_changed(thread);
  if (thread.state == SimThread::State::waiting) {
    waiters_.remove(slot);
    runner_.wake(thread);
  }
}

void MemorySystem::on_released(int slot, const Transaction& tx, bool aborted) {
  if (timing_ != nullptr) {
    timing_->released(slot, tx, aborted);
  }
}

void MemorySystem::begin(SimThread& thread, Tracking tracking) {
  runner_.point(thread, Op::begin, 0);
  if (design_ != nullptr) {
    throw Error(Status(Code::unsupported,
                       "a simulated machine with a hardware design has no hardware transactions; "
                       "use an engine that needs none"));
  }
  if (thread.tx->open) {
    misuse("a hardware transaction is open on this simulated thread already");
  }
  if (options_.machine != nullptr && !possible(options_.machine->htm, tracking)) {
    misuse("this machine has no such hardware transactions; see htm_capabilities()");
  }
  ++thread.stats.htm_begins;
  thread.phases.begin_attempt();
  if (timed_ != nullptr) {
    timed_->begin(thread);
  }
  htm_.begin(thread.slot, tracking);
}

void MemorySystem::suspend(SimThread& thread) {
  runner_.point(thread, Op::suspend, 0);
  if (thread.tx->unwinding) {
    return;
  }
  if (!thread.tx->open || thread.tx->suspended) {
    misuse("suspend without a running hardware transaction");
  }
  if (options_.machine != nullptr && !options_.machine->htm.suspend) {
    misuse("this machine cannot suspend a transaction; see htm_capabilities()");
  }
  throw_if_doomed(thread);
  thread.tx->suspended = true;
  if (timed_ != nullptr) {
    timed_->suspend_or_resume(thread);
  }
}

void MemorySystem::resume(SimThread& thread) {
  runner_.point(thread, Op::resume, 0);
  if (!thread.tx->open || !(thread.tx->suspended || thread.tx->unwinding)) {
    misuse("resume without a suspended hardware transaction");
  }
  // A doomed transaction pays for resume too, because its thread returns to it before it aborts.
  if (timed_ != nullptr) {
    timed_->suspend_or_resume(thread);
  }
  throw_if_doomed(thread);
  thread.tx->suspended = false;
}

void MemorySystem::track(SimThread& thread, Tracking tracking) {
  runner_.point(thread, tracking == Tracking::all ? Op::resume : Op::suspend, 0);
  if (!thread.tx->open || thread.tx->suspended) {
    misuse("track without a running hardware transaction");
  }
  if (options_.machine != nullptr && !options_.machine->htm.suspend_load_tracking) {
    misuse("this machine cannot suspend the tracking of loads; see htm_capabilities()");
  }
  throw_if_doomed(thread);
  if (tracking == Tracking::stores) {
    drain(thread);
    throw_if_doomed(thread);
  }
  thread.tx->tracking = tracking;
  if (timed_ != nullptr) {
    timed_->suspend_or_resume(thread);
  }
}

void MemorySystem::commit(SimThread& thread) {
  const Transaction& tx = *thread.tx;
  runner_.point(thread, Op::commit, 0);
  if (!tx.open || tx.suspended) {
    misuse("commit without a running hardware transaction");
  }
  throw_if_doomed(thread);
  drain(thread);
  throw_if_doomed(thread);
  const std::vector<MaskedWord>& words = tx.words.words();
  uint64_t offset;
  for (const MaskedWord& word : words) {
    if (medium_.find(word.address, offset)) {
      persist_event();  // one event for all stores, which become visible at one instant
      break;
    }
  }
  bool same_instant = false;
  for (const MaskedWord& word : words) {
    write(thread, word, same_instant);
    if (lint_ != nullptr) [[unlikely]] {
      lint_->stored(thread, word.address);
    }
    same_instant = same_instant || medium_.find(word.address, offset);
  }
  for (const uint32_t line : tx.written_lines) {
    announce(thread, line);
  }
  htm_.end(thread.slot);
  ++thread.stats.htm_commits;
  thread.phases.end_attempt();
  if (timed_ != nullptr) {
    timed_->commit(thread);
  }
}

void MemorySystem::abort(SimThread& thread, AbortCode code) {
  if (!thread.tx->open) {
    misuse("abort without an open hardware transaction");
  }
  thread.tx->code = code;
  htm_.doom(thread.slot, AbortCause::explicit_abort);
  thread.tx->unwinding = true;
  throw HtmAbort{};
}

AbortCause MemorySystem::caught(SimThread& thread) {
  htm_.doom(thread.slot, AbortCause::other);
  const AbortCause cause = thread.tx->doom;
  htm_.end(thread.slot);
  ++thread.stats.htm_aborts[static_cast<size_t>(cause)];
  thread.phases.abort_attempt(cause, runner_.timed() ? thread.clock : runner_.steps());
  if (timed_ != nullptr) {
    timed_->aborted(thread);
  }
  return cause;
}

void MemorySystem::cancel(SimThread& thread) {
  htm_.doom(thread.slot, AbortCause::explicit_abort);
  htm_.end(thread.slot);
  thread.phases.end_attempt();
}

// ---- failure

void MemorySystem::check_failure() const {
  if (!failure_.ok()) {
    throw MediumFailure(failure_);
  }
}

void MemorySystem::freeze(const Status& why) {
  if (design_ != nullptr && !frozen_) {
    design_->power_failed();
  }
  frozen_ = true;
  failure_ = why;
  medium_.fail(why);
  // Wake all waiting threads, so that they learn of the failure.
  waiters_.take_all([&](int slot) { runner_.wake(*threads_[static_cast<size_t>(slot)]); });
}

void MemorySystem::crash() {
  crash_at_ = kNever;
  if (options_.domain == Domain::process) {
    // Only the process dies, so all stores of its threads still reach memory.
    for (const auto& thread : threads_) {
      leave_all(*thread);
    }
  }
  crashed_ = true;
  current_thread->phases.crash(runner_.timed() ? runner_.now() : runner_.steps());
  freeze(Status(Code::io_error, "the simulated machine lost its power before persist event " +
                                    std::to_string(events_)));
  if (runner_.running()) {
    runner_.halt();
  }
  throw Error(failure_);
}

void MemorySystem::forget_threads() {
  for (const auto& thread : threads_) {
    thread->buffer.clear();
    runner_.buffer_changed(*thread);
    htm_.doom(thread->slot, AbortCause::other);
    htm_.end(thread->slot);
  }
  if (design_ != nullptr) {
    design_->forget_threads();
  }
  waiters_.take_all([](int) {});
}

}  // namespace holdfast::sim
