// SPDX-License-Identifier: Apache-2.0
//
// The persistent half: a circular redo log per thread, and the watermark.
//
//   watermark  number, epoch, from, upto, count, check      twice; the valid one with the larger
//                                                           number counts
//   record     check | words | time | id | {offset, value}...   begins at a line
//
// Every transaction up to stamp `from` is home. Those behind it, up to stamp `upto`, are `count`
// transactions whose records are durable and whose stores may have reached the home in part.
// Records behind `upto` do not count.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/cc_htm/cc_htm_options.h"
#include "holdfast/engines/cc_htm/tx_ring.h"
#include "holdfast/engines/engine.h"

namespace holdfast::cc_htm {

/// A word and its value after a transaction.
struct LoggedWord {
  uint64_t offset;
  uint64_t value;
};

struct RecordHead {
  uint64_t check;
  uint64_t words;
  Stamp stamp;
};

struct Watermark {
  uint64_t number = 0;
  uint64_t epoch = 0;
  Stamp from = {};
  Stamp upto = {};
  uint64_t count = 0;
  uint64_t check = 0;

  uint64_t expected() const {
    return mix64(
        number ^
        mix64(epoch ^ mix64(from.time ^
                            mix64(from.id ^ mix64(upto.time ^
                                                  mix64(upto.id ^ mix64(count ^ 0x6d74686363)))))));
  }
};
static_assert(sizeof(Watermark) == kLineBytes);

/// A record that recovery has found.
struct FoundRecord {
  Stamp stamp;
  std::vector<LoggedWord> words;
};

/// The logs and the watermark. Thread safety: each log by its thread; the watermark by one thread
/// at a time.
template <class M>
class CcLog {
 public:
  CcLog(M& machine, const Regions& regions, const CcArea& area)
      : machine_(machine),
        regions_(regions),
        area_(area),
        own_(make_array<Own>(machine, logs())),
        staged_(logs()) {}

  size_t capacity() const { return area_.log_bytes; }
  static size_t bytes_of(size_t words) {
    const size_t bytes = sizeof(RecordHead) + words * sizeof(LoggedWord);
    return round_up(bytes, kLineBytes);
  }

  void format() {
    const AreaHeader header = area_.header();
    M::copy(regions_.area, header.data(), sizeof header);
    machine_.pwb_range(regions_.area, sizeof header, Site{"cchtm.format"});
    write_mark(Site{"cchtm.format"});
    // Header and watermark are durable before the superblock makes the file a heap.
    machine_.psync(Site{"cchtm.format.sync"});
  }

  // ---- One thread's log.

  /// The room of a thread's log. It only grows until the thread appends.
  struct Room {
    bool empty;
    uint64_t behind;  ///< bytes behind the last record, up to the log's end
    uint64_t free;

    bool fits(size_t bytes) const {
      return empty || (bytes <= behind ? bytes : bytes + behind) <= free;
    }
  };
  /// Acquire: the thread that has freed the records reads them no more.
  Room room(uint64_t thread) const {
    const uint64_t head = own_[thread].head;
    const uint64_t tail = own_[thread].tail.load(std::memory_order_acquire);
    const uint64_t size = area_.log_bytes;
    // A record that began at the log's beginning counts the bytes behind its predecessor, which it
    // did not fit into. So what is used may be more than the log has.
    const uint64_t used = head - tail;
    return {.empty = used == 0, .behind = size - head % size, .free = size - std::min(used, size)};
  }
  /// Takes the memory for a record of so many words, so that append() needs none.
  void reserve(uint64_t thread, size_t words) { staged_[thread].reserve(bytes_of(words)); }
  /// Appends the record of a transaction, around the caches. It fits. The caller fences.
  uint64_t append(uint64_t thread, const Stamp& stamp, const std::vector<LoggedWord>& words) {
    const size_t bytes = bytes_of(words.size());
    const uint64_t position = place(thread, bytes);
    staged_[thread].assign(bytes, std::byte{0});
    std::byte* const staged = staged_[thread].data();
    const RecordHead head{.check = 0, .words = words.size(), .stamp = stamp};
    std::memcpy(staged, &head, sizeof head);
    std::memcpy(staged + sizeof head, words.data(), words.size() * sizeof(LoggedWord));
    const uint64_t check = check_of(staged, bytes, position);
    std::memcpy(staged, &check, sizeof check);
    machine_.store_nontemporal(at(thread, position), staged, bytes, Site{"cchtm.log"});
    own_[thread].head = position + bytes;
    return position;
  }

  /// Calls f(word) for each word of a record in the log.
  template <class F>
  void for_each_word(const Finished& f, F&& visit) const {
    const std::byte* from = at(f.thread, f.position);
    RecordHead head;
    M::copy(&head, from, sizeof head);
    for (uint64_t i = 0; i < head.words; ++i) {
      LoggedWord word;
      M::copy(&word, from + sizeof head + i * sizeof word, sizeof word);
      visit(word);
    }
  }

  /// Gives the room of the first `count` records, and of all before them, back to their threads.
  /// They are in the order of their stamps, so the last one of each thread says how far: one store
  /// to a line that its thread loads before each transaction. Release: the thread writes there
  /// after this thread has read it.
  void free(const std::vector<Finished>& records, size_t count) {
    freed_.assign(logs(), 0);
    for (size_t i = 0; i < count; ++i) {
      freed_[records[i].thread] = records[i].position + records[i].bytes;
    }
    for (size_t thread = 0; thread < freed_.size(); ++thread) {
      if (freed_[thread] != 0) {
        own_[thread].tail.store(freed_[thread], std::memory_order_release);
      }
    }
  }

  // ---- The watermark.

  const Stamp& upto() const { return mark_.upto; }

  /// Declares the next `count` transactions, up to `upto`, as on their way home. The caller fences.
  void begin_batch(const Stamp& upto, uint64_t count) {
    mark_.upto = upto;
    mark_.count = count;
    write_mark(Site{"cchtm.upto"});
  }
  /// Declares all of them as home. The caller fences.
  void end_batch() {
    mark_.from = mark_.upto;
    mark_.count = 0;
    write_mark(Site{"cchtm.from"});
  }
  /// Makes every record void. The caller fences.
  void begin_epoch() {
    mark_ = {.number = mark_.number, .epoch = mark_.epoch + 1};
    write_mark(Site{"cchtm.recover.epoch"});
  }

  // ---- Recovery.

  /// Finds the records that the home may lack, in the order of their stamps. `all`: also those that
  /// it has, as if logs were deleted in no order.
  Status examine(bool all, std::vector<FoundRecord>& found);

 private:
  struct alignas(kMaxLineBytes) Own {
    typename M::template Atomic<uint64_t> tail{};
    uint64_t head = 0;  // only its thread uses it
  };

  size_t logs() const { return static_cast<size_t>(area_.logs); }
  std::byte* at(uint64_t thread, uint64_t position) const {
    return regions_.area + area_.log_offset(static_cast<int>(thread)) + position % area_.log_bytes;
  }

  /// The position of the thread's next record. A record does not wrap around: the next one begins
  /// at the log's beginning if it does not fit behind the last one.
  uint64_t place(uint64_t thread, size_t bytes) const {
    const uint64_t head = own_[thread].head;
    const uint64_t behind = area_.log_bytes - head % area_.log_bytes;
    if (bytes <= behind) {
      return head;
    }
    M::reach(Probe{"cchtm.log.wraps"});
    return head + behind;
  }

  uint64_t check_of(const std::byte* record, size_t bytes, uint64_t position) const {
    return checksum(record + sizeof(uint64_t), bytes - sizeof(uint64_t),
                    mix64(mark_.epoch ^ mix64(position % area_.log_bytes)));
  }

  std::byte* mark_at(uint64_t number) const {
    return regions_.area + CcArea::kMarkOffset + number % 2 * CcArea::kMarkStride;
  }
  void write_mark(Site site) {
    ++mark_.number;
    mark_.check = mark_.expected();
    machine_.store_nontemporal(mark_at(mark_.number), &mark_, sizeof mark_, site);
  }

  void scan(int log, bool all, std::vector<FoundRecord>& found);

  M& machine_;
  const Regions regions_;
  CcArea area_;
  Own* own_;
  Watermark mark_;
  std::vector<std::vector<std::byte>> staged_;  // one record of each thread
  std::vector<uint64_t> freed_;                 // of each thread, by free()
};

template <class M>
void CcLog<M>::scan(int log, bool all, std::vector<FoundRecord>& found) {
  const size_t size = area_.log_bytes;
  std::vector<std::byte> bytes(size);
  M::copy(bytes.data(), regions_.area + area_.log_offset(log), size);
  for (size_t position = 0; position < size; position += kLineBytes) {
    RecordHead head;
    std::memcpy(&head, bytes.data() + position, sizeof head);
    if (head.words > (size - position - sizeof head) / sizeof(LoggedWord)) {
      continue;
    }
    const bool wanted = !(mark_.upto < head.stamp) && (all || mark_.from < head.stamp);
    if (!wanted ||
        (head.check != check_of(bytes.data() + position, bytes_of(head.words), position) &&
         !machine_.skips(Site{"cchtm.recover.check"}))) {
      continue;
    }
    FoundRecord record{.stamp = head.stamp, .words = std::vector<LoggedWord>(head.words)};
    std::memcpy(record.words.data(), bytes.data() + position + sizeof head,
                head.words * sizeof(LoggedWord));
    found.push_back(std::move(record));
  }
}

template <class M>
Status CcLog<M>::examine(bool all, std::vector<FoundRecord>& found) {
  AreaHeader header;
  M::copy(header.data(), regions_.area, sizeof header);
  if (header != area_.header()) {
    return foreign_area();
  }
  bool valid = false;
  for (uint64_t copy = 0; copy < 2; ++copy) {
    Watermark mark;
    M::copy(&mark, mark_at(copy), sizeof mark);
    if (mark.check == mark.expected() && mark.number % 2 == copy &&
        (!valid || mark_.number < mark.number)) {
      mark_ = mark;
      valid = true;
    }
  }
  if (!valid) {
    return {Code::corrupt,
            "the watermark of the logs is damaged; restore the heap file from a copy"};
  }
  if (mark_.count == 0 && !all) {
    return {};
  }
  for (int log = 0; log < area_.logs; ++log) {
    scan(log, all, found);
  }
  if (!machine_.skips(Site{"cchtm.recover.sort"})) {
    std::sort(found.begin(), found.end(),
              [](const FoundRecord& a, const FoundRecord& b) { return a.stamp < b.stamp; });
  }
  if (found.size() != mark_.count && !all) {
    return {Code::corrupt, "the logs have " + std::to_string(found.size()) + " of " +
                               std::to_string(mark_.count) +
                               " records that the home may lack; restore the heap file from a "
                               "copy"};
  }
  for (const FoundRecord& record : found) {
    for (const LoggedWord& word : record.words) {
      if (word.offset % sizeof(uint64_t) != 0 || word.offset >= regions_.bytes) {
        return {Code::corrupt,
                "a log record points outside the heap; restore the heap file from a copy"};
      }
    }
  }
  return {};
}

}  // namespace holdfast::cc_htm
