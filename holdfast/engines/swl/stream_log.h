// SPDX-License-Identifier: Apache-2.0
//
// A log of old bytes that streams through a large area.
//
// Area      first line: where the running transaction's entries begin, and the log's generation
//           behind it: slots of one entry each
// Entry     {offset, check} and the old bytes of one unit. The lowest bit of the offset says that
//           the entry is the first one of a store. `check` covers the entry, its slot, the lap and
//           the generation. So a torn or outdated entry ends the log by itself.
// Append    Write the entries of all units of a store, pwb, pfence: durable before the store.
// Truncate  The next transaction begins behind the last entry. One store of the place of that
//           beginning, which is a lap and a slot, empties the log and commits. The slot behind the
//           last slot is the first one, in the next lap. So consecutive transactions take
//           consecutive slots, and a slot is used again only after all others.
// Recovery  Restore the entries from the beginning on, the last one first; pwb, pfence; generation
//           + 1, pwb, psync. That empties the log, also of entries behind a torn one, which would
//           otherwise look valid behind the next transaction's entries.
// Laps      Their number has 48 bits less those of a slot, and starts again from 0. Each lap
//           overwrites all slots, so a slot never has an entry of the same number of an earlier
//           lap and the same generation.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/undo/sealed_word.h"
#include "holdfast/engines/swl/swl_options.h"

namespace holdfast::swl {

/// The log, in the engine area that `regions` names. One thread at a time may use it.
///
/// write_backs: whether its stores need write-backs to survive.
template <class M, bool write_backs>
class StreamLog {
 public:
  StreamLog(M& machine, const Regions& regions, const Options& options)
      : machine_(machine),
        regions_(regions),
        unit_(SwlOptions::parse(options).value().unit),
        slots_(SwlOptions::parse(options).value().log_bytes / entry_bytes()) {}

  void format() {
    begin_ = {.lap = 1, .slot = 0};
    generation_ = 1;
    M::store(generation_word(), SealedWord::of(generation_));
    M::store(begin_word(), SealedWord::of(begin_.packed()));
    write_back(begin_word(), kLineBytes, Site{"swl.format"});
    // The empty log is durable before the superblock makes the file a heap.
    machine_.psync(Site{"swl.format.sync"});
  }

  /// Saves the n bytes at p, a number of whole units, durably. Throws Error(too_large), changing
  /// nothing, if they do not fit.
  void append(const void* p, size_t n) {
    const size_t count = n / unit_;
    if (count > slots_ - used_) {
      M::reach(Probe{"swl.log.full"});
      throw undo_log_full(slots_ * entry_bytes());
    }
    const Place first = behind(used_);
    for (size_t i = 0; i < count; ++i) {
      write(behind(used_ + i), static_cast<const std::byte*>(p) + i * unit_, i == 0);
    }
    const size_t before_end = std::min(count, slots_ - first.slot);
    write_back(at(first.slot), before_end * entry_bytes(), Site{"swl.entry"});
    if (before_end < count) {
      M::reach(Probe{"swl.log.wraps"});
      write_back(at(0), (count - before_end) * entry_bytes(), Site{"swl.entry.wrapped"});
    }
    // The old bytes are durable in the log before the store that they undo.
    machine_.pfence(Site{"swl.entry.fence"});
    used_ += count;
    written_ += count * entry_bytes();
  }

  /// Empties the log; the transaction is durable on return. Returns the bytes of log written since
  /// the last call.
  size_t finish() {
    if (!machine_.skips(Site{"swl.commit.advance"})) {
      begin_ = behind(used_);
    }
    used_ = 0;
    M::store(begin_word(), SealedWord::of(begin_.packed()));
    write_back(begin_word(), sizeof(uint64_t), Site{"swl.commit"});
    // The commit is durable before the caller, or another transaction, learns of it.
    machine_.psync(Site{"swl.commit.sync"});
    return std::exchange(written_, 0) + sizeof(uint64_t);
  }

  /// Undoes all stores since the last finish().
  void roll_back() {
    if (used_ > 0) {
      restore();
      finish();
    }
  }

  /// Undoes the transaction that a crash interrupted. Code::corrupt, changing nothing, if the log
  /// is damaged.
  Status recover(RecoveryReport& report) {
    const uint64_t begin = M::load(begin_word());
    const uint64_t generation = M::load(generation_word());
    begin_ = Place::unpacked(SealedWord::value(begin));
    generation_ = SealedWord::value(generation);
    if (!SealedWord::is_whole(begin) || !SealedWord::is_whole(generation) ||
        begin_.slot >= slots_) {
      return {Code::corrupt, "the undo log's state is damaged; restore the heap file from a copy"};
    }
    if (Status s = scan(); !s.ok()) {
      return s;
    }
    if (used_ > 0) {
      M::reach(Probe{"swl.recover.interrupted"});
      report.needed = true;
      ++report.transactions;
      report.bytes += used_ * unit_;
      restore();
    }
    used_ = 0;
    if (!machine_.skips(Site{"swl.recover.renew"})) {
      generation_ = (generation_ + 1) & SealedWord::kValueMask;
    }
    M::store(generation_word(), SealedWord::of(generation_));
    write_back(generation_word(), sizeof(uint64_t), Site{"swl.recover.generation"});
    // The log is empty on the medium before a transaction changes bytes that it had saved.
    machine_.psync(Site{"swl.recover.sync"});
    return {};
  }

 private:
  /// A slot of a lap. Both fit into a SealedWord.
  struct Place {
    uint64_t lap;
    size_t slot;

    static constexpr int kSlotBits = 27;  // more than a log of 1 GiB has slots
    static constexpr uint64_t kLapMask = SealedWord::kValueMask >> kSlotBits;
    uint64_t packed() const { return lap << kSlotBits | slot; }
    static Place unpacked(uint64_t value) {
      return {.lap = value >> kSlotBits, .slot = value & ((uint64_t{1} << kSlotBits) - 1)};
    }
  };
  struct Header {
    uint64_t offset;  // the lowest bit: the first entry of a store
    uint64_t check;
  };
  static constexpr uint64_t kFirstOfStore = 1;
  using Entry = std::array<uint64_t, (sizeof(Header) + kLineBytes) / sizeof(uint64_t)>;

  /// Recovery looks at so many slots behind the apparent end for further entries. The bound spares
  /// it from reading all of a long log.
  static constexpr size_t kLookAhead = 64;

  size_t entry_bytes() const { return sizeof(Header) + unit_; }
  uint64_t* begin_word() const { return reinterpret_cast<uint64_t*>(regions_.area); }
  uint64_t* generation_word() const { return begin_word() + 1; }
  std::byte* at(size_t slot) const { return regions_.area + kLineBytes + slot * entry_bytes(); }

  /// The place of entry i of the running transaction.
  Place behind(size_t i) const {
    const size_t slot = begin_.slot + i;
    if (slot < slots_) {
      return {.lap = begin_.lap, .slot = slot};
    }
    const bool turns = !machine_.skips(Site{"swl.lap"});
    return {.lap = (begin_.lap + (turns ? 1 : 0)) & Place::kLapMask, .slot = slot - slots_};
  }

  uint64_t check(const Entry& entry, const Place& place) const {
    const uint64_t seed = mix64(entry[0] ^ mix64(place.packed() ^ mix64(generation_)));
    return holdfast::checksum(entry.data() + sizeof(Header) / sizeof(uint64_t), unit_, seed);
  }

  void write(const Place& place, const std::byte* old, bool first) {
    Entry entry;
    entry[0] = static_cast<uint64_t>(old - regions_.data) | (first ? kFirstOfStore : 0);
    M::copy(entry.data() + sizeof(Header) / sizeof(uint64_t), old, unit_);
    entry[1] = check(entry, place);
    M::copy(at(place.slot), entry.data(), entry_bytes());
  }

  /// Reads an entry. False if it is torn, or not of this transaction.
  bool read(const Place& place, Entry& entry) const {
    M::copy(entry.data(), at(place.slot), entry_bytes());
    return entry[1] == check(entry, place);
  }

  /// Counts the entries of the interrupted transaction. Changes nothing on the medium.
  Status scan() {
    Entry entry;
    for (used_ = 0; used_ < slots_; ++used_) {
      if (!read(behind(used_), entry) && !(entry[0] != 0 && machine_.skips(Site{"swl.check"}))) {
        break;
      }
      const uint64_t offset = entry[0] & ~kFirstOfStore;
      if (offset > regions_.bytes || unit_ > regions_.bytes - offset) {
        return {Code::corrupt,
                "an undo entry points outside the heap; restore the heap file from a copy"};
      }
    }
    // The entries of a store are durable before those of the next store are begun. So only entries
    // of the last store can be torn. If another store follows, the entry at the end is damaged.
    for (size_t i = used_ + 1; i < std::min(slots_, used_ + kLookAhead); ++i) {
      if (read(behind(i), entry) && (entry[0] & kFirstOfStore) != 0) {
        return {Code::corrupt, "an undo entry is damaged; restore the heap file from a copy"};
      }
    }
    return {};
  }

  /// Puts the saved bytes back, durably, and keeps the log.
  void restore() {
    Entry entry;
    for (size_t i = used_; i-- > 0;) {
      static_cast<void>(read(behind(i), entry));
      std::byte* const to = regions_.data + (entry[0] & ~kFirstOfStore);
      M::copy(to, entry.data() + sizeof(Header) / sizeof(uint64_t), unit_);
      write_back(to, unit_, Site{"swl.restore"});
    }
    // The data are durably restored before the log is emptied.
    machine_.pfence(Site{"swl.restore.fence"});
  }

  void write_back(const void* p, size_t n, Site site) {
    if constexpr (write_backs) {
      machine_.pwb_range(p, n, site);
    }
  }

  M& machine_;
  Regions regions_;
  const size_t unit_;
  const size_t slots_;
  Place begin_{.lap = 0, .slot = 0};  // of the running transaction's entries
  uint64_t generation_ = 0;
  size_t used_ = 0;     // entries of the running transaction
  size_t written_ = 0;  // bytes of entries since the last finish()
};

}  // namespace holdfast::swl
