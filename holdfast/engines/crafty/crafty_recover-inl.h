// SPDX-License-Identifier: Apache-2.0
// Format, recovery and close of Crafty; included by crafty.h.
#pragma once

namespace holdfast {

template <class M>
Status Crafty<M>::format() {
  uint64_t words[CraftyArea::kHeaderWords];
  area_.header(words);
  M::copy(regions_.area, words, sizeof(words));
  machine_.pwb(regions_.area, Site{"crafty.format"});
  for (int slot = 0; slot < area_.logs; ++slot) {
    write_mark(slot, 0, Site{"crafty.format"});
  }
  // The initial state is durable before the first transaction.
  machine_.psync(Site{"crafty.format.sync"});
  return {};
}

/// True if a record's words lie in the heap's data.
template <class M>
bool Crafty<M>::inside(const LoggedRecord& record) const {
  return std::all_of(record.entries.begin(), record.entries.end(), [&](const UndoEntry& entry) {
    return entry.offset % sizeof(uint64_t) == 0 && entry.offset < regions_.bytes;
  });
}

/// Finds the newest mark, and the unfinished records, newest first. Changes nothing.
template <class M>
Status Crafty<M>::scan(uint64_t& newest_mark, std::vector<LoggedRecord>& found) const {
  newest_mark = 0;
  for (int slot = 0; slot < area_.logs; ++slot) {
    const auto number = decode_tail(M::load(mark(slot)));
    if (!number) {
      return damaged("the mark of thread " + std::to_string(slot) + " is damaged");
    }
    newest_mark = std::max(newest_mark, *number);
  }
  const bool all = machine_.skips(Site{"crafty.recover.bound"});
  for (int slot = 0; slot < area_.logs; ++slot) {
    LoggedRecord record = record_of(slot).find();
    if (record.entries.empty()) {
      continue;
    }
    if (record.damaged || !inside(record)) {
      return damaged("the record in log " + std::to_string(slot) + " is damaged");
    }
    if (all || record.age() > 2 * newest_mark) {
      found.push_back(std::move(record));
    }
  }
  if (!machine_.skips(Site{"crafty.recover.sort"})) {
    std::sort(found.begin(), found.end(),
              [](const LoggedRecord& a, const LoggedRecord& b) { return a.age() > b.age(); });
  }
  return {};
}

template <class M>
Status Crafty<M>::recover(RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  uint64_t expected[CraftyArea::kHeaderWords];
  uint64_t header[CraftyArea::kHeaderWords];
  area_.header(expected);
  M::copy(header, regions_.area, sizeof(header));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(header))) {
    return damaged(
        "the header of the engine area does not fit engine crafty with these options; it is "
        "damaged, or the options differ from those at creation");
  }
  uint64_t upto = 0;
  std::vector<LoggedRecord> found;
  if (Status status = scan(upto, found); !status.ok()) {
    return status;
  }
  // Only stores from here on. The mark moves last, so recovery after a crash repeats the stores.
  LineFilter seen;
  for (const LoggedRecord& record : found) {
    for (const UndoEntry& entry : record.entries) {
      M::store(reinterpret_cast<uint64_t*>(regions_.data + entry.offset), entry.old);
      report.bytes += sizeof(uint64_t);
    }
    // A record without a number may have taken one that no log contains: at most one each.
    upto = std::max({upto, record.number, record.base}) + 1;
  }
  for (const LoggedRecord& record : found) {
    for (const UndoEntry& entry : record.entries) {
      if (seen.first(entry.offset / machine_.line_bytes())) {
        machine_.pwb(regions_.data + entry.offset, Site{"crafty.recover.data"});
      }
    }
  }
  if (!found.empty()) {
    M::reach(Probe{"crafty.recover.rolls_back"});
    // Separates the data from the mark.
    machine_.pfence(Site{"crafty.recover.data.fence"});
    // All records are finished now. So is a torn record, should a later one complete it by chance.
    write_mark(0, ++upto, Site{"crafty.recover.mark"});
    machine_.pfence(Site{"crafty.recover.mark.fence"});
  }
  report.transactions = found.size();
  report.needed = !found.empty();
  report.text = "rolled back " + std::to_string(found.size()) + " transactions from the undo logs";
  // One more, so that new records have other bases than all existing ones.
  M::store(&numbers_->last, machine_.skips(Site{"crafty.recover.numbers"}) ? 0 : upto + 1);
  return {};
}

/// Writes a mark beyond all records. A record that was never redone may have the last number as its
/// base; the mark declares it finished, so that the next open finds nothing to do.
template <class M>
Status Crafty<M>::close() {
  const uint64_t last = M::load(&numbers_->last);
  if (slots_.none_before(last + 1) != last + 1) {
    return {Code::misuse,
            "the heap was closed while a transaction was running; the next open rolls it back"};
  }
  M::store(&numbers_->last, last + 1);
  write_mark(0, last + 1, Site{"crafty.close"});
  // Separates the mark from the return.
  machine_.psync(Site{"crafty.close.sync"});
  return {};
}

}  // namespace holdfast
