// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/machine/double_word.h"

namespace holdfast::onefile {

/// The cells {value, sequence} of the data's words. A word's address determines its cell, for any
/// object that is allocated there. Sequences only grow. Sequence 0: no transaction has ever stored
/// to the word, and its value is in the data. All threads may load and store at once.
template <class M>
class Cells {
 public:
  explicit Cells(const Regions& regions) : data_(regions.data), cells_(regions.cells) {}

  uint64_t offset_of(const void* word) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(word) - data_);
  }
  DoubleWord* at(uint64_t offset) const {
    return reinterpret_cast<DoubleWord*>(cells_ + 2 * offset);
  }

  struct Seen {
    uint64_t value;
    uint64_t sequence;
  };
  /// Loads the word at `offset` with two loads. If the cell changes in between, the sequence is
  /// newer than the value. A transaction rejects sequences above its start, and transactions up to
  /// its start are over. So an accepted pair belongs together.
  Seen load(uint64_t offset) const {
    const DoubleWord* const cell = at(offset);
    const uint64_t value = M::load_acquire(&cell->first);  // acquire: the sequence is loaded later
    // acquire: check() in onefile_thread.h compares the sequence with `newest`, loaded later
    const uint64_t sequence = M::load_acquire(&cell->second);
    if (sequence == 0) [[unlikely]] {
      // A plain load is enough: the data change only while no transaction runs.
      return {M::load(reinterpret_cast<const uint64_t*>(data_ + offset)), 0};
    }
    return {value, sequence};
  }

  /// Gives the word at `offset` the value of transaction `sequence`, unless it has a value of that
  /// or of a newer transaction. If several threads store the same value, exactly one succeeds.
  /// Tries at most three times, because only one unfinished transaction at a time may store to
  /// cells.
  void store(M& machine, uint64_t offset, uint64_t value, uint64_t sequence) const {
    DoubleWord* const cell = at(offset);
    // Relaxed: sequences only grow, and the compare-exchange fails on a wrong pair and corrects it.
    DoubleWord found = {M::load(&cell->first), M::load(&cell->second)};
    while (found.second < sequence || machine.skips(Site{"onefile.apply.check"})) {
      if (compare_exchange(machine, cell, found, {value, sequence})) {
        return;
      }
    }
  }

 private:
  std::byte* data_;
  std::byte* cells_;
};

}  // namespace holdfast::onefile
