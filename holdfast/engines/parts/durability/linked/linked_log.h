// SPDX-License-Identifier: Apache-2.0
//
// Per-thread redo logs, circular and in persistent memory, whose transactions are ordered by time
// stamps (NV-HTM, SPHT). A store appends to its thread's log at once, within the hardware
// transaction, so the log's lines are part of the write set. After the hardware commit only the
// header is added. A transaction's records start at a cache line:
//
//   extent  = header payload padding link         whole lines, may wrap around the end of the log
//   header  = time | hash : 32, padding words : 8, payload words : 24 | checksum of the payload
//   payload = records as in redo_record.h
//   link    = place of the transaction that is next in time: a hint, 0 if there is none
//
// The hash covers the header, the thread, the position since the engine started, and the epoch.
// Positions never repeat, and every recovery increments the epoch. So the remains of an earlier lap
// or an earlier run are never taken for a transaction.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/engines/parts/durability/linked/linked_record.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/isolation/htm/htm_access.h"

namespace holdfast {

/// A link's content: a thread, and a position in its log.
struct LogLink {
  static constexpr int kThreadShift = 54;
  static constexpr uint64_t kPresent = uint64_t{1} << 63;

  int thread = 0;
  uint64_t start = 0;

  uint64_t encode() const {
    return kPresent | static_cast<uint64_t>(thread) << kThreadShift | start / kLineBytes;
  }
  static std::optional<LogLink> decode(uint64_t word) {
    if ((word & kPresent) == 0) {
      return {};
    }
    return LogLink{static_cast<int>((word & ~kPresent) >> kThreadShift),
                   (word & ((uint64_t{1} << kThreadShift) - 1)) * kLineBytes};
  }
};

/// Place and epoch of all threads' logs.
template <class M>
struct LinkedLogArea : RedoLogArea {
  uint64_t epoch = 0;

  uint64_t* word(int thread, uint64_t position) const {
    return reinterpret_cast<uint64_t*>(of(thread) + position % bytes);
  }
  std::optional<LinkedRecord> record(int thread, uint64_t start) const {
    uint64_t words[3];
    for (uint64_t i = 0; i < 3; ++i) {
      words[i] = M::load(word(thread, start + i * 8));
    }
    return LinkedRecord::parse(thread, start, epoch, words);
  }
  void payload(const LinkedRecord& record, std::vector<uint64_t>& to) const {
    read<M>(record.thread, (record.start + LinkedRecord::kHeaderBytes) % bytes, record.payload, to);
  }
  uint64_t link(const LinkedRecord& record) const {
    return M::load(word(record.thread, record.link_position()));
  }
};

/// One thread's log, for its owner. The next transaction overwrites the records of an aborted one,
/// to which no header refers.
template <class M>
class LinkedLog {
 public:
  using Position = typename M::template Atomic<uint64_t>;
  using Path = typename HtmThread<M>::Path;

  /// The replayer advances `freed`.
  LinkedLog(M& machine, const LinkedLogArea<M>& area, int thread, const Position* freed)
      : machine_(machine),
        area_(area),
        thread_(thread),
        freed_(freed),
        present_(!machine.htm_capabilities().page_faults_abort) {}

  uint64_t line() const { return machine_.line_bytes(); }
  /// The largest extent. The replayer keeps one line back, because its link may still be written.
  uint64_t size() const { return std::min(area_.bytes - line(), kMostPayload); }
  /// Acquire: a store into freed space comes after the replayer's last load from it.
  uint64_t free_bytes() const {
    const uint64_t used = head_ - freed_->load(std::memory_order_acquire);
    return std::min(size(), area_.bytes - used);
  }
  /// Bytes that a transaction may take.
  uint64_t room() const { return machine_.skips(Site{"pht.log.room"}) ? size() : free_bytes(); }

  /// Makes the pages of the log present and writable before its first use: a page fault would abort
  /// a hardware transaction. No record is in the log yet, which a thread could link meanwhile.
  void make_present() {
    if (present_) [[likely]] {
      return;
    }
    const auto touch = [&](uint64_t at) {
      uint64_t* const word = area_.word(thread_, at);
      M::store(word, M::load(word));
    };
    for (uint64_t at = 0; at < area_.bytes; at += kPageBytes) {
      touch(at);
    }
    touch(area_.bytes - sizeof(uint64_t));  // the log may begin inside a page
    present_ = true;
  }

  bool empty() const { return staged_.empty(); }
  bool full() const { return full_; }

  void begin() {
    staged_.clear();
    ++generation_;
    limit_ = room();
    full_ = false;
  }

  /// Called before a store. Ends the transaction if there is no room for it.
  void storing(HtmThread<M>& t, const void* p, size_t n) {
    const RedoRecord record = record_of(t, p, n);
    if (known(record) == nullptr && !fits(record)) [[unlikely]] {
      overflow(t);
    }
  }

  /// Called after a store. Appends the changed words, whole. A word that was stored before gets its
  /// new value in its existing entry, where that is cheap to detect.
  void stored(HtmThread<M>& t, const void* p, size_t n) {
    const RedoRecord record = record_of(t, p, n);
    const auto* from = reinterpret_cast<const uint64_t*>(t.data + record.offset);
    if (const Seen* seen = known(record)) {
      put(t, seen->index, load(t, from));
      return;
    }
    if (!fits(record)) [[unlikely]] {
      return;  // a doomed transaction, whose body continues
    }
    append(t, record.header());
    if (record.bytes > 8) {
      ++generation_;  // a word's earlier entry must not change once a later range covers it
    } else {
      seen_[slot_of(record)] = {record.offset, staged_.size(), generation_};
    }
    for (uint64_t i = 0; i < record.bytes / 8; ++i) {
      append(t, load(t, from + i));
    }
  }

  // ---- After the hardware commit.

  uint64_t lines() const { return extent() / line(); }

  LinkedRecord record(uint64_t time) const {
    LinkedRecord r{thread_, head_, time, staged_.size() * 8, extent(), 0};
    r.checksum = holdfast::checksum(staged_.data(), r.payload, r.seed(area_.epoch));
    return r;
  }

  void clear_link() {
    M::store(area_.word(thread_, head_ + extent() - LinkedRecord::kLinkBytes), uint64_t{0});
  }

  /// Begins to write back all lines but the first.
  void write_back_rest(Site site) { write_back(line(), extent() - line(), site); }
  /// Begins to write back everything up to the end of the payload.
  void write_back_payload(Site site) {
    write_back(0, LinkedRecord::kHeaderBytes + staged_.size() * 8, site);
  }

  /// Stores the header and begins to write back its line.
  void write_header(const LinkedRecord& record, Site site) {
    uint64_t words[3];
    record.header(area_.epoch, words);
    // Release: the stores to the line stay in this order, the time last. Until all three are there,
    // the hash does not match.
    for (uint64_t i = 3; i-- > 0;) {
      M::store_release(area_.word(thread_, head_ + i * 8), words[i]);
    }
    machine_.pwb(area_.word(thread_, head_), site);
  }

  /// Moves the head past the transaction, which has its header now.
  void advance() {
    head_ += extent();
    staged_.clear();
  }

 private:
  struct LogFull {};
  static constexpr uint64_t kMostPayload = ((uint64_t{1} << LinkedRecord::kPayloadBits) - 1) * 8;

  uint64_t extent() const { return LinkedRecord::extent_of(staged_.size() * 8, line()); }

  void write_back(uint64_t from, uint64_t n, Site site) {
    const uint64_t at = (head_ + from) % area_.bytes;
    const uint64_t straight = std::min(n, area_.bytes - at);
    machine_.pwb_range(area_.of(thread_) + at, straight, site);
    if (straight < n) {
      M::reach(Probe{"pht.log.wraps"});
      machine_.pwb_range(area_.of(thread_), n - straight, site);
    }
  }

  static RedoRecord record_of(const HtmThread<M>& t, const void* p, size_t n) {
    const auto at = static_cast<uint64_t>(static_cast<const std::byte*>(p) - t.data);
    const uint64_t first = at & ~uint64_t{7};
    return {first, ((at + n + 7) & ~uint64_t{7}) - first};
  }
  bool fits(const RedoRecord& record) const {
    const uint64_t payload = staged_.size() * 8 + 8 + record.bytes;
    return LinkedRecord::extent_of(payload, line()) <= limit_;
  }

  /// The most recent entry of a word.
  struct Seen {
    uint64_t offset = 0;
    uint64_t index = 0;  // of its value in the payload
    uint64_t generation = 0;
  };
  static size_t slot_of(const RedoRecord& record) { return record.offset / 8 % kSeen; }
  const Seen* known(const RedoRecord& record) const {
    const Seen& seen = seen_[slot_of(record)];
    return record.bytes == 8 && seen.offset == record.offset && seen.generation == generation_
               ? &seen
               : nullptr;
  }

  static uint64_t load(const HtmThread<M>& t, const uint64_t* p) {
    return t.path == Path::transaction ? t.htm->load(p) : t.htm->outside_load(p);
  }
  void append(HtmThread<M>& t, uint64_t value) {
    staged_.push_back(value);
    put(t, staged_.size() - 1, value);
  }
  void put(HtmThread<M>& t, uint64_t index, uint64_t value) {
    staged_[index] = value;
    uint64_t* const to = area_.word(thread_, head_ + LinkedRecord::kHeaderBytes + index * 8);
    if (machine_.skips(Site{"pht.log.word"})) {
      // The canary of a log without the stored words.
    } else if (t.path == Path::transaction) [[likely]] {
      t.htm->store(to, value);
    } else {
      M::store(to, value);
    }
  }

  void overflow(HtmThread<M>& t) {
    if (t.path == Path::transaction && t.htm->doomed()) {
      return;  // it will not commit, and its body may be in a destructor
    }
    if (limit_ < size()) {  // the next attempt waits for the whole log
      full_ = true;
      if (t.path == Path::transaction) {
        t.htm->abort(AbortCode::log);
      }
      t.leave_body(LogFull());
    }
    M::reach(Probe{"pht.too_large"});
    t.leave_body(log_too_small(size()));
  }

  M& machine_;
  const LinkedLogArea<M>& area_;
  int thread_;
  const Position* freed_;
  bool present_;
  uint64_t head_ = 0;
  uint64_t limit_ = 0;
  bool full_ = false;
  std::vector<uint64_t> staged_;  // the payload, as logged
  static constexpr size_t kSeen = 64;
  std::array<Seen, kSeen> seen_{};
  uint64_t generation_ = 0;
};

}  // namespace holdfast
