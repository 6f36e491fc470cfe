// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory_system.h"

#include <bit>
#include <cstring>

namespace holdfast::sim {

MemorySystem::MemorySystem(const SimOptions& options, const Arena& arena, SimMedium& medium,
                           Persistence& persistence, Runner::Threads& threads, Runner& runner)
    : options_(options),
      medium_(medium),
      persistence_(persistence),
      threads_(threads),
      runner_(runner),
      htm_(arena.bytes() / options.line_bytes, threads.size(), options.htm_load_lines,
           options.htm_store_lines, *this),
      line_shift_(std::countr_zero(options.line_bytes)) {
  for (const auto& thread : threads) {
    thread->tx = &htm_.transaction(thread->slot);
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

uint64_t MemorySystem::load(uintptr_t address, size_t size) {
  SimThread& thread = *current_thread;
  uint64_t bits = 0;
  size_t done = 0;
  for_each_piece(address, size, [&](uintptr_t at, size_t piece) {
    runner_.point(thread, Op::load, at);
    const size_t offset = at % kWordBytes;
    const uint64_t word = visible(thread, at - offset);
    bits |= (word >> (8 * offset) & byte_mask(0, piece)) << (8 * done);
    done += piece;
  });
  return bits;
}

/// A word as this thread sees it now.
uint64_t MemorySystem::visible(SimThread& thread, uintptr_t word) {
  Transaction& tx = *thread.tx;
  if (!tx.unwinding) {
    const uint32_t line = line_of(word);
    if (tx.active()) {
      throw_if_doomed(thread);
      htm_.transactional_load(thread.slot, line);
      throw_if_doomed(thread);
    } else {
      htm_.plain_load(thread.slot, line);
    }
    if (tx.open && htm_.owns(thread.slot, line)) {
      return thread.buffer.forward(word, tx.words.over(word, read_word(word)));
    }
  }
  return thread.buffer.forward(word, read_word(word));
}

void MemorySystem::store(uintptr_t address, size_t size, uint64_t bits) {
  SimThread& thread = *current_thread;
  for_each_piece(address, size, [&](uintptr_t at, size_t piece) {
    runner_.point(thread, Op::store, at);
    const size_t offset = at % kWordBytes;
    const uint64_t mask = byte_mask(offset, piece);
    const Transaction& tx = *thread.tx;
    if (!tx.unwinding) {
      const EntryKind kind = tx.active() ? EntryKind::transactional : EntryKind::store;
      enqueue(thread, {{at - offset, bits << (8 * offset) & mask, mask}, kind});
    }
    bits = piece < kWordBytes ? bits >> (8 * piece) : 0;
  });
}

void MemorySystem::copy(void* to, const void* from, size_t n) {
  const auto target = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  // Outside run_threads memory is up to date and nobody looks on: only the medium must hear of it.
  const bool alone = !runner_.running() && !current_thread->tx->open;
  uint64_t unused;
  const bool persistent = in_arena(to) && medium_.find(target, unused);
  if (alone && !persistent) {
    std::memcpy(to, from, n);
    return;
  }
  for_each_piece(target, n, [&](uintptr_t at, size_t piece) {
    const uintptr_t origin = source + (at - target);
    uint64_t bits = 0;
    if (in_arena(reinterpret_cast<const void*>(origin)) && !alone) {
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
  Transaction& tx = *thread.tx;
  runner_.point(thread, Op::rmw, address);
  if (tx.active()) {
    throw_if_doomed(thread);
  }
  if (!tx.unwinding) {
    drain(thread);
  }
  const size_t offset = address % kWordBytes;
  const uintptr_t word = address - offset;
  const uint64_t old = visible(thread, word) >> (8 * offset) & byte_mask(0, size);
  uint64_t fresh = old;
  const bool changed = change(old, fresh);
  if (tx.unwinding) {
    return old;
  }
  if (changed) {
    const uint64_t mask = byte_mask(offset, size);
    const EntryKind kind = tx.active() ? EntryKind::transactional : EntryKind::store;
    enqueue(thread, {{word, fresh << (8 * offset) & mask, mask}, kind});
    drain(thread);
  }
  if (options_.rmw_orders_pwb) {
    complete_write_backs(thread);
  }
  return old;
}

// ---- the store buffer

void MemorySystem::enqueue(SimThread& thread, const Entry& entry) {
  while (thread.buffer.full()) {
    leave_oldest(thread.slot);
  }
  if (entry.kind == EntryKind::transactional) {
    throw_if_doomed(thread);
  }
  thread.buffer.push(entry);
  runner_.buffer_changed(thread);
  if (!runner_.running() || options_.store_buffer == 0) {
    drain(thread);
  }
}

void MemorySystem::drain(SimThread& thread) {
  while (!thread.buffer.empty()) {
    leave_oldest(thread.slot);
  }
}

void MemorySystem::leave_oldest(int slot) {
  SimThread& thread = *threads_[static_cast<size_t>(slot)];
  const Entry entry = thread.buffer.front();
  uint64_t offset = 0;
  // The event comes first: a crash just before it finds the entry still in the buffer.
  if (entry.kind != EntryKind::transactional && medium_.find(entry.word.address, offset)) {
    persist_event();
  }
  thread.buffer.pop();
  runner_.buffer_changed(thread);
  switch (entry.kind) {
    case EntryKind::write_back:
      if (!frozen_) {
        persistence_.wrote_back(offset, thread.write_backs);
      }
      break;
    case EntryKind::transactional:
      htm_.transactional_store(slot, line_of(entry.word.address));
      if (!thread.tx->doomed()) {
        thread.tx->words.put(entry.word);
      }
      break;
    case EntryKind::store:
      publish(thread, entry.word);
      break;
  }
}

void MemorySystem::publish(SimThread& thread, const MaskedWord& word) {
  htm_.plain_store(thread.slot, line_of(word.address));
  write(thread, word, false);
  announce(thread, line_of(word.address));
}

void MemorySystem::write(SimThread& thread, const MaskedWord& word, bool same_instant) {
  write_word(word);
  uint64_t offset;
  if (!frozen_ && medium_.find(word.address, offset)) {
    persistence_.stored({offset, word.value, word.mask}, same_instant);
    thread.counters.bytes += static_cast<uint64_t>(std::popcount(word.mask)) / 8;
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
  if (thread.tx->doomed() || thread.tx->unwinding) {
    return false;
  }
  waiters_.add(thread.slot, line_of(address));
  thread.trace.note(Op::wait, address, runner_.steps());
  runner_.block(thread, SimThread::State::waiting);
  check_failure();
  return true;
}

// ---- persistence

void MemorySystem::pwb(uintptr_t address) {
  SimThread& thread = *current_thread;
  ++thread.counters.pwb;
  runner_.point(thread, Op::pwb, address);
  uint64_t offset;
  if (options_.domain == Domain::pmem && !thread.tx->unwinding && !frozen_ &&
      in_arena(reinterpret_cast<const void*>(address)) && medium_.find(address, offset)) {
    enqueue(thread, {{address & ~uintptr_t{options_.line_bytes - 1}, 0, 0}, EntryKind::write_back});
  }
}

void MemorySystem::pfence() {
  SimThread& thread = *current_thread;
  ++thread.counters.pfence;
  runner_.point(thread, Op::pfence, 0);
  sync(thread, options_.domain == Domain::file);
}

void MemorySystem::psync() {
  SimThread& thread = *current_thread;
  ++thread.counters.psync;
  runner_.point(thread, Op::psync, 0);
  sync(thread, true);
}

void MemorySystem::sync(SimThread& thread, bool may_fail) {
  check_failure();
  drain(thread);
  if (may_fail && ++syncs_ == options_.fail_sync_at) {
    freeze(Status(Code::io_error, "injected failure of sync " + std::to_string(syncs_) +
                                      " of the simulated medium"));
    check_failure();
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

void MemorySystem::heavy_fence() {
  fence();
  for (const auto& thread : threads_) {
    drain(*thread);
  }
}

void MemorySystem::store_load_fence() {
  SimThread& thread = *current_thread;
  if (!thread.tx->unwinding) {
    drain(thread);
    if (options_.rmw_orders_pwb) {
      complete_write_backs(thread);
    }
  }
}

void MemorySystem::complete_write_backs(SimThread& thread) {
  if (!thread.write_backs.empty() && !frozen_) {
    persist_event();
    persistence_.fenced(thread.write_backs);
  }
}

void MemorySystem::persist_event() {
  if (frozen_ || (!runner_.running() && !options_.count_main_events)) {
    return;
  }
  if (events_ == crash_at_) {
    crash();
  }
  ++events_;
}

}  // namespace holdfast::sim
