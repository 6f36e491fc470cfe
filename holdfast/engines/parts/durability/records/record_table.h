// SPDX-License-Identifier: Apache-2.0
//
// A table of records {main, back, number, place} beside the home, for words of the heap that
// transactions have stored to. Common to Trinity and Quadra, whose papers put such a record in the
// place of each word of the heap. Here a heap is made of plain words, so a word gets a record from
// the table when a transaction first stores to it.
//
//   a word's durable value   in its record if it has one whose number is above `base`, else in the
//                            home
//   store                    back := old, place, number, main := new. All are in one line, so they
//                            reach the medium in this order too. A word that has no record gets an
//                            unused one.
//   empty                    when no record is left: all main -> home, pwb; pfence; base := newest
//                            number, pwb; pfence; no word has a record
//   recover                  every record above base: main or back, as the engine decides -> home,
//                            pwb; pfence; base, pwb; pfence
//
// Recovery changes no record and moves base last, so recovery after a crash repeats it. Only the
// owner of a word's stripe stores to the word's record, and to the list it is in.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/durability/records/record_area.h"
#include "holdfast/engines/parts/durability/records/record_words.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"

namespace holdfast {

/// The table.
///
/// Thread safety: in a commit, a slot's thread calls find() and claim() for stripes it owns, and
/// take() for its slot. The other functions need that no commit is in progress.
template <class M>
class RecordTable {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  /// All words of an entry of `stripes` share one list. A record's number is a transaction's
  /// number, with `low_bits` bits below it for the engine.
  RecordTable(M& machine, const Regions& regions, const RecordArea& area, uint64_t magic,
              const Stripes& stripes, int low_bits)
      : machine_(machine),
        regions_(regions),
        area_(area),
        magic_(magic),
        low_bits_(low_bits),
        stripes_(stripes),
        heads_(make_zeroed_table<Link>(machine, stripes.count())),
        links_(make_zeroed_table<Link>(machine, area.records)),
        used_(make_object<Used>(machine)),
        spare_(static_cast<size_t>(machine.slots())),
        lines_(machine) {
    lines_.reserve(area.records);  // a commit may empty the table, when nothing may fail any more
  }

  uint64_t size() const { return area_.records; }
  int marks() const { return area_.marks; }
  uint64_t* mark(int i) const {
    return word_at(area_.mark_offset + static_cast<size_t>(i) * RecordArea::kMarkBytes);
  }

  Status format();

  // ---- In a commit.

  /// The record of the word at `offset`, or kNone. Relaxed loads: the caller owns the stripe, and
  /// the former owner's release of it came before.
  uint64_t find(uint64_t offset) const {
    uint64_t next = heads_[stripes_.of(offset)].load(std::memory_order_relaxed);
    while (next != 0) {
      const uint64_t link = links_[next - 1].load(std::memory_order_relaxed);
      if (offset_of(link) == offset) {
        return next - 1;
      }
      next = link & kNextMask;
    }
    return kNone;
  }

  /// Takes the memory for take(slot, n), which allocates nothing then. Otherwise both may throw
  /// bad_alloc. Not while the table is emptied: that changes the lists of all slots.
  void reserve(int slot, uint64_t n) { spare_[static_cast<size_t>(slot)].reserve(n + kTaken - 1); }

  /// Reserves n unused records for `slot`. Returns false if there are too few.
  bool take(int slot, uint64_t n) {
    auto& spare = spare_[static_cast<size_t>(slot)];
    while (spare.size() < n) {
      const uint64_t first = used_->count.fetch_add(kTaken);
      if (first >= size()) {
        return false;
      }
      for (uint64_t record = first + kTaken; record-- > first;) {
        spare.push_back(record);
      }
    }
    return true;
  }

  /// Assigns a reserved record to the word at `offset`, which has none.
  uint64_t claim(int slot, uint64_t offset) {
    auto& spare = spare_[static_cast<size_t>(slot)];
    const uint64_t record = spare.back();
    spare.pop_back();
    Link& head = heads_[stripes_.of(offset)];
    // Relaxed, all: the caller owns the stripe, and the former owner's release of it came before.
    const uint64_t next = head.load(std::memory_order_relaxed);
    links_[record].store((offset / sizeof(uint64_t) + 1) << kNextBits | next,
                         std::memory_order_relaxed);
    head.store(record + 1, std::memory_order_relaxed);
    return record;
  }

  /// The words of a record on the medium.
  uint64_t* main(uint64_t record) const { return word(record, 0); }
  uint64_t* back(uint64_t record) const { return word(record, 1); }
  uint64_t* number(uint64_t record) const { return word(record, 2); }
  uint64_t* place(uint64_t record) const { return word(record, 3); }

  // ---- When no commit is in progress.

  /// Brings all words home, so that no record is in use. No transaction up to `upto` may still
  /// store to one. Returns the bytes stored.
  uint64_t empty(uint64_t upto);

  /// A record that recovery has found.
  struct RecoveredRecord {
    RecordWords words;
    uint64_t transaction = 0;
  };
  /// Collects all records above base, and stores the base in `newest`. Fails with Code::corrupt
  /// unless header and records are valid. Changes nothing.
  Status scan(std::vector<RecoveredRecord>& found, uint64_t& newest);
  /// Brings home main of the records that are `committed`, and back of the others. Durable at
  /// return.
  template <class F>
  void settle(const std::vector<RecoveredRecord>& found, uint64_t newest, F&& committed,
              RecoveryReport& report);

 private:
  using Link = typename M::template Atomic<uint64_t>;
  struct alignas(kMaxLineBytes) Used {
    Link count{};
  };
  static constexpr uint64_t kTaken = 4;  // reserved at once: a line of the longest kind

  // A link: a word of the heap, plus 1; below it, the next record of the list, plus 1. 0: the
  // record belongs to no word.
  static constexpr int kNextBits = 22;
  static constexpr uint64_t kNextMask = (uint64_t{1} << kNextBits) - 1;
  static_assert(kMostRecords < kNextMask && WordPlace::kBits + kNextBits < 64);
  static uint64_t offset_of(uint64_t link) { return ((link >> kNextBits) - 1) * sizeof(uint64_t); }

  uint64_t* word_at(size_t offset) const {
    return reinterpret_cast<uint64_t*>(regions_.area + offset);
  }
  uint64_t* word(uint64_t record, size_t i) const {
    return word_at(area_.record_offset + record * RecordWords::kBytes) + i;
  }
  uint64_t* base() const { return word_at(RecordArea::kBaseOffset); }
  std::string flaw(const RecoveredRecord& found) const;
  void persist_base(uint64_t upto, Site site, Site fence);

  M& machine_;
  Regions regions_;
  const RecordArea area_;
  const uint64_t magic_;
  const int low_bits_;
  const Stripes stripes_;
  Link* heads_;  // by stripe: the first record of its list, plus 1
  Link* links_;  // by record
  Used* used_;   // records below this have been reserved since the table was empty
  std::vector<std::vector<uint64_t>> spare_;  // by slot: reserved, and assigned to no word yet
  HomeLines<M> lines_;                        // to be written back
};

}  // namespace holdfast

#include "holdfast/engines/parts/durability/records/record_table_home-inl.h"
