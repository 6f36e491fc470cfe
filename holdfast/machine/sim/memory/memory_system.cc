// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/memory_system.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace holdfast::sim {

MemorySystem::MemorySystem(const SimOptions& options, const Arena& arena, SimMedium& medium,
                           Persistence& persistence, ThreadRunner::Threads& threads,
                           ThreadRunner& runner, HardwareDesign* design,
                           const HardwareDesign* witness)
    : options_(options),
      medium_(medium),
      persistence_(persistence),
      threads_(threads),
      runner_(runner),
      htm_(threads.size(),
           {options.htm_load_lines, options.htm_store_lines, options.htm_lines_together}, *this),
      line_shift_(std::countr_zero(options.line_bytes)) {
  for (const auto& thread : threads) {
    thread->tx = &htm_.transaction(thread->slot);
  }
  if (options.schedule == Schedule::timed) {
    timing_ = std::make_unique<TimedMemory>(
        *options.machine, arena, medium, persistence, htm_, threads, options.huge_pages,
        design == nullptr ? 0 : DesignHost::cached_own_lines(*design, options.line_bytes));
  }
  if (design != nullptr) {
    design_ = std::make_unique<DesignHost>(*design, *witness, options, *timing_, medium,
                                           persistence, threads, static_cast<DesignPower&>(*this));
    timing_->attach(*design_);
    end_run();
    medium.before_unmap([this] {
      no_events_ = true;
      try {
        current_thread->clock = design_->settle(current_thread->clock, true);
      } catch (const Error&) {
        // The machine has ended, and tells that from now on. Destructors unmap.
      }
      no_events_ = false;
    });
  }
}

void MemorySystem::start_run(int workers) {
  timed_ = timing_.get();
  if (timed_ != nullptr) {
    timed_->start_run(workers);
    runner_.set_lookahead(timed_->caches().lookahead());
  }
}

void MemorySystem::pause() {
  SimThread& thread = *current_thread;
  if (timed_ == nullptr) {
    runner_.point(thread, Op::pause, 0);
  } else {
    runner_.point_alone(thread, Op::pause);
    timed_->pause(thread);
  }
}

void MemorySystem::sleep_until(Time time) {
  SimThread& thread = *current_thread;
  runner_.point_alone(thread, Op::pause);
  runner_.wait_until(thread, time);
}

void MemorySystem::work(uint64_t cycles) {
  SimThread& thread = *current_thread;
  if (timed_ == nullptr) {
    runner_.point(thread, Op::work, 0);
  } else {
    runner_.point_alone(thread, Op::work);
    timed_->work(thread, cycles);
  }
}

uintptr_t MemorySystem::checked(const void* p) {
  if (!in_arena(p)) {
    throw Error(Status(Code::misuse,
                       "an Atomic of the simulated machine lives outside its memory; place it "
                       "in memory from allocate()"));
  }
  return reinterpret_cast<uintptr_t>(p);
}

// ---- loads and stores

/// Loads the word that these bytes lie in, on a timed machine.
[[gnu::always_inline]] inline uint64_t MemorySystem::load_timed(SimThread& thread,
                                                                uintptr_t address, size_t size) {
  TimedMemory& timed = *timed_;
  const Transaction& tx = *thread.tx;
  const uint32_t line = line_of(address);
  const size_t offset = address % kWordBytes;
  const uintptr_t word = address - offset;
  ++thread.stats.loads;
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  timed.issue(thread, address);
  if (runner_.far_ahead(thread)) {
    timed.expect(thread, line);
  }
  bool settled = false;
  uint32_t meta = 0;
  runner_.point_unless(thread, Op::load, address,
                       [&] { return settled = timed.settled(thread, line, meta); });
  if (tx.active()) {
    throw_if_doomed(thread);
  }
  const bool own_write =
      settled ? timed.load_settled(thread, line, meta) : timed.load(thread, line);
  if (tx.doomed() && tx.active()) [[unlikely]] {
    learn_of_doom(thread);
  }
  note_load(thread, line);
  throw_if_design_doomed(thread);
  uint64_t value = read_word(word);
  value = thread.buffer.forward(word, own_write ? tx.words.over(word, value) : value);
  if (timed.waits_for_line(thread) && thread.buffer.covers(word, byte_mask(offset, size))) {
    timed.forwarded(thread);
  }
  timed.loaded(thread, value);
  return value;
}

uint64_t MemorySystem::load(uintptr_t address, size_t size) {
  SimThread& thread = *current_thread;
  const size_t start = address % kWordBytes;
  if (loads_alone(thread) && start + size <= kWordBytes) {
    // Most loads of a crash search are those of recovery and of the checks after it.
    ++thread.stats.loads;
    runner_.point(thread, Op::load, address);
    return read_word(address - start) >> (8 * start) & byte_mask(0, size);
  }
  return load_in_run(thread, address, size);
}

uint64_t MemorySystem::load_in_run(SimThread& thread, uintptr_t address, size_t size) {
  const size_t start = address % kWordBytes;
  if (start + size > kWordBytes) [[unlikely]] {
    return load_pieces(address, size);
  }
  uint64_t word;
  if (timed_ != nullptr) {
    word = load_timed(thread, address, size);
  } else {
    ++thread.stats.loads;
    runner_.point(thread, Op::load, address);
    if (!thread.tx->open) [[likely]] {
      // Nearly all loads of a functional machine: no time and no transaction. It is visible()
      // without the steps that these need.
      htm_.plain_load(thread.slot, line_of(address));
      word = thread.buffer.forward(address - start, read_word(address - start));
    } else {
      word = visible(thread, address - start);
    }
  }
  return word >> (8 * start) & byte_mask(0, size);
}

/// Loads bytes of two or more words.
uint64_t MemorySystem::load_pieces(uintptr_t address, size_t size) {
  uint64_t bits = 0;
  size_t done = 0;
  for_each_piece(address, size, [&](uintptr_t at, size_t piece) {
    bits |= load(at, piece) << (8 * done);
    done += piece;
  });
  return bits;
}

/// The word as the thread sees it now.
uint64_t MemorySystem::visible(SimThread& thread, uintptr_t word) {
  const Transaction& tx = *thread.tx;
  const bool active = tx.active();
  if (active) {
    throw_if_doomed(thread);
  }
  const bool own_write = touch(thread, line_of(word));
  if (active) {
    throw_if_doomed(thread);
  }
  note_load(thread, line_of(word));
  const uint64_t value = read_word(word);
  return thread.buffer.forward(word, own_write ? tx.words.over(word, value) : value);
}

/// The thread loads the line. Returns true if its open transaction has written the line.
bool MemorySystem::touch(SimThread& thread, uint32_t line) {
  if (timed_ != nullptr) {
    return timed_->load(thread, line);
  }
  const Transaction& tx = *thread.tx;
  if (tx.unwinding) {
    return false;
  }
  if (tx.active()) {
    htm_.transactional_load(thread.slot, line);
  } else {
    htm_.plain_load(thread.slot, line);
  }
  return tx.open && htm_.owns(thread.slot, line);
}

/// leave_oldest() and publish() for a store of which stores_alone() is true.
void MemorySystem::store_alone(SimThread& thread, const MaskedWord& word) {
  uint64_t offset;
  const bool persistent = medium_.find(word.address, offset);
  if (persistent) {
    persist_event();
  }
  write_word(word);
  if (persistent && !frozen_) {
    persistence_.stored({offset, word.value, word.mask});
    thread.counters.bytes += static_cast<uint64_t>(std::popcount(word.mask)) / 8;
  } else if (!persistent) {
    medium_.stored_beside(word.address);
  }
  announce(thread, line_of(word.address));
}

void MemorySystem::store(uintptr_t address, size_t size, uint64_t bits) {
  SimThread& thread = *current_thread;
  for_each_piece(address, size, [&](uintptr_t at, size_t piece) {
    ++thread.stats.stores;
    runner_.point_unless(thread, Op::store, at,
                         [&] { return timed_->enters_quietly(thread, line_of(at)); });
    const size_t offset = at % kWordBytes;
    const uint64_t mask = byte_mask(offset, piece);
    const MaskedWord word{at - offset, bits << (8 * offset) & mask, mask};
    const Transaction& tx = *thread.tx;
    if (stores_alone(thread)) {
      store_alone(thread, word);
    } else if (!tx.unwinding) {
      enqueue(thread, word, tx.active() ? EntryKind::transactional : EntryKind::store);
    }
    bits = piece < kWordBytes ? bits >> (8 * piece) : 0;
  });
}

void MemorySystem::copy(void* to, const void* from, size_t n) {
  const auto target = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  // Outside run_threads memory is up to date and there are no other threads. Only stores to the
  // medium must take the usual path.
  const bool quiet = !runner_.running() && !current_thread->tx->open;
  uint64_t unused;
  const bool persistent = in_arena(to) && medium_.find(target, unused);
  if (quiet && !persistent) {
    if (in_arena(to) && n != 0) {
      medium_.stored_beside(target);
      medium_.stored_beside(target + n - 1);
    }
    std::memcpy(to, from, n);
    return;
  }
  for_each_piece(target, n, [&](uintptr_t at, size_t piece) {
    const uintptr_t origin = source + (at - target);
    uint64_t bits = 0;
    if (in_arena(reinterpret_cast<const void*>(origin)) && !quiet) {
      bits = load(origin, piece);
    } else {
      std::memcpy(&bits, reinterpret_cast<const void*>(origin), piece);
    }
    if (in_arena(reinterpret_cast<const void*>(at))) {
      store(at, piece, bits);
    } else {
      std::memcpy(reinterpret_cast<void*>(at), &bits, piece);
    }
  });
}

uint64_t MemorySystem::read_modify_write(uintptr_t address, size_t size,
                                         FunctionRef<bool(uint64_t, uint64_t&)> change) {
  SimThread& thread = *current_thread;
  const Transaction& tx = *thread.tx;
  runner_.point(thread, Op::rmw, address);
  throw_if_design_doomed(thread);
  if (tx.active()) {
    throw_if_doomed(thread);
  }
  if (!tx.unwinding) {
    drain(thread);
  }
  ++thread.stats.atomics;
  const size_t offset = address % kWordBytes;
  const uintptr_t word = address - offset;
  if (timed_ != nullptr) {
    timed_->atomic(thread, line_of(word));
  }
  const uint64_t old = visible(thread, word) >> (8 * offset) & byte_mask(0, size);
  uint64_t fresh = old;
  const bool changed = change(old, fresh);
  if (tx.unwinding) {
    return old;
  }
  if (changed) {
    const uint64_t mask = byte_mask(offset, size);
    const EntryKind kind = tx.active() ? EntryKind::transactional : EntryKind::store;
    enqueue(thread, {word, fresh << (8 * offset) & mask, mask}, kind);
    leave_all(thread);  // at once: no other thread may act between the load and the store
  }
  if (options_.rmw_orders_pwb) {
    complete_write_backs(thread);
  }
  return old;
}

// ---- the store buffer

void MemorySystem::enqueue(SimThread& thread, const MaskedWord& word, EntryKind kind) {
  if (lint_ != nullptr && (kind == EntryKind::store || kind == EntryKind::nontemporal))
      [[unlikely]] {
    lint_->stored(thread, word.address);
  }
  make_room(thread);
  throw_if_design_doomed(thread);
  uint64_t leave = 0;
  if (timed_ != nullptr) {
    leave =
        is_store(kind) ? timed_->enter(thread, line_of(word.address))
        : kind == EntryKind::nontemporal
            ? timed_->enter_nontemporal(thread, line_of(word.address))
            : timed_->enter_write_back(thread, kind == EntryKind::write_back ? line_of(word.address)
                                                                             : CacheArray::kNoLine);
    throw_if_design_doomed(thread);  // the store's line may have evicted one of its transaction
  }
  if (kind == EntryKind::transactional) {
    throw_if_doomed(thread);
  }
  const bool was_empty = thread.buffer.empty();
  thread.buffer.push({word, kind, leave});
  if (was_empty && runner_.running()) {
    runner_.buffer_changed(thread);
  }
  if (!runner_.running() || options_.store_buffer == 0) {
    leave_all(thread);
  }
}

void MemorySystem::make_room(SimThread& thread) {
  const uint64_t start = thread.clock;
  while (thread.buffer.full()) {
    if (timed_ != nullptr) {
      runner_.wait_until(thread, thread.buffer.front().leave);
    } else {
      leave_oldest(thread.slot, true);
    }
  }
  thread.stats.stall_buffer += thread.clock - start;
}

/// Empties the current thread's buffer. In a timed run the thread waits until all entries may
/// leave.
void MemorySystem::drain(SimThread& thread) {
  const uint64_t start = thread.clock;
  while (timed_ != nullptr && !thread.buffer.empty()) {
    runner_.wait_until(thread, std::max(thread.buffer.front().leave, thread.buffer.back().leave));
  }
  thread.stats.stall_fence += thread.clock - start;
  leave_all(thread);
}

void MemorySystem::leave_all(SimThread& thread) {
  while (!thread.buffer.empty()) {
    leave_oldest(thread.slot, true);
  }
}

void MemorySystem::leave_oldest(int slot, bool now_or_never) {
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  if (timed_ != nullptr && is_store(thread.buffer.front().kind)) {
    const bool transactional = thread.buffer.front().kind == EntryKind::transactional;
    const bool ready = timed_->acquire(thread, thread.buffer.front(), runner_.now(), now_or_never);
    if ((transactional && thread.tx->doomed()) || thread.buffer.empty()) {
      return;  // the entry was dropped with the rest of its transaction
    }
    if (!ready) {
      runner_.buffer_changed(thread);
      return;
    }
  }
  if (design_ != nullptr && !design_admits(thread, now_or_never)) {
    return;
  }
  const Entry entry = thread.buffer.front();
  uint64_t offset = 0;
  // The persist event comes first, so that a crash just before it finds the entry in the buffer.
  if (entry.kind != EntryKind::transactional && medium_.find(entry.word.address, offset)) {
    persist_event();
  }
  thread.buffer.pop();
  if (timed_ != nullptr && !thread.buffer.empty()) {
    // The present entry may have left late, because it waited for its line again.
    Entry& next = thread.buffer.front();
    next.leave = std::max(next.leave, runner_.now());
  }
  runner_.buffer_changed(thread);
  switch (entry.kind) {
    case EntryKind::write_back:
      if (!frozen_) {
        persistence_.wrote_back(offset, thread.write_backs);
      }
      if (timed_ != nullptr) {
        timed_->write_back(thread, line_of(entry.word.address), runner_.now());
      }
      break;
    case EntryKind::transactional:
      if (timed_ != nullptr) {
        timed_->left(thread, entry.kind, line_of(entry.word.address));
      } else {
        htm_.transactional_store(slot, line_of(entry.word.address));
      }
      if (!thread.tx->doomed()) {
        thread.tx->words.put(entry.word);
      }
      break;
    case EntryKind::store:
      publish(thread, entry.word);
      break;
    case EntryKind::nontemporal:
      publish_around_caches(thread, entry.word);
      break;
    case EntryKind::tx_begin:
    case EntryKind::tx_commit:
      break;  // the design has learned of it in design_admits()
  }
}

void MemorySystem::publish(SimThread& thread, const MaskedWord& word) {
  if (timed_ != nullptr) {
    timed_->left(thread, EntryKind::store, line_of(word.address));
  } else {
    htm_.plain_store(thread.slot, line_of(word.address));
  }
  write(thread, word, false);
  announce(thread, line_of(word.address));
}

void MemorySystem::write(SimThread& thread, const MaskedWord& word, bool same_instant) {
  write_word(word);
  uint64_t offset;
  if (!frozen_ && medium_.find(word.address, offset)) {
    if (design_ == nullptr) {
      persistence_.stored({offset, word.value, word.mask}, same_instant);
    }
    thread.counters.bytes += static_cast<uint64_t>(std::popcount(word.mask)) / 8;
  } else {
    medium_.stored_beside(word.address);
  }
}

void MemorySystem::announce(SimThread& thread, uint32_t line) {
  if (waiters_.maybe(line)) {
    waiters_.take(line, [&](int slot) { runner_.wake(*threads_[static_cast<size_t>(slot)]); });
  }
  runner_.written(thread.slot);
}

bool MemorySystem::wait(uintptr_t address) {
  SimThread& thread = *current_thread;
  check_failure();
  if (thread.tx->doomed() || thread.tx->unwinding || thread.doomed != AbortCause::none) {
    return false;
  }
  waiters_.add(thread.slot, line_of(address));
  thread.trace.note(Op::wait, address, runner_.steps());
  const uint64_t start = thread.clock;
  runner_.block(thread, SimThread::State::waiting);
  thread.stats.blocked += thread.clock - start;
  check_failure();
  return true;
}

}  // namespace holdfast::sim
