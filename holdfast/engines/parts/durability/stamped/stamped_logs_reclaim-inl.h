// SPDX-License-Identifier: Apache-2.0
// Reclaiming of log space; included by stamped_logs.h.
#pragma once

namespace holdfast {

template <class M>
void StampedLogs<M>::check_size(size_t bytes) const {
  if (bytes > area_.log_bytes) {
    M::reach(Probe{"logs.too_large"});
    throw Error(Status(Code::too_large,
                       "the transaction takes " + std::to_string(bytes) +
                           " bytes of log, and the log has " + std::to_string(area_.log_bytes) +
                           "; create the heap with a larger log_bytes, or split the transaction"));
  }
}

template <class M>
void StampedLogs<M>::make_room(int slot, size_t bytes) {
  check_size(bytes);
  const RedoLog<M>& log = redo_[static_cast<size_t>(slot)];
  auto enough = [&] {
    const uint64_t free = log.free_bytes();
    if (free < log.size() / 2) {
      lock_.request();
    }
    return machine_.skips(Site{"logs.room"}) || free >= RedoLog<M>::taken(machine_, bytes);
  };
  if (enough()) [[likely]] {
    return;
  }
  M::reach(Probe{"logs.room_wait"});
  const PhaseScope<M> waiting(Phase::space_wait);
  while (!enough()) {
    // This thread's blocks are all complete. Transactions that have announced themselves never wait
    // for this thread, so they end, and its blocks become the oldest.
    if (!lock_.lock_or_wait()) {
      M::reach(Probe{"logs.room_by_other"});
      continue;
    }
    const size_t done = lock_.finish([&] { return reclaim(kBatch); });
    if (done == 0) {
      M::reach(Probe{"logs.room_nothing"});
      machine_.pause();
    }
  }
}

/// The time up to which every transaction is complete. The clock is loaded first, with acquire, and
/// advances by read-modify-writes. So this thread sees the announcement of every transaction with a
/// time up to the loaded one.
template <class M>
uint64_t StampedLogs<M>::complete_until() const {
  if (durable_ != nullptr) {
    // Acquire: pairs with the store behind the blocks' fence.
    return durable_->load(std::memory_order_acquire);
  }
  uint64_t upto = clock_.now.load(std::memory_order_acquire);
  for (const int s : machine_.scan(area_.logs, Site{"logs.complete"})) {
    // Acquire: pairs with complete(), which stores a log's head first.
    const uint64_t since = owners_[s].since.load(std::memory_order_acquire);
    if (since != 0) {
      upto = std::min(upto, since - 1);
    }
  }
  return upto;
}

/// Reads the block at the cursor, if there is one. `trusted`: every block up to the end is whole,
/// so no checksum decides.
template <class M>
void StampedLogs<M>::look(Cursor& cursor, int slot, bool trusted) {
  cursor.time = kNone;
  const uint64_t left = cursor.end - cursor.position;
  if (left < CommitBlock::kFrameBytes) {
    return;
  }
  const uint64_t at = cursor.position % area_.log_bytes;
  logs_.template read<M>(slot, at, CommitBlock::kHeadBytes, cursor.words);
  const size_t bytes = claimed_block_bytes(cursor.words[1], left);
  if (bytes == 0) {
    return;
  }
  logs_.template read<M>(slot, at, bytes, cursor.words);
  const auto time = block_timestamp(cursor.words, seed(slot, cursor.position));
  if (time) {
    cursor.time = *time;
  } else if (trusted || machine_.skips(Site{"logs.recover.check"})) {
    cursor.time = cursor.words.back() & (kNone >> 1);
  }
}

template <class M>
void StampedLogs<M>::step(Cursor& cursor, int slot, bool trusted) {
  cursor.position += RedoLog<M>::taken(machine_, cursor.words.size() * 8);
  look(cursor, slot, trusted);
}

/// The cursor whose block has the smallest time, or null.
template <class M>
typename StampedLogs<M>::Cursor* StampedLogs<M>::oldest() {
  Cursor* first = nullptr;
  for (Cursor& cursor : cursors_) {
    if (cursor.time != kNone && (first == nullptr || cursor.time < first->time)) {
      first = &cursor;
    }
  }
  return first;
}

/// Brings the oldest complete blocks home. Returns their number. The caller holds the lock.
template <class M>
size_t StampedLogs<M>::reclaim(size_t limit) {
  const PhaseScope<M> scope(Phase::replay);
  const uint64_t upto = complete_until();
  for (int s = 0; s < area_.logs; ++s) {
    Cursor& cursor = cursors_[static_cast<size_t>(s)];
    // Relaxed: only the lock's holder stores to it. Acquire: the blocks before the head are seen.
    cursor.position = freed_[s].position.load(std::memory_order_relaxed);
    cursor.end = owners_[s].head.load(std::memory_order_acquire);
    look(cursor, s, true);
  }
  size_t done = 0;
  uint64_t transactions = 0;
  uint64_t last = 0;
  uint64_t bytes = 0;
  for (; done < limit; ++done) {
    Cursor* const next = oldest();
    if (next == nullptr || next->time > upto) {
      if (next != nullptr) {
        M::reach(Probe{"logs.incomplete"});
      }
      break;
    }
    last = next->time;
    transactions += block_transactions(next->words);
    bytes += apply(next->words, !in_place(), false);
    step(*next, static_cast<int>(next - cursors_.data()), true);
  }
  if (done == 0) {
    return 0;
  }
  if (done == limit) {
    M::reach(Probe{"logs.full_batch"});
  }
  write_back_lines(Site{"logs.home"});
  // Separates the home from the tails: the home is durable before the tails cover it.
  machine_.pfence(Site{"logs.home.fence"});
  persist_tails(last, Site{"logs.tail"}, Site{"logs.tail.fence"});
  for (int s = 0; s < area_.logs; ++s) {
    // Release: the owner may overwrite the space after this thread's loads from it.
    freed_[s].position.store(cursors_[static_cast<size_t>(s)].position, std::memory_order_release);
  }
  auto& counts = statistics_.at(machine_.self());
  counts.replayed += transactions;
  counts.bytes_written += bytes;
  return done;
}

/// Collects the home lines of a block. If `store`, also stores its values there. Returns the bytes
/// stored to the home.
template <class M>
uint64_t StampedLogs<M>::apply(const std::vector<uint64_t>& words, bool store,
                               bool to_working_copy) {
  const uint64_t line = machine_.line_bytes();
  uint64_t bytes = 0;
  for_each_block_record(words, [&](RedoRecord record, const uint64_t* payload) {
    if (store) {
      M::copy(regions_.home + record.offset, payload, record.bytes);
      bytes += record.bytes;
    }
    if (to_working_copy) {
      M::copy(regions_.data + record.offset, payload, record.bytes);
    }
    for (uint64_t i = record.offset / line; i <= (record.offset + record.bytes - 1) / line; ++i) {
      lines_.push_back(i);
    }
  });
  return bytes;
}

/// Writes back each collected line once, even if several blocks touch it.
template <class M>
void StampedLogs<M>::write_back_lines(Site site) {
  std::sort(lines_.begin(), lines_.end());
  lines_.erase(std::unique(lines_.begin(), lines_.end()), lines_.end());
  for (const uint64_t line : lines_) {
    machine_.pwb(regions_.home + line * machine_.line_bytes(), site);
  }
  lines_.clear();
}

/// Stores the tails of the logs whose cursor has moved, durably.
template <class M>
void StampedLogs<M>::persist_tails(uint64_t upto, Site site, Site fence) {
  bool any = false;
  for (int s = 0; s < area_.logs; ++s) {
    const Cursor& cursor = cursors_[static_cast<size_t>(s)];
    // Relaxed: only the lock's holder stores to it.
    if (cursor.position != freed_[s].position.load(std::memory_order_relaxed)) {
      // Release, both: `upto` before `start`, an order that a line keeps on the medium
      // (stamped_logs.h).
      M::store_release(&tail(s)[0], encode_tail(machine_.skips(Site{"logs.upto"}) ? 0 : upto));
      M::store_release(&tail(s)[1], encode_tail(cursor.position / kLineBytes));
      machine_.pwb(tail(s), site);
      any = true;
    }
  }
  if (any) {
    // Separates the tails from the reuse of the space before them.
    machine_.pfence(fence);
  }
}

template <class M>
bool StampedLogs<M>::reclaim_all() {
  lock_.lock();
  while (reclaim(kBatch) > 0) {
  }
  lock_.unlock();
  return oldest() == nullptr;
}

}  // namespace holdfast
