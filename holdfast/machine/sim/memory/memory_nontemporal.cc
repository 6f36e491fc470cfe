// SPDX-License-Identifier: Apache-2.0
//
// The part of MemorySystem for non-temporal stores. It models their cost, and which of them a power
// failure may lose. It does not model their weak order: they become visible in the order of the
// store buffer, like all stores.
#include <algorithm>
#include <cstring>

#include "holdfast/machine/sim/memory/memory_system.h"

namespace holdfast::sim {

/// True if a non-temporal store to this address bypasses the caches. Otherwise it is a store and a
/// write-back: outside domain pmem; with a hardware design, which must see every store to a line;
/// and on a machine that only emulates the medium's latency.
bool MemorySystem::goes_around_caches(uintptr_t address) const {
  uint64_t offset;
  return options_.domain == Domain::pmem && design_ == nullptr &&
         (timed_ == nullptr || timed_->stores_around_caches()) &&
         in_arena(reinterpret_cast<const void*>(address)) && medium_.find(address, offset);
}

void MemorySystem::store_nontemporal(void* to, const void* from, size_t n, Site site) {
  SimThread& thread = *current_thread;
  if (thread.tx->active()) {
    throw Error(Status(Code::misuse,
                       "a non-temporal store inside a hardware transaction; suspend it, or store "
                       "and write back after the commit"));
  }
  const auto target = reinterpret_cast<uintptr_t>(to);
  const bool around = goes_around_caches(target);
  if (!around) {
    copy(to, from, n);
  }
  for (size_t done = 0; around && done < n; done += kWordBytes) {
    const std::byte* source = static_cast<const std::byte*>(from) + done;
    uint64_t bits = 0;
    if (in_arena(source)) {
      bits = load(reinterpret_cast<uintptr_t>(source), kWordBytes);
    } else {
      std::memcpy(&bits, source, kWordBytes);
    }
    ++thread.stats.stores;
    runner_.point_unless(thread, Op::store, target + done, [&] { return !thread.buffer.full(); });
    if (!thread.tx->unwinding) {
      enqueue(thread, {target + done, bits, ~uint64_t{0}}, EntryKind::nontemporal);
    }
  }
  const uintptr_t first = target & ~uintptr_t{options_.line_bytes - 1};
  for (uintptr_t line = first; n != 0 && line < target + n; line += options_.line_bytes) {
    ++thread.counters.nontemporal;
    if (!around) {
      request_write_back(thread, line);
    }
    if (lint_ != nullptr) [[unlikely]] {
      lint_->write_back(thread, line, site);
    }
  }
}

/// The word leaves the store buffer. It counts as written back: the thread's next fence makes it
/// certain to survive.
void MemorySystem::publish_around_caches(SimThread& thread, const MaskedWord& word) {
  const uint32_t line = line_of(word.address);
  if (timed_ != nullptr) {
    timed_->leaves_around_caches(thread, line, runner_.now());
  } else {
    htm_.plain_store(thread.slot, line);
  }
  write_word(word);
  uint64_t offset;
  if (!frozen_ && medium_.find(word.address, offset)) {
    persistence_.stored_around_caches({offset, word.value, word.mask}, thread.slot,
                                      thread.write_backs);
    thread.counters.bytes += kWordBytes;
  } else {
    medium_.stored_beside(word.address);
  }
  announce(thread, line);
  if (timed_ != nullptr) {
    timed_->left_around_caches(thread, word.address, runner_.now());
  }
}

}  // namespace holdfast::sim
