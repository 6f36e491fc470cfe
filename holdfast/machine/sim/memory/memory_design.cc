// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for transactions of a hardware design.
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
  design.issue_begin(thread);
  timed_->operation(thread);
  enqueue(thread, kNoWord, EntryKind::tx_begin);
}

void MemorySystem::tx_commit() {
  SimThread& thread = *current_thread;
  DesignHost& design = needed_design();
  runner_.point(thread, Op::commit, 0);
  check_failure();
  design.issue_end(thread);
  timed_->operation(thread);
  enqueue(thread, kNoWord, EntryKind::tx_commit);
  if (design.commit_waits()) {
    drain(thread);
  }
}

void MemorySystem::tx_abort() {
  SimThread& thread = *current_thread;
  DesignHost& design = needed_design();
  runner_.point(thread, Op::commit, 0);
  design.issue_end(thread);
  drain(thread);
  runner_.wait_until(thread, design.abort(thread, thread.clock));
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
