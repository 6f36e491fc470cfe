// SPDX-License-Identifier: Apache-2.0
//
// Logs of old bytes, which recovery puts back.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/base/round.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/undo/sealed_word.h"

namespace holdfast {

/// A persistent log of undo records, in the engine area that `regions` names: all of it, or the
/// part of one thread. One thread at a time may use it.
///
///   first line    state word: epoch, number of records if they are counted, check
///   records       {offset, length, check} and the old bytes, padded to kUnit
///
/// Records(machine, options) writes records:
///   kUnit                      the size of a record is a multiple of this, and so is its position
///   append(to, from, n)        copies n bytes into the log
///   ordered()                  whether they are durable on return. Otherwise the engine fences
///                              before it changes what the records save
///   counted()                  true: a record is valid from count() on. False: by its check alone
///   count(word, value)         stores `value`, which has the number of records; durable on return
template <class M, class Records>
class UndoLog {
 public:
  UndoLog(M& machine, const Regions& regions, const Options& options)
      : machine_(machine), regions_(regions), records_(machine, options) {}

  void format() {
    prepare();
    // The empty log is durable before the superblock makes the file a heap.
    machine_.psync(Site{"undo.format.sync"});
  }
  /// As format(), but durable with the caller's next psync.
  void prepare() {
    epoch_ = 1;
    write_state(Site{"undo.format"});
  }

  /// Takes the memory for `count` more records of n bytes, so that append() cannot fail with them.
  /// Throws Error(too_large) unless they fit into the log, and bad_alloc.
  void reserve(size_t count, size_t n) {
    need_room(count, n);
    starts_.reserve(starts_.size() + count);
    staged_.reserve(taken(n));
  }

  /// Throws Error(too_large) unless `count` more records of n bytes fit.
  void need_room(size_t count, size_t n) const {
    if (count > (capacity() - used_) / taken(n) || count > kMostCounted - starts_.size()) {
      M::reach(Probe{"undo.log.full"});
      throw undo_log_full(capacity());
    }
  }

  /// Saves the n bytes at p, durably if records are ordered. Throws as need_room() does.
  void append(const void* p, size_t n) {
    const size_t space = taken(n);
    need_room(1, n);
    staged_.assign(space, std::byte{0});
    M::copy(staged_.data() + sizeof(Record), p, n);
    Record record{.offset = offset_of(p), .length = n, .check = 0};
    record.check = record_check(record, used_);
    std::memcpy(staged_.data(), &record, sizeof record);
    records_.append(log() + used_, staged_.data(), space);
    starts_.push_back(used_);
    used_ += space;
    written_ += space;
    if (records_.counted()) {
      records_.count(state_word(), SealedWord::of(state()));
      written_ += sizeof(uint64_t);
    }
  }

  /// Empties the log; the transaction is durable on return. Returns the bytes of log written since
  /// the last call.
  size_t finish() {
    const size_t written = std::exchange(written_, 0) + sizeof(uint64_t);
    empty();
    // The commit is durable before the caller, or another transaction, learns of it.
    machine_.psync(Site{"undo.epoch.sync"});
    return written;
  }

  /// Empties the log, durably with the caller's next psync.
  void empty() {
    if (!machine_.skips(Site{"undo.epoch.advance"})) {
      epoch_ = (epoch_ + 1) & epoch_mask();
      starts_.clear();
    }
    write_state(Site{"undo.epoch"});
    used_ = 0;
    starts_.clear();
  }

  /// Undoes all stores since the last finish().
  void roll_back() {
    if (used_ == 0) {
      return;
    }
    restore();
    finish();
  }

  Status recover(RecoveryReport& report) {
    if (Status s = examine(report); !s.ok()) {
      return s;
    }
    roll_back();
    return {};
  }

  /// Finds the records of a transaction that the crash interrupted. Changes nothing on the medium.
  Status examine(RecoveryReport& report) {
    const uint64_t word = M::load(state_word());
    const uint64_t value = SealedWord::value(word);
    if (!SealedWord::is_whole(word)) {
      return Status(Code::corrupt,
                    "the undo log's epoch is damaged; restore the heap file from a copy");
    }
    epoch_ = records_.counted() ? value >> kCountBits : value;
    if (Status s = scan(value & kMostCounted, report); !s.ok()) {
      return s;
    }
    if (used_ > 0) {
      M::reach(Probe{"undo.recover.interrupted"});
    }
    report.needed |= used_ > 0;
    report.transactions += used_ > 0 ? 1 : 0;
    return {};
  }

  /// Puts the saved bytes back, durably, and keeps the log.
  void restore() {
    if (starts_.empty()) {
      return;
    }
    // The last record first: the first record of an address has the content from before the
    // transaction.
    if (machine_.skips(Site{"undo.restore.order"})) {
      std::reverse(starts_.begin(), starts_.end());
    }
    for (size_t i = starts_.size(); i-- > 0;) {
      Record record{};
      M::copy(&record, log() + starts_[i], sizeof record);
      std::byte* to = regions_.data + record.offset;
      M::copy(to, log() + starts_[i] + sizeof record, record.length);
      machine_.pwb_range(to, record.length, Site{"undo.restore"});
    }
    // The data are durably restored before the log is emptied.
    machine_.pfence(Site{"undo.restore.fence"});
  }

 private:
  struct Record {
    uint64_t offset;
    uint64_t length;
    uint64_t check;
  };

  static constexpr unsigned kCountBits = 24;
  static constexpr uint64_t kMostCounted = (uint64_t{1} << kCountBits) - 1;

  /// Recovery looks so far for records behind the last one. The bound spares it from reading all of
  /// a long log.
  static constexpr size_t kLookAhead = 4 << 10;
  static constexpr size_t kUnit = Records::kUnit;
  static_assert(kUnit % sizeof(uint64_t) == 0 && kLineBytes % kUnit == 0);
  static size_t taken(size_t n) { return round_up(sizeof(Record) + n, kUnit); }
  /// The value of the state word, a SealedWord: the epoch, or epoch and number of records. If
  /// records are counted, epochs may repeat.
  uint64_t state() const {
    return records_.counted() ? epoch_ << kCountBits | starts_.size() : epoch_;
  }
  uint64_t epoch_mask() const {
    return SealedWord::kValueMask >> (records_.counted() ? kCountBits : 0);
  }

  uint64_t* state_word() const { return reinterpret_cast<uint64_t*>(regions_.area); }
  std::byte* log() const { return regions_.area + kLineBytes; }
  size_t capacity() const { return regions_.area_bytes - kLineBytes; }
  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - regions_.data);
  }

  /// The check of a record at `position`. It covers the staged old bytes, offset, length, position
  /// and epoch.
  uint64_t record_check(const Record& record, size_t position) const {
    const uint64_t seed =
        mix64(epoch_ ^ mix64(position) ^ mix64(record.offset + mix64(record.length)));
    return holdfast::checksum(staged_.data() + sizeof record, staged_.size() - sizeof record, seed);
  }

  void write_state(Site site) {
    M::store(state_word(), SealedWord::of(state()));
    machine_.pwb(state_word(), site);
  }

  /// Stages the bytes at `position` as a record of up to `most` old bytes. Returns the space that
  /// the record takes, or 0 if they cannot be a record. Does not look at the check.
  size_t look(size_t position, size_t most, Record& record) {
    if (sizeof record > capacity() - position) {
      return 0;
    }
    M::copy(&record, log() + position, sizeof record);
    if (record.length == 0 ||
        record.length > std::min(most, capacity() - position - sizeof record)) {
      return 0;
    }
    staged_.resize(taken(record.length));
    M::copy(staged_.data(), log() + position, staged_.size());
    return staged_.size();
  }
  bool whole(size_t position, const Record& record) const {
    return record.check == record_check(record, position);
  }

  /// Finds the records of the current epoch: `count` records if they are counted. Changes nothing
  /// on the medium.
  Status scan(size_t count, RecoveryReport& report) {
    used_ = 0;
    starts_.clear();
    Record record{};
    while (!records_.counted() || starts_.size() < count) {
      const size_t space = look(used_, capacity(), record);
      if (space == 0) {
        break;
      }
      if (!whole(used_, record) && !machine_.skips(Site{"undo.record.check"})) {
        break;
      }
      if (record.offset > regions_.bytes || record.length > regions_.bytes - record.offset) {
        return Status(Code::corrupt,
                      "an undo record points outside the heap; restore the heap file from a copy");
      }
      starts_.push_back(used_);
      used_ += space;
      report.bytes += record.length;
    }
    return (records_.counted() ? starts_.size() < count : records_.ordered() && goes_on())
               ? Status(Code::corrupt,
                        "an undo record is damaged; restore the heap file from a copy")
               : Status();
  }

  /// Whether a record of the current epoch follows behind the apparent end. A record is durable
  /// before the next one is begun, so only the last record can be torn. If another record follows,
  /// the one at the apparent end is damaged.
  bool goes_on() {
    Record record{};
    const size_t end = std::min(capacity(), used_ + kLookAhead);
    for (size_t position = used_ + kUnit; position < end; position += kUnit) {
      if (look(position, kLookAhead, record) != 0 && whole(position, record)) {
        return true;
      }
    }
    return false;
  }

  M& machine_;
  Regions regions_;
  Records records_;
  uint64_t epoch_ = 0;
  size_t used_ = 0;                // bytes of log in use
  size_t written_ = 0;             // bytes given to records_ since the last finish()
  std::vector<size_t> starts_;     // positions of the records
  std::vector<std::byte> staged_;  // one record; its memory is kept, to spare allocations
};

}  // namespace holdfast
