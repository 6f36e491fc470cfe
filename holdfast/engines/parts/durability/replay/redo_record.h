// SPDX-License-Identifier: Apache-2.0
//
// Records of a redo log (FUR 3.2.2): a transaction's stores, first as a volatile list of places;
// then, with the values, in the thread's circular log (redo_log.h).
//
//   record  = header payload
//   header  = one word: payload words << 40 | first byte in the heap's data, divided by 8
//   payload = that many words
//
// A store of one word takes 16 bytes, as in the paper.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast {

/// One record's header, unpacked.
struct RedoRecord {
  static constexpr int kWordsShift = 40;
  static constexpr uint64_t kMaxWords = (uint64_t{1} << (64 - kWordsShift)) - 1;
  static constexpr uint64_t kMostBytes = sizeof(uint64_t) << kWordsShift;  ///< of a heap's data

  uint64_t offset = 0;  ///< bytes, a multiple of 8
  uint64_t bytes = 0;   ///< of payload, a multiple of 8

  uint64_t header() const { return bytes / 8 << kWordsShift | offset / 8; }
  static RedoRecord unpack(uint64_t header) {
    return {(header & ((uint64_t{1} << kWordsShift) - 1)) * 8, (header >> kWordsShift) * 8};
  }
};

/// Calls f(record, payload) for each record in n words. Returns false if the lengths do not match
/// n.
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

/// The places that a running transaction has stored to. Their values are read at commit, so a word
/// stored to twice is listed once where that is cheap to detect. For one thread.
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
    records_.push_back({first, length});
    bytes_ += length + 8;
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

/// Place of all threads' logs. Records that are too many for a thread's log may lie in a part of
/// the home instead, which the heap lends (Loan in engine.h). Their `start` is the place in the
/// home, plus `bytes`.
struct RedoLogArea {
  std::byte* base = nullptr;
  size_t bytes = 0;  ///< of each log, a multiple of the line
  int count = 0;
  std::byte* home = nullptr;  ///< null: all records lie in the threads' logs

  bool is_lent(uint64_t start) const { return start >= bytes; }
  std::byte* of(int thread) const { return base + static_cast<size_t>(thread) * bytes; }

  /// Copies n bytes of records from `start` of the thread's log to `to`, following the wrap-around.
  template <class M>
  void read(int thread, uint64_t start, uint64_t n, std::vector<uint64_t>& to) const {
    to.resize(n / 8);
    if (is_lent(start)) {
      M::copy(to.data(), home + (start - bytes), n);
      return;
    }
    const uint64_t straight = n < bytes - start ? n : bytes - start;
    M::copy(to.data(), of(thread) + start, straight);
    M::copy(to.data() + straight / 8, of(thread), n - straight);
  }
};

}  // namespace holdfast
