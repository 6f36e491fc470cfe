// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/durability/records/record_table.h"
#include "holdfast/engines/parts/frame/commit_position.h"
#include "holdfast/engines/parts/isolation/combining/store_log.h"
#include "holdfast/engines/quadra/large_batch.h"

namespace holdfast::quadra {

/// The writing side. It serves one batch at a time; the thread that holds the combiner's lock calls
/// it. See CombinedEngine for the contract.
///
///   first store of the batch   keep readers out
///   every store                log the old bytes, for a body that throws; change the working copy
///   a body ends                note its words, or undo its stores               keep(), undo()
///   the batch ends             write its records; psync; let readers in         commit()
///
/// A body with more words than the table has records is a batch of its own. Its words go into a log
/// in the space that the heap lends (large_batch.h), and its old bytes stay until then.
///
/// A record's number is twice the number of its batch. Once main is in place, 1 is added: the
/// record is sealed. Its tag is the number of records in the batch.
template <class M, class Gate>
class Writer {
  using Table = RecordTable<M>;
  static constexpr int kSealBits = 1;
  static constexpr uint64_t kSealed = 1;
  static_assert(kMostRecords >> (64 - WordPlace::kBits) == 0, "a tag holds their number");

 public:
  Writer(M& machine, const Regions& regions, Gate& gate, CommitPosition<M>& commits,
         const RecordArea& area)
      : machine_(machine),
        regions_(regions),
        gate_(gate),
        commits_(commits),
        table_(machine, regions, area, kMagic,
               Stripes(static_cast<int>(std::bit_width(area.records))), kSealBits),
        large_(machine, regions) {}

  Status format() { return table_.format(); }
  Status recover(RecoveryReport& report);
  /// Called by a body. The body's own batch does not use the loan, because it is small.
  void lend(const Loan& loan) { loan_ = loan; }
  /// Brings all words home, so that all records are unused. Called between batches.
  void empty_table() { written_bytes_ += table_.empty(number_); }

  /// Call before a store to p. May throw bad_alloc, changing nothing.
  template <class T>
  void before_store(const T* p) {
    const uint64_t offset = prepare(p);
    const T old = M::load(p);
    uint64_t before = 0;
    std::memcpy(&before, &old, sizeof old);
    log_.append_word(offset, sizeof(T), before);
  }

  /// Call before a store of n > 0 bytes at p. Throws as before_store() does.
  void before_store_range(const void* p, size_t n) {
    log_.append_range(regions_.data, prepare(p), n);
  }

  void start_body() {}

  /// Makes the body's stores part of the batch. Returns false if the batch would then have more
  /// words than there are records. Throws LoanNeeded if the body alone has more, and the loan does
  /// not suffice.
  bool keep() {
    if (log_.bytes() == 0) {
      return true;
    }
    added_.clear();
    const uint64_t room = table_.size() - words_.size();
    for_each_stored_word([&](uint64_t* word) {
      if (added_.size() <= room && words_.find(word) == nullptr) {
        added_.put(word, 0, 0);
      }
    });
    if (added_.size() > room) {
      M::reach(words_.empty() ? Probe{"quadra.large"} : Probe{"quadra.batch_full"});
      return words_.empty() && keep_large();
    }
    table_.reserve(kPool, words_.size() + added_.size());
    // A word that stays there although a later one gets no memory does no harm: its record repeats
    // its value.
    for (const WriteSet::Entry& e : added_.entries()) {
      words_.put(e.word, 0, 0);
    }
    kept_bytes_ += log_.bytes();
    log_.truncate({});
    return true;
  }

  bool full() const { return is_large_; }

  /// Undoes the body's stores. None of them is on the medium.
  void undo() {
    const PhaseScope<M> scope(Phase::roll_back);
    if (!machine_.skips(Site{"quadra.undo"})) {
      log_.restore({}, regions_.data);
    }
    log_.truncate({});
  }

  /// Makes the batch durable and visible. True: the batch stored something.
  bool commit();
  void finish() {
    if (is_large_) [[unlikely]] {
      large_.finish(log_);
      log_.release();
      is_large_ = false;
    }
  }

  bool answers_early() const { return machine_.skips(Site{"quadra.answer"}); }

  /// Bytes stored by kept bodies, and bytes written to persistent memory, since the last call.
  std::pair<uint64_t, uint64_t> take_bytes() {
    return {std::exchange(kept_bytes_, 0), std::exchange(written_bytes_, 0)};
  }

 private:
  static constexpr uint64_t kMagic = 0x3161'7264'6175'7168;  // "hquadra1"
  static constexpr int kPool = 0;  // one slot's pool serves all writers, as they are serial

  /// Keeps readers out from the batch's first store on. Returns the offset of p.
  uint64_t prepare(const void* p) {
    if (!storing_) [[unlikely]] {
      const PhaseScope<M> waiting(Phase::isolation_wait);
      gate_.before_stores();
      storing_ = true;
    }
    return offset_of(p);
  }

  uint64_t offset_of(const void* p) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(p) - regions_.data);
  }

  /// Calls f(word) for each word that the running body has stored to.
  template <class F>
  void for_each_stored_word(F&& f) {
    log_.for_each({}, [&](uint64_t offset, uint64_t n) {
      for_each_word(regions_.data + offset, n, [&](const uint64_t* word, size_t, size_t, uint64_t) {
        f(const_cast<uint64_t*>(word));
      });
    });
  }

  bool keep_large();
  void commit_large();
  void look_up();
  void write_record(WriteSet::Entry& e);
  void write_back_records();

  M& machine_;
  const Regions regions_;
  Gate& gate_;
  CommitPosition<M>& commits_;
  Table table_;
  LargeBatch<M> large_;
  Loan loan_;
  bool is_large_ = false;  // the batch is one body, whose stores are in log_
  uint64_t number_ = 0;    // the last batch that is durable, or being committed
  bool storing_ = false;   // readers are kept out
  StoreLog<M> log_;        // stores of the running body
  WriteSet words_;         // words of the batch's kept bodies; the values are in the working copy
  WriteSet added_;         // words that the body being kept adds
  uint64_t kept_bytes_ = 0;
  uint64_t written_bytes_ = 0;
};

template <class M, class Gate>
bool Writer<M, Gate>::commit() {
  if (!storing_) {
    return false;
  }
  const bool any = !words_.empty() || is_large_;
  if (is_large_) [[unlikely]] {
    commit_large();
  } else if (any) {
    const PhaseScope<M> scope(Phase::log_flush);
    look_up();
    ++number_;
    for (WriteSet::Entry& e : words_.entries()) {
      write_record(e);
    }
    write_back_records();
    // The batch is durable before callers are answered, before readers answer what they have seen
    // of it, and before the next batch. So only the newest batch is ever in doubt.
    commits_.sync(Site{"quadra.record.sync"});
    words_.clear();
  }
  gate_.finished();
  storing_ = false;
  return any;
}

/// Makes a batch of the body, which stores to more words than there are records.
template <class M, class Gate>
bool Writer<M, Gate>::keep_large() {
  const uint64_t bytes = LargeBatch<M>::log_bytes(log_);
  if (bytes > loan_.bytes) {
    M::reach(Probe{"quadra.loan_needed"});
    throw LoanNeeded{bytes};
  }
  large_.reserve();
  added_.release();  // small batches are faster with little memory
  kept_bytes_ += log_.bytes();
  is_large_ = true;
  return true;
}

template <class M, class Gate>
void Writer<M, Gate>::commit_large() {
  const PhaseScope<M> scope(Phase::log_flush);
  // No record may be newer than the log, and none may hold an older value of its words.
  empty_table();
  written_bytes_ += log_.bytes() + large_.commit(log_, loan_);
}

/// Finds the record of each word, and takes unused records for words without one. Empties the table
/// if too few are left.
template <class M, class Gate>
void Writer<M, Gate>::look_up() {
  uint64_t missing = 0;
  for (WriteSet::Entry& e : words_.entries()) {
    e.engine = table_.find(offset_of(e.word));
    missing += e.engine == Table::kNone ? 1 : 0;
  }
  if (!table_.take(kPool, missing)) {
    M::reach(Probe{"quadra.table_full"});
    empty_table();
    for (WriteSet::Entry& e : words_.entries()) {
      e.engine = Table::kNone;
    }
    table_.take(kPool, words_.size());
  }
}

/// Writes one record. It lies in one line, and its stores form a chain of release stores. So the
/// medium shows a beginning of this chain:
///
///   a record in use   {old, -, n} -> back -> open -> count -> main -> sealed. Until open its
///                     meaning is unchanged, because back only repeats main.
///   an unused one     place and count -> back -> open -> main -> sealed. Until open it has no
///                     meaning, because its number is not above base.
template <class M, class Gate>
void Writer<M, Gate>::write_record(WriteSet::Entry& e) {
  const uint64_t offset = offset_of(e.word);
  const uint64_t place = RecordWords::place_of(offset, words_.size());
  const uint64_t open = number_ << kSealBits;
  const bool is_new = e.engine == Table::kNone;
  if (is_new) {
    e.engine = table_.claim(kPool, offset);
    M::store_release(table_.place(e.engine), place);
  }
  const auto* const home = reinterpret_cast<const uint64_t*>(regions_.home + offset);
  const uint64_t old = M::load(is_new ? home : table_.main(e.engine));
  if (!machine_.skips(Site{"quadra.back"})) {
    M::store_release(table_.back(e.engine), old);
  }
  if (!machine_.skips(Site{"quadra.open"})) {
    M::store_release(table_.number(e.engine), open);
  }
  if (machine_.skips(Site{"quadra.seal"})) {
    M::store_release(table_.number(e.engine), open | kSealed);
  }
  if (!is_new) {
    M::store_release(table_.place(e.engine), place);
  }
  M::store_release(table_.main(e.engine), M::load(e.word));
  M::store_release(table_.number(e.engine), open | kSealed);
}

/// Writes back each line of the batch's records about once. The caller fences.
template <class M, class Gate>
void Writer<M, Gate>::write_back_records() {
  LineFilter filter;
  for (const WriteSet::Entry& e : words_.entries()) {
    if (filter.first(e.engine * RecordWords::kBytes / machine_.line_bytes())) {
      machine_.pwb(table_.main(e.engine), Site{"quadra.record"});
    }
  }
  written_bytes_ += words_.size() * RecordWords::kBytes;
}

/// Decides whether the newest batch is durable: it is if all its records are there and sealed. All
/// older batches were durable before the newest one stored anything.
template <class M, class Gate>
Status Writer<M, Gate>::recover(RecoveryReport& report) {
  std::vector<typename Table::RecoveredRecord> found;
  uint64_t newest = 0;
  if (Status status = table_.scan(found, newest); !status.ok()) {
    return status;
  }
  if (Status status = large_.read(); !status.ok()) {
    return status;
  }
  for (const auto& one : found) {
    newest = std::max(newest, one.transaction);
  }
  uint64_t sealed = 0;
  uint64_t count = 0;
  for (const auto& one : found) {
    if (one.transaction == newest && (one.words.number & kSealed) != 0) {
      if (sealed != 0 && one.words.tag() != count) {
        return {Code::corrupt,
                "two records of the last batch of updates disagree about its size; nothing was "
                "changed. Restore the heap file from a copy"};
      }
      ++sealed;
      count = one.words.tag();
    }
  }
  if (sealed > count) {
    return {Code::corrupt,
            "the last batch of updates has more records than it has; nothing was changed. Restore "
            "the heap file from a copy"};
  }
  const bool whole =
      (sealed != 0 && sealed == count) || machine_.skips(Site{"quadra.recover.count"});
  if (!whole && sealed != 0) {
    M::reach(Probe{"quadra.recover.half_sealed"});
  }
  // A log whose entry has not ended is older than all records above base.
  const uint64_t large_bytes = large_.recover();
  table_.settle(
      found, newest, [&](const auto& one) { return whole || one.transaction < newest; }, report);
  if (large_bytes != 0) {
    report.needed = true;
    report.transactions += 1;
    report.bytes += large_bytes;
    report.text += ", finished a large batch of updates from its log";
  }
  number_ = machine_.skips(Site{"quadra.recover.number"}) ? 0 : newest;
  return {};
}

}  // namespace holdfast::quadra
