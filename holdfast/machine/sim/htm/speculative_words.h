// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/support/masked_word.h"

namespace holdfast::sim {

/// The values that a running transaction will publish, by word. Other threads cannot see them.
class SpeculativeWords {
 public:
  SpeculativeWords() : table_(64, 0) {}

  bool empty() const { return words_.empty(); }
  const std::vector<MaskedWord>& words() const { return words_; }

  void put(const MaskedWord& word) {
    uint32_t& at = slot(word.address);
    if (at == 0) {
      words_.push_back(word);
      at = static_cast<uint32_t>(words_.size());
      if (words_.size() * 2 > table_.size()) {
        grow();
      }
    } else {
      MaskedWord& present = words_[at - 1];
      present.value = word.over(present.value);
      present.mask |= word.mask;
    }
  }

  /// The word's value as the transaction sees it, where memory holds `value`.
  uint64_t over(uintptr_t address, uint64_t value) const {
    const uint32_t at = table_[place(address)];
    return at == 0 ? value : words_[at - 1].over(value);
  }

  void clear() {
    if (!words_.empty()) {
      std::fill(table_.begin(), table_.end(), 0);
      words_.clear();
    }
  }

 private:
  size_t home(uintptr_t address) const { return mix64(address) & (table_.size() - 1); }

  uint32_t& slot(uintptr_t address) { return table_[place(address)]; }
  size_t place(uintptr_t address) const {
    size_t i = home(address);
    while (table_[i] != 0 && words_[table_[i] - 1].address != address) {
      i = (i + 1) & (table_.size() - 1);
    }
    return i;
  }

  void grow() {
    table_.assign(table_.size() * 4, 0);
    for (size_t i = 0; i < words_.size(); ++i) {
      slot(words_[i].address) = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<MaskedWord> words_;  ///< in the order of the first store to each
  std::vector<uint32_t> table_;    ///< index in words_ + 1, or 0; its size is a power of two
};

}  // namespace holdfast::sim
