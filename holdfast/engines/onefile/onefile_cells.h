// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/engines/engine.h"
#include "holdfast/machine/double_word.h"

namespace holdfast::onefile {

/// The cells {value, sequence} of the data's words. A word's cell is found by its address and stays
/// its own for ever, whatever is allocated there. Sequences only grow; 0: no transaction has ever
/// stored to the word, and its value is in the data.
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
  /// The word at `offset`. Two loads, between which the cell may change: then the sequence is not
  /// below that of the value. Whoever takes no sequence above one that was over when it began has
  /// both from one cell.
  Seen load(uint64_t offset) const {
    const DoubleWord* const cell = at(offset);
    const uint64_t value = M::load_acquire(&cell->first);  // so the sequence is loaded after it
    const uint64_t sequence = M::load(&cell->second);
    if (sequence == 0) [[unlikely]] {
      // The data change only while no transaction runs.
      return {M::load(reinterpret_cast<const uint64_t*>(data_ + offset)), 0};
    }
    return {value, sequence};
  }

  /// Gives the word at `offset` the value of transaction `sequence`, unless it has one of that or a
  /// newer transaction. Whoever else tries to store the same now fails or has succeeded. Tries at
  /// most three times: of all unfinished transactions only one may store to cells.
  void store(M& machine, uint64_t offset, uint64_t value, uint64_t sequence) const {
    DoubleWord* const cell = at(offset);
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
