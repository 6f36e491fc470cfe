// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for durability: write-backs, fences, persist events.
#include <string>

#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast::sim {

void MemorySystem::pwb(uintptr_t address) {
  SimThread& thread = *current_thread;
  ++thread.counters.pwb;
  request_write_back(thread, address);
}

void MemorySystem::request_write_back(SimThread& thread, uintptr_t address) {
  runner_.point(thread, Op::pwb, address);
  if (options_.domain == Domain::pmem && thread.tx->active()) [[unlikely]] {
    htm_.doom(thread.slot, AbortCause::other);
    learn_of_doom(thread);
  }
  uint64_t offset;
  if ((options_.domain == Domain::pmem || options_.journal) && !thread.tx->unwinding && !frozen_ &&
      in_arena(reinterpret_cast<const void*>(address)) && medium_.find(address, offset)) {
    if (stores_alone(thread)) {
      persist_event();
      persistence_.wrote_back(offset, thread.write_backs);
      return;
    }
    if (timed_ != nullptr) {
      timed_->pwb(thread);
    }
    enqueue(thread, {address & ~uintptr_t{options_.line_bytes - 1}, 0, 0}, EntryKind::write_back);
    if (timed_ != nullptr && timed_->pwb_waits()) {
      drain(thread);
      timed_->fence(thread, true);
    }
  }
}

void MemorySystem::pfence() {
  SimThread& thread = *current_thread;
  ++thread.counters.pfence;
  runner_.point(thread, Op::pfence, 0);
  options_.journal ? append(thread) : sync(thread, options_.domain == Domain::file);
}

void MemorySystem::psync() {
  SimThread& thread = *current_thread;
  ++thread.counters.psync;
  runner_.point(thread, Op::psync, 0);
  if (options_.journal) {
    append(thread);
    await_durable(persistence_.position());
  } else {
    sync(thread, true);
  }
}

void MemorySystem::begin_psync() {
  SimThread& thread = *current_thread;
  ++thread.counters.psync;
  runner_.point(thread, Op::psync, 0);
  append(thread);
}

/// A fence over the journal. It copies all its lines at one instant. In between, other threads
/// could store, and domain pmem has images with each part of such stores.
void MemorySystem::append(SimThread& thread) {
  check_failure();
  drain(thread);
  if (timed_ != nullptr) {
    timed_->fence(thread, true);
  }
  if (!thread.write_backs.empty()) {
    persist_event();
    persistence_.appended(thread.write_backs);
  }
}

void MemorySystem::await_durable(uint64_t position) {
  SimThread& thread = *current_thread;
  runner_.point(thread, Op::psync, 0);
  if (persistence_.certain_position() >= position) {
    return;
  }
  check_failure();
  begin_sync();
  if (timed_ != nullptr) {
    timed_->persist_fence(thread);
  }
  persist_event();
  persistence_.synced();
}

/// Counts a sync of the medium, which may be the one that fails.
void MemorySystem::begin_sync() {
  if (++syncs_ == options_.fail_sync_at) {
    freeze(Status(Code::io_error, "injected failure of sync " + std::to_string(syncs_) +
                                      " of the simulated medium"));
    check_failure();
  }
}

void MemorySystem::sync(SimThread& thread, bool may_fail) {
  check_failure();
  drain(thread);
  if (may_fail) {
    begin_sync();
  }
  if (timed_ != nullptr) {
    timed_->fence(thread, true);
    timed_->persist_fence(thread);
  }
  if (design_ != nullptr) {
    design_->pump(thread.clock);  // the writes that the thread has waited for are accepted
  }
  if (options_.domain != Domain::file) {
    complete_write_backs(thread);
  } else if (persistence_.dirty_lines() != 0) {
    persist_event();
    persistence_.synced();
  }
}

void MemorySystem::fence() {
  SimThread& thread = *current_thread;
  ++thread.counters.fence;
  runner_.point(thread, Op::fence, 0);
  store_load_fence();
}

void MemorySystem::light_fence() {
  if (timed_ != nullptr) {
    fence();
  }
}

void MemorySystem::heavy_fence() {
  fence();
  for (size_t i = 0; timed_ == nullptr && i < threads_.size(); ++i) {
    leave_all(*threads_[i]);
  }
}

void MemorySystem::store_load_fence() {
  SimThread& thread = *current_thread;
  if (!thread.tx->unwinding) {
    drain(thread);
    if (timed_ != nullptr) {
      timed_->fence(thread, options_.rmw_orders_pwb);
    }
    if (options_.rmw_orders_pwb) {
      complete_write_backs(thread);
    }
  }
}

void MemorySystem::complete_write_backs(SimThread& thread) {
  if (options_.journal) {
    return;  // only fences append to the journal
  }
  if (lint_ != nullptr) [[unlikely]] {
    lint_->completed(thread);
  }
  if (!thread.write_backs.empty() && !frozen_) {
    persist_event();
    persistence_.fenced(thread.slot, thread.write_backs);
  }
}

void MemorySystem::persist_event() {
  if (design_ != nullptr && !frozen_) {
    design_->pump(runner_.now());  // what is due by now has happened before
  }
  const bool counts = runner_.running() || options_.count_main_events || starting_;
  if (frozen_ || no_events_ || !counts) {
    return;
  }
  if (look_) {
    look_(events_);
  }
  if (events_ == crash_at_) {
    crash();
  }
  ++events_;
  if (design_ != nullptr) {
    design_->persist_event_passed();
  }
}

}  // namespace holdfast::sim
