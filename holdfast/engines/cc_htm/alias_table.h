// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "holdfast/engines/parts/basics/stripes.h"
#include "holdfast/machine/machine.h"

namespace holdfast::cc_htm {

/// The alias table: volatile memory that has the newest values of words whose transactions are not
/// retired. A word that has no entry is up to date in its home. Set-associative; an entry is
/// reclaimed when the transaction that last stored to it has retired.
///
/// All accesses go through a hardware transaction, or under the global lock from outside. So the
/// hardware finds conflicts on entries as well.
template <class M>
class AliasTable {
 public:
  struct Entry {
    uint64_t place;  ///< number of the word in the heap, plus 1; 0: empty
    uint64_t value;
    uint64_t id;  ///< of the last transaction that stored to the word
    uint64_t unused;
  };

  AliasTable(M& machine, uint64_t bytes, uint64_t ways)
      : ways_(ways),
        bits_(static_cast<int>(std::bit_width((bytes / sizeof(Entry) + ways - 1) / ways)) - 1),
        entries_(make_zeroed_table<Entry>(machine, count())) {
    if (machine.htm_capabilities().page_faults_abort) {
      for (uint64_t i = 0; i < count(); i += kPageBytes / sizeof(Entry)) {
        M::store(&entries_[i].place, uint64_t{0});
      }
    }
  }

  uint64_t count() const { return (uint64_t{1} << bits_) * ways_; }
  const Entry* entries() const { return entries_; }

  static uint64_t place_of(uint64_t offset) { return offset / sizeof(uint64_t) + 1; }

  /// The entry of a word, or null. `load` loads a word of the table.
  template <class Load>
  Entry* find(uint64_t place, Load&& load) const {
    Entry* const set = set_of(place);
    for (uint64_t way = 0; way < ways_; ++way) {
      if (load(&set[way].place) == place) {
        return &set[way];
      }
    }
    return nullptr;
  }

  /// An entry of the word's set for a word that has none: empty, or the oldest one. Null if the
  /// oldest one has a number of at least `min`.
  template <class Load>
  Entry* victim(uint64_t place, uint64_t min, Load&& load) const {
    Entry* const set = set_of(place);
    Entry* oldest = nullptr;
    uint64_t oldest_id = min;
    for (uint64_t way = 0; way < ways_; ++way) {
      const uint64_t id = load(&set[way].place) == 0 ? 0 : load(&set[way].id);
      if (id < oldest_id) {
        oldest = &set[way];
        oldest_id = id;
      }
    }
    return oldest;
  }

 private:
  Entry* set_of(uint64_t place) const {
    const uint64_t hash = place * 0x9e3779b97f4a7c15;
    const uint64_t set = bits_ == 0 ? 0 : hash >> (64 - bits_);
    return entries_ + set * ways_;
  }

  uint64_t ways_;
  int bits_;  // of the number of sets
  Entry* entries_;
};

}  // namespace holdfast::cc_htm
