// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"

namespace holdfast {

/// The persistent undo log of engine `undo`; see undo.h. Used by one thread at a time.
template <class M>
class UndoLog {
 public:
  UndoLog(M& machine, const Regions& regions) : machine_(machine), regions_(regions) {}

  void format() {
    write_epoch(1, Site{"undo.format"});
    machine_.psync(Site{"undo.format.sync"});
  }

  void grown(size_t bytes) { regions_.bytes = bytes; }

  /// Saves the n bytes at p, durably. Throws Error(out_of_space) when the log is full.
  void append(const void* p, size_t n) {
    const size_t space = sizeof(Record) + padded(n);
    if (used_ + space > capacity()) {
      throw Error(Status(Code::out_of_space,
                         "the transaction's undo log is full (" + std::to_string(capacity()) +
                             " bytes); create the heap with a larger option log_bytes, or "
                             "split the transaction"));
    }
    old_.resize(padded(n));
    M::copy(old_.data(), p, n);
    Record record{.offset = offset_of(p), .length = n, .check = 0};
    record.check = record_check(record, used_, old_.data());
    std::byte* at = log() + used_;
    M::copy(at, &record, sizeof record);
    M::copy(at + sizeof record, old_.data(), padded(n));
    machine_.pwb_range(at, space, Site{"undo.log"});
    machine_.pfence(
        Site{"undo.log.fence"});  // the old bytes are durable before they are overwritten
    starts_.push_back(used_);
    used_ += space;
  }

  /// Empties the log; the transaction is durable on return. Bytes of log written since the last
  /// call.
  size_t finish() {
    const size_t written = used_ + sizeof(uint64_t);
    write_epoch(epoch_ + (machine_.skips(Site{"undo.epoch.advance"}) ? 0 : 1), Site{"undo.epoch"});
    machine_.psync(Site{"undo.epoch.sync"});  // durable before anybody learns of the commit
    used_ = 0;
    starts_.clear();
    return written;
  }

  /// Undoes everything since the last finish().
  void roll_back() {
    if (used_ == 0) {
      return;
    }
    restore();
    finish();
  }

  Status recover(RecoveryReport& report) {
    const uint64_t word = M::load(epoch_word());
    if (word != sealed(word & kEpochMask)) {
      return Status(Code::corrupt,
                    "the undo log's epoch is damaged; restore the heap file from a copy");
    }
    epoch_ = word & kEpochMask;
    if (Status s = scan(report); !s.ok()) {
      return s;
    }
    report.transactions = report.needed ? 1 : 0;
    roll_back();
    return {};
  }

 private:
  struct Record {
    uint64_t offset;
    uint64_t length;
    uint64_t check;
  };

  static constexpr uint64_t kEpochMask = (uint64_t{1} << 48) - 1;

  static size_t padded(size_t n) { return (n + 7) & ~size_t{7}; }
  /// The epoch and 16 bits of its checksum in one word, so that it changes in one piece.
  static uint64_t sealed(uint64_t epoch) { return epoch | (mix64(epoch) & ~kEpochMask); }

  uint64_t* epoch_word() const { return reinterpret_cast<uint64_t*>(regions_.area); }
  std::byte* log() const { return regions_.area + kLineBytes; }
  size_t capacity() const { return regions_.area_bytes - kLineBytes; }
  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - regions_.data);
  }

  uint64_t record_check(const Record& record, size_t position, const std::byte* old) const {
    const uint64_t seed =
        mix64(epoch_ ^ mix64(position) ^ mix64(record.offset + mix64(record.length)));
    return holdfast::checksum(old, padded(record.length), seed);
  }

  void write_epoch(uint64_t epoch, Site site) {
    epoch_ = epoch & kEpochMask;
    M::store(epoch_word(), sealed(epoch_));
    machine_.pwb(epoch_word(), site);
  }

  /// Finds the records of the current epoch. Changes nothing.
  Status scan(RecoveryReport& report) {
    used_ = 0;
    starts_.clear();
    while (used_ + sizeof(Record) <= capacity()) {
      Record record{};
      M::copy(&record, log() + used_, sizeof record);
      if (record.length == 0 || record.length > capacity() - used_ - sizeof(Record)) {
        break;
      }
      old_.resize(padded(record.length));
      M::copy(old_.data(), log() + used_ + sizeof record, padded(record.length));
      if (record.check != record_check(record, used_, old_.data()) &&
          !machine_.skips(Site{"undo.record.check"})) {
        break;
      }
      if (record.offset > regions_.bytes || record.length > regions_.bytes - record.offset) {
        return Status(Code::corrupt,
                      "an undo record points outside the heap; restore the heap file from a copy");
      }
      starts_.push_back(used_);
      used_ += sizeof(Record) + padded(record.length);
      report.needed = true;
      report.bytes += record.length;
    }
    return {};
  }

  void restore() {
    // Last record first: the first record of an address holds what was there before the
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
    machine_.pfence(Site{"undo.restore.fence"});  // data restored before the log is emptied
  }

  M& machine_;
  Regions regions_;
  uint64_t epoch_ = 0;
  size_t used_ = 0;             // bytes of log in use
  std::vector<size_t> starts_;  // where its records begin
  std::vector<std::byte> old_;  // staging, kept to avoid an allocation per store
};

}  // namespace holdfast
