// SPDX-License-Identifier: Apache-2.0
//
// Redo logs (FUR 3.2.2): what a transaction stored, first as a volatile list of places, then, with
// the values, in the thread's circular log in persistent memory.
//
//   record  = header payload
//   header  = one word: payload words << 40 | first byte in the heap's data, divided by 8
//   payload = that many words
//
// So a single-word store takes 16 bytes, as in the paper. A transaction's records start at a cache
// line and may wrap around the end of the log; the durability marker holds start and length.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// One record's header, unpacked.
struct RedoRecord {
  static constexpr int kWordsShift = 40;
  static constexpr uint64_t kMaxWords = (uint64_t{1} << (64 - kWordsShift)) - 1;

  uint64_t offset = 0;  ///< bytes, a multiple of 8
  uint64_t bytes = 0;   ///< of payload, a multiple of 8

  uint64_t header() const { return bytes / 8 << kWordsShift | offset / 8; }
  static RedoRecord unpack(uint64_t header) {
    return {(header & ((uint64_t{1} << kWordsShift) - 1)) * 8, (header >> kWordsShift) * 8};
  }
};

/// Calls f(record, payload) for each record in n words. False when they do not add up.
template <class F>
bool for_each_record(const uint64_t* words, size_t n, F&& f) {
  size_t at = 0;
  while (at < n) {
    const RedoRecord record = RedoRecord::unpack(words[at++]);
    if (record.bytes == 0 || record.bytes / 8 > n - at) {
      return false;
    }
    f(record, words + at);
    at += record.bytes / 8;
  }
  return true;
}

/// The places a running transaction has stored to. Their values are read when it commits, so a word
/// stored to twice is listed once where that is cheap to see.
class VolatileLog {
 public:
  enum class Outcome : uint8_t { added, known, full };

  /// Starts a transaction whose records may take `limit` bytes.
  void begin(uint64_t limit) {
    limit_ = limit;
    bytes_ = 0;
    records_.clear();
    ++generation_;
  }

  /// Notes a store of n bytes at `offset`.
  Outcome add(uint64_t offset, size_t n) {
    const uint64_t first = offset & ~uint64_t{7};
    const uint64_t length = ((offset + n + 7) & ~uint64_t{7}) - first;
    Seen& seen = seen_[first / 8 % seen_.size()];
    if (seen.offset == first && seen.generation == generation_ && length <= seen.bytes) {
      return Outcome::known;
    }
    if (length + 8 > limit_ - bytes_) {
      return Outcome::full;
    }
    bytes_ += length + 8;
    records_.push_back({first, length});
    seen = {first, length, generation_};
    return Outcome::added;
  }

  bool empty() const { return records_.empty(); }
  uint64_t bytes() const { return bytes_; }
  uint64_t limit() const { return limit_; }
  const std::vector<RedoRecord>& records() const { return records_; }

 private:
  struct Seen {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t generation = 0;  // 0: never
  };
  uint64_t limit_ = 0;
  uint64_t bytes_ = 0;
  uint64_t generation_ = 0;
  std::vector<RedoRecord> records_;
  std::array<Seen, 64> seen_{};
};

/// Where the logs of all threads lie.
struct RedoLogArea {
  std::byte* base = nullptr;
  size_t bytes = 0;  ///< of each log, a multiple of the line
  int count = 0;

  std::byte* of(int thread) const { return base + static_cast<size_t>(thread) * bytes; }

  /// Copies a transaction's records out, across the end of the log where they wrap.
  template <class M>
  void read(int thread, uint64_t start, uint64_t n, std::vector<uint64_t>& to) const {
    to.resize(n / 8);
    const uint64_t straight = n < bytes - start ? n : bytes - start;
    M::copy(to.data(), of(thread) + start, straight);
    M::copy(to.data() + straight / 8, of(thread), n - straight);
  }
};

/// One thread's log, as its owner uses it. Positions count bytes since the engine started and never
/// wrap. What an aborted transaction has written is overwritten by the next one: no marker refers
/// to it.
template <class M>
class RedoLog {
 public:
  using Position = typename M::template Atomic<uint64_t>;

  /// `freed` is advanced by the replayer.
  RedoLog(M& machine, const RedoLogArea& area, int thread, const Position* freed)
      : machine_(machine), base_(area.of(thread)), bytes_(area.bytes), freed_(freed) {}

  /// Goes on at a position where a former engine on the same log stopped: `freed` as well.
  void resume(uint64_t position) { head_ = position; }

  uint64_t size() const { return bytes_; }
  uint64_t head() const { return head_; }
  uint64_t start() const { return head_ % bytes_; }
  /// Acquire: what is stored into freed space comes after the replayer's last load from it.
  uint64_t free_bytes() const { return bytes_ - (head_ - freed_->load(std::memory_order_acquire)); }
  /// What a transaction may take of it.
  uint64_t room() const { return machine_.skips(Site{"fur.log.room"}) ? bytes_ : free_bytes(); }

  /// Copies n bytes to the head, which stays where it is, and begins to write them back.
  void write(const uint64_t* words, uint64_t n, Site site) {
    const uint64_t at = start();
    const uint64_t straight = n < bytes_ - at ? n : bytes_ - at;
    copy_out(at, words, straight, site);
    if (straight < n) {
      copy_out(0, words + straight / 8, n - straight, site);
    }
  }

  /// The transaction just written has its marker: the next one starts at the next line.
  void advance(uint64_t n) { head_ += taken(machine_, n); }

  /// What n bytes of records take in a log.
  static uint64_t taken(const M& machine, uint64_t n) {
    const uint64_t line = machine.line_bytes();
    return (n + line - 1) / line * line;
  }

 private:
  void copy_out(uint64_t at, const uint64_t* words, uint64_t n, Site site) {
    M::copy(base_ + at, words, n);
    machine_.pwb_range(base_ + at, n, site);
  }

  M& machine_;
  std::byte* base_;
  uint64_t bytes_;
  const Position* freed_;
  uint64_t head_ = 0;
};

}  // namespace holdfast
