// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/ehou/ehou.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace holdfast {
namespace {

using Policy = EhouOptions::Policy;

constexpr size_t kHashes = 2;  ///< bits of a Bloom filter for each entry

}  // namespace

std::span<const char* const> Ehou::transitions() const {
  static constexpr const char* kNames[] = {
      "a committed mapping went to the table before a newer one came",
      "a committed mapping went to the table when its entry was evicted",
      "a speculative mapping went to the overflow log",
      "a mapping came back from the overflow log",
      "an overflow log was applied to the table",
      "a commit wrote mappings to the table",
      "a transaction with mappings was aborted"};
  return kNames;
}

// ---- mappings

uint64_t Ehou::block_of(uint64_t line) const {
  if (const auto found = stored_.find(line);
      found != stored_.end() && found->second.mapping != kNone) {
    return threads_[found->second.slot].mappings[found->second.mapping].fresh;
  }
  if (const auto found = cached_.find(line / lines_); found != cached_.end()) {
    if (const uint64_t word = entry_in(found->second, in_entry(line)); word != 0) {
      return block_in(word);
    }
  }
  const uint64_t word = table_words(line)[line % mappings_];
  return word == 0 ? line : block_in(word);
}

Place Ehou::translate(Place home) const {
  return place_of_block(block_of(line_of(home)));
}

/// Takes a line of the list of spare blocks whose block is free.
size_t Ehou::take_free() {
  if (free_.empty()) {
    throw Error(Status(Code::out_of_space,
                       "hardware design ehou: open transactions have taken all spare blocks; give "
                       "it more (option spares)"));
  }
  const size_t index = free_.front();
  free_.pop_front();
  return index;
}

/// A line of an open transaction reaches the controller for the first time. It gets a free block
/// and a speculative mapping.
void Ehou::remap(size_t slot, uint64_t line, Time now) {
  Thread& thread = threads_[slot];
  if (thread.mappings.empty()) {
    set_register(slot, {1, thread.head, thread.head}, now);
  }
  const uint64_t old = block_of(line);
  const size_t spare = take_free();
  const uint64_t free = spare_at(spare).fresh;
  const uint64_t fresh = free == 0 ? kSpareBlocks + spare : free - 1;
  const size_t at = cached_.at(line / lines_);
  Entry entry = entry_in(at);
  // If the power fails, the speculative mapping is forgotten. The table must have the committed one
  // by then.
  Time mapped = now;
  if (entry[1 + in_entry(line)] != 0) {
    mapped = write_part(entry, line, now);
    ++overwritten_;
    context().passed(kOverwritten);
  }
  // The list knows of the block before anything refers to it.
  set_spare(spare, {fresh + 1, old + 1, slot + 1}, mapped);
  entry[0] = line / lines_ + 1;
  entry[1 + in_entry(line)] = (fresh + 1) | (uint64_t{slot} + 1) << kOwnerShift;
  set_entry(at, entry, mapped);
  stored_.at(line).mapping = thread.mappings.size();
  thread.mappings.push_back({line, fresh, old, spare});
  thread.ready = std::max(thread.ready, mapped);
  ++remapped_;
}

/// The first write of the transaction goes to a new block, later ones replace it there. The
/// acceptance of the write does not wait for the look-up.
MemoryWrite Ehou::memory_write(const LineMove& move, Time now) {
  const TableMapping found = context().look_up(move.line.at, now);
  const uint64_t line = line_of(move.line.at);
  if (const auto stored = stored_.find(line);
      stored != stored_.end() && stored->second.mapping == kNone) {
    remap(stored->second.slot, line, found.known);
  }
  return {.write = true};
}

// ---- transactions

Time Ehou::begin(const DesignTransaction& tx, Time now) {
  return of(tx).lines.empty() ? now : abort(tx, now);  // its thread has ended without a commit
}

Time Ehou::first_store(const DesignStore& store, Time now) {
  // Content from outside transactions must not leave with the transaction's.
  context().write_back(store.line.line, now);
  Thread& thread = of(store.tx);
  stored_[line_of(store.line.at)] = {static_cast<size_t>(store.tx.slot), kNone};
  thread.lines.push_back(store.line);
  return now;
}

Time Ehou::commit(const DesignTransaction& tx, Time now) {
  const auto slot = static_cast<size_t>(tx.slot);
  Thread& thread = threads_[slot];
  if (thread.lines.empty()) {
    return now;
  }
  if (!std::exchange(thread.flushed, true)) {
    Time accepted = now;
    for (size_t i = 0; options_.printed != EhouOptions::Printed::noflush && i < thread.lines.size();
         ++i) {
      accepted = std::max(accepted, context().write_back(thread.lines[i].line, now));
    }
    thread.ready = std::max(thread.ready, accepted) + round_trip_;
  }
  // Until the commit, other threads may evict its mappings to its log.
  if (thread.ready > now) {
    return thread.ready;
  }
  if (!std::exchange(thread.committed, true)) {
    thread.ready = finish(slot, now);
    if (thread.ready > now) {
      return thread.ready;
    }
  }
  close(slot);
  return now;
}

/// Commits. Returns the time at which nothing of the transaction has to be done any more.
Time Ehou::finish(size_t slot, Time now) {
  Thread& thread = threads_[slot];
  if (thread.mappings.empty()) {
    return now;
  }
  set_register(slot, {0, thread.begin, thread.head}, now);
  leave_cache(slot, true, now);
  for (const Mapping& mapping : thread.mappings) {
    set_spare(mapping.spare, {.fresh = mapping.old + 1}, now);
    free_.push_back(mapping.spare);
  }
  Time done = now;
  if (options_.policy == Policy::eager) {
    done = flush(slot, now);
  }
  if (thread.begin != thread.head) {
    const Time applied = apply_log(slot, now);
    // The log is needed until the table has its mappings.
    set_register(slot, {0, thread.head, thread.head},
                 options_.printed == EhouOptions::Printed::clear ? now : applied);
    done = std::max(done, applied);
  }
  return done;
}

/// The transaction's mappings in the cache become committed, or are forgotten.
void Ehou::leave_cache(size_t slot, bool committed, Time now) {
  std::set<uint64_t> entries;
  for (const Mapping& mapping : threads_[slot].mappings) {
    entries.insert(mapping.line / lines_);
  }
  for (const uint64_t number : entries) {
    const auto found = cached_.find(number);
    if (found == cached_.end()) {
      continue;
    }
    const Entry before = entry_in(found->second);
    Entry entry = before;
    for (size_t i = 1; i < entry.size(); ++i) {
      if (owner_in(entry[i]) == slot + 1) {
        entry[i] = committed ? block_in(entry[i]) + 1 : 0;
      }
    }
    if (entry != before) {
      set_entry(found->second, entry, now);
    }
  }
}

/// Policy `eager`: writes the transaction's mappings to the table. Returns the time of acceptance.
Time Ehou::flush(size_t slot, Time now) {
  Time done = now;
  for (const Mapping& mapping : threads_[slot].mappings) {
    const auto found = cached_.find(mapping.line / lines_);
    if (found == cached_.end()) {
      continue;
    }
    Entry entry = entry_in(found->second);
    if (entry[1 + in_entry(mapping.line)] == 0) {
      continue;  // it went with an earlier one
    }
    const Time accepted = write_part(entry, mapping.line, now);
    set_entry(found->second, entry, accepted);
    done = std::max(done, accepted);
    ++flushed_;
    context().passed(kFlushed);
  }
  return done;
}

Time Ehou::abort(const DesignTransaction& tx, Time now) {
  const auto slot = static_cast<size_t>(tx.slot);
  Thread& thread = threads_[slot];
  leave_cache(slot, false, now);
  for (const DesignLine& line : thread.lines) {
    stored_.erase(line_of(line.at));
    context().drop(line.line);
  }
  for (const Mapping& mapping : thread.mappings) {
    set_spare(mapping.spare, {.fresh = mapping.fresh + 1}, now);
    free_.push_back(mapping.spare);
  }
  if (!thread.mappings.empty()) {
    set_register(slot, {0, thread.head, thread.head}, now);
    context().passed(kAborted);
  }
  close(slot);
  return now;
}

void Ehou::close(size_t slot) {
  Thread& thread = threads_[slot];
  for (const DesignLine& line : thread.lines) {
    stored_.erase(line_of(line.at));
  }
  thread.lines.clear();
  thread.mappings.clear();
  thread.flushed = thread.committed = false;
  thread.ready = 0;
  thread.begin = thread.head;
  thread.logged.clear();
  std::fill(thread.filter.begin(), thread.filter.end(), false);
}

// ---- the table

/// Writes the committed mappings that the entry has in the line's part of it to the table, with one
/// write. They leave the entry. Returns the time of acceptance.
Time Ehou::write_part(Entry& entry, uint64_t line, Time now) {
  std::vector<uint64_t> words = table_words(line);
  const uint64_t first = line / mappings_ * mappings_;
  const bool speculative = options_.printed == EhouOptions::Printed::noflow ||
                           options_.printed == EhouOptions::Printed::early;
  for (uint64_t i = 0; i < mappings_; ++i) {
    uint64_t& word = entry[1 + in_entry(first + i)];
    const bool here = (first + i) / lines_ == line / lines_;
    if (here && word != 0 && (owner_in(word) == 0 || speculative)) {
      words[i] = block_in(word) + 1;
      word = owner_in(word) == 0 ? 0 : word;
    }
  }
  return write_table(line, words, now);
}

Time Ehou::write_table(uint64_t line, const std::vector<uint64_t>& words, Time now) {
  return context()
      .write(table_place(line), reinterpret_cast<const std::byte*>(words.data()), Cause::table, now)
      .accepted;
}

// ---- the table's cache

/// The entry used least recently that has no speculative mapping; else the one used least recently.
size_t Ehou::table_victim(std::span<const TableSlot> set) {
  for (size_t i = set.size(); i > 0; --i) {
    const Entry entry = entry_in(set[i - 1].slot);
    if (std::none_of(entry.begin() + 1, entry.end(),
                     [](uint64_t word) { return owner_in(word) != 0; })) {
      return i - 1;
    }
  }
  return set.size() - 1;
}

Time Ehou::table_leaves(const TableSlot& slot, Time now) {
  cached_.erase(slot.entry);
  Entry entry = entry_in(slot.slot);
  if (entry[0] == 0) {
    return now;
  }
  Time done = now;
  for (uint64_t i = 0; i < lines_; ++i) {
    const uint64_t line = slot.entry * lines_ + i;
    const uint64_t word = entry[1 + i];
    if (word == 0) {
      continue;
    }
    const bool committed = owner_in(word) == 0;
    if (!committed && options_.printed != EhouOptions::Printed::noflow) {
      done = std::max(done, append(owner_in(word) - 1, {line, block_in(word) + 1}, now));
    }
    if (committed || options_.printed == EhouOptions::Printed::noflow ||
        options_.printed == EhouOptions::Printed::early) {
      done = std::max(done, write_part(entry, line, now));
      ++evicted_;
      context().passed(kEvicted);
    }
  }
  set_entry(slot.slot, Entry(1 + lines_, 0), done);
  return done;
}

TableMiss Ehou::table_missed(const TableSlot& slot, uint64_t line, Time now) {
  cached_[slot.entry] = slot.slot;
  TableMiss miss{.done = now};
  std::set<uint64_t> in_part;  // the mappings of the line's part that logs have
  for (size_t owner = 0; owner < threads_.size(); ++owner) {
    const Thread& thread = threads_[owner];
    if (thread.logged.empty() || !in_filter(thread, slot.entry)) {
      continue;
    }
    const auto found = thread.logged.find(slot.entry);
    if (found == thread.logged.end()) {
      miss.done = std::max(miss.done, context().read(record_place(owner, thread.begin), nullptr,
                                                     ReadCause::log, now));
      ++false_reads_;
      continue;
    }
    std::set<uint64_t> log_lines;
    for (const auto& [record, mapped] : found->second) {
      if (record / records_ != thread.head / records_) {  // else the log buffer has it
        log_lines.insert(record / records_);
      }
      if (mapped / mappings_ == line / mappings_) {
        in_part.insert(mapped);
      }
    }
    for (const uint64_t log_line : log_lines) {
      miss.done = std::max(miss.done, context().read(record_place(owner, log_line * records_),
                                                     nullptr, ReadCause::log, now));
      ++log_reads_;
    }
    context().passed(kFound);
  }
  miss.supplied = in_part.size() == std::min(lines_, mappings_);
  return miss;
}

// ---- the overflow log

/// Adds a record to the thread's log. The log buffer survives, and is written when it is full.
/// Returns the time from which on it has the record.
Time Ehou::append(size_t slot, const Record& record, Time now) {
  Thread& thread = threads_[slot];
  const Time at = std::max(now, thread.buffer_free);
  const size_t place = thread.head % records_;
  std::vector<std::byte> bytes(context().entry(kBuffers, slot).begin(),
                               context().entry(kBuffers, slot).end());
  std::memcpy(&bytes[place * sizeof(Record)], &record, sizeof(Record));
  context().change(kBuffers, slot, bytes.data(), at);
  thread.buffer_free = at;
  if (place + 1 == records_) {
    const Place to = record_place(slot, thread.head);
    thread.buffer_free = context().write(to, bytes.data(), Cause::log, at).accepted;
  }
  thread.ready = std::max(thread.ready, thread.buffer_free);
  const uint64_t entry = record.line / lines_;
  thread.logged[entry].emplace_back(thread.head, record.line);
  for (uint64_t n = 0; n < kHashes; ++n) {
    thread.filter[filter_bit(entry, n)] = true;
  }
  ++thread.head;
  ++overflowed_;
  context().passed(kOverflowed);
  return at;
}

size_t Ehou::filter_bit(uint64_t entry, uint64_t n) const {
  constexpr uint64_t kFibonacci = 0x9e3779b97f4a7c15;
  const uint64_t hash = (entry + 1) * kFibonacci * (2 * n + 1);
  return (hash ^ hash >> 32) % options_.filter_bits;
}

bool Ehou::in_filter(const Thread& thread, uint64_t entry) const {
  for (uint64_t n = 0; n < kHashes; ++n) {
    if (!thread.filter[filter_bit(entry, n)]) {
      return false;
    }
  }
  return true;
}

/// Reads the transaction's log and writes its mappings to the table, with one write for each line
/// of the table. Returns the time of acceptance.
Time Ehou::apply_log(size_t slot, Time now) {
  const Thread& thread = threads_[slot];
  std::set<uint64_t> log_lines;
  std::map<uint64_t, std::vector<uint64_t>> table;  // by line of the table
  for (const auto& [entry, records] : thread.logged) {
    for (const auto& [record, line] : records) {
      if (record / records_ != thread.head / records_) {
        log_lines.insert(record / records_);
      }
      auto& words = table.try_emplace(line / mappings_, table_words(line)).first->second;
      words[line % mappings_] = threads_[slot].mappings[stored_.at(line).mapping].fresh + 1;
      ++applied_;
    }
  }
  Time read = now;
  for (const uint64_t log_line : log_lines) {
    read = std::max(read, context().read(record_place(slot, log_line * records_), nullptr,
                                         ReadCause::log, now));
    ++log_reads_;
  }
  Time done = read;
  for (const auto& [table_line, words] : table) {
    done = std::max(done, write_table(table_line * mappings_, words, read));
  }
  context().passed(kApplied);
  return done;
}

std::vector<std::pair<const char*, uint64_t>> Ehou::counters() const {
  return {{"remapped", remapped_},       {"overwritten", overwritten_}, {"evicted", evicted_},
          {"flushed", flushed_},         {"overflowed", overflowed_},   {"log_reads", log_reads_},
          {"false_reads", false_reads_}, {"applied", applied_}};
}

}  // namespace holdfast
