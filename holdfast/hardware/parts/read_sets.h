// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast {

/// The lines that open transactions have loaded, for a design that isolates transactions. Without
/// limit and without time: hardware would mark lines in L1, and keep a signature of those that have
/// left it.
class ReadSets {
 public:
  explicit ReadSets(size_t slots = 0) : lines_(slots) {}

  void loaded(int slot, uint32_t line) {
    std::vector<int>& readers = readers_[line];
    if (std::find(readers.begin(), readers.end(), slot) == readers.end()) {
      readers.push_back(slot);
      lines_[static_cast<size_t>(slot)].push_back(line);
    }
  }

  /// The threads with a transaction that has loaded the line. A copy: to doom one changes the sets.
  std::vector<int> readers(uint32_t line) const {
    const auto found = readers_.find(line);
    return found == readers_.end() ? std::vector<int>() : found->second;
  }

  /// The transaction has ended.
  void end(int slot) {
    for (const uint32_t line : std::exchange(lines_[static_cast<size_t>(slot)], {})) {
      const auto found = readers_.find(line);
      std::erase(found->second, slot);
      if (found->second.empty()) {
        readers_.erase(found);
      }
    }
  }

 private:
  std::vector<std::vector<uint32_t>> lines_;                ///< by slot
  std::unordered_map<uint32_t, std::vector<int>> readers_;  ///< by line: slots
};

}  // namespace holdfast
