// SPDX-License-Identifier: Apache-2.0
// Format and recovery of StampedLogs; included by stamped_logs.h.
#pragma once

namespace holdfast {

template <class M>
Status StampedLogs<M>::format() {
  uint64_t words[StampedLogsArea::kHeaderWords];
  area_.header(magic_, words);
  M::copy(regions_.area, words, sizeof(words));
  machine_.pwb(regions_.area, Site{"logs.format"});
  for (int s = 0; s < area_.logs; ++s) {
    M::store(&tail(s)[0], encode_tail(0));
    M::store(&tail(s)[1], encode_tail(0));
    machine_.pwb(tail(s), Site{"logs.format"});
  }
  // The initial state is durable before the first transaction.
  machine_.psync(Site{"logs.format.sync"});
  return {};
}

/// True if a block's records lie in the heap's data.
template <class M>
bool StampedLogs<M>::inside(const std::vector<uint64_t>& words) const {
  bool all = true;
  const bool whole = for_each_block_record(words, [&](RedoRecord record, const uint64_t*) {
    all = all && record.offset < regions_.bytes && record.bytes <= regions_.bytes - record.offset;
  });
  return whole && all;
}

/// Finds the blocks to replay, oldest first, and leaves every cursor behind its log's last block.
/// Changes nothing on the medium.
template <class M>
Status StampedLogs<M>::scan(uint64_t& upto, std::vector<BlockPlace>& found) {
  upto = 0;
  for (int s = 0; s < area_.logs; ++s) {
    const auto newest = decode_tail(M::load(&tail(s)[0]));
    const auto start = decode_tail(M::load(&tail(s)[1]));
    if (!newest || !start) {
      return damaged("the tail of log " + std::to_string(s) + " is damaged");
    }
    upto = std::max(upto, *newest);
    Cursor& cursor = cursors_[static_cast<size_t>(s)];
    cursor.position = *start * kLineBytes;
    cursor.end = cursor.position + area_.log_bytes;
    freed_[s].position.store(cursor.position, std::memory_order_relaxed);  // no other thread runs
    for (look(cursor, s, false); cursor.time != kNone; step(cursor, s, false)) {
      if (!inside(cursor.words)) {
        return damaged("a block in log " + std::to_string(s) + " stores outside the heap's data");
      }
      found.push_back({cursor.time, s, cursor.position, block_transactions(cursor.words)});
    }
  }
  std::erase_if(found, [&](const BlockPlace& f) { return f.time <= upto; });
  if (!machine_.skips(Site{"logs.recover.sort"})) {
    std::sort(found.begin(), found.end(),
              [](const BlockPlace& a, const BlockPlace& b) { return a.time < b.time; });
  }
  if (gaps_ == Gaps::stop && !machine_.skips(Site{"logs.recover.gap"})) {
    uint64_t next = upto + 1;
    size_t whole = 0;
    while (whole < found.size() && found[whole].time == next + found[whole].transactions - 1) {
      next += found[whole].transactions;
      ++whole;
    }
    if (whole < found.size()) {
      M::reach(Probe{"logs.recover.gap"});
    }
    found.resize(whole);
  }
  return {};
}

/// Empties the position behind each log's last block, because a block that was cut off must stay
/// invalid. Suppose its first line were left there. The next block at that place might be cut off
/// as well. If the medium then has exactly the lines that the old block lacks, and the other lines
/// are equal in both, the old block becomes whole. A transaction that recovery has dropped would
/// come back.
template <class M>
void StampedLogs<M>::empty_ends() {
  bool any = false;
  for (int s = 0; s < area_.logs; ++s) {
    const uint64_t end = cursors_[static_cast<size_t>(s)].position % area_.log_bytes;
    auto* const first = reinterpret_cast<uint64_t*>(logs_.of(s) + end);
    if (M::load(first) != 0 && !machine_.skips(Site{"logs.recover.empty"})) {
      M::store(first, uint64_t{0});
      M::reach(Probe{"logs.recover.cut_off"});
      machine_.pwb(first, Site{"logs.recover.end"});
      any = true;
    }
  }
  if (any) {
    // Separates the empty ends from new blocks at these places.
    machine_.pfence(Site{"logs.recover.end.fence"});
  }
}

template <class M>
Status StampedLogs<M>::recover(RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  uint64_t expected[StampedLogsArea::kHeaderWords];
  uint64_t header[StampedLogsArea::kHeaderWords];
  area_.header(magic_, expected);
  M::copy(header, regions_.area, sizeof(header));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(header))) {
    return foreign_area();
  }
  uint64_t upto = 0;
  std::vector<BlockPlace> found;
  if (Status status = scan(upto, found); !status.ok()) {
    return status;
  }
  // Only stores from here on. The tails move last, so recovery after a crash repeats the stores.
  Cursor block;
  // The working copy was mapped before the home changed, so it may lack these values.
  const bool copies = !in_place() && !machine_.skips(Site{"logs.recover.working_copy"});
  for (const BlockPlace& f : found) {
    block.position = f.position;
    block.end = f.position + area_.log_bytes;
    look(block, f.slot, true);
    report.bytes += apply(block.words, true, copies);
    upto = std::max(upto, f.time);
    report.transactions += f.transactions;
  }
  report.needed = !found.empty();
  report.text = "replayed " + std::to_string(report.transactions) + " transactions from the logs";
  if (report.needed) {
    write_back_lines(Site{"logs.recover.home"});
    // Separates the home from the tails: the home is durable before the tails cover it.
    machine_.pfence(Site{"logs.recover.home.fence"});
  }
  persist_tails(upto, Site{"logs.recover.tail"}, Site{"logs.recover.tail.fence"});
  empty_ends();  // after the tails: in a full log, that place is the oldest block's
  for (int s = 0; s < area_.logs; ++s) {
    const uint64_t position = cursors_[static_cast<size_t>(s)].position;
    // Relaxed: no other thread runs yet.
    freed_[s].position.store(position, std::memory_order_relaxed);
    owners_[s].head.store(position, std::memory_order_relaxed);
    redo_[static_cast<size_t>(s)].resume(position);
  }
  clock_.now.store(machine_.skips(Site{"logs.recover.clock"}) ? 0 : upto);
  return {};
}

}  // namespace holdfast
