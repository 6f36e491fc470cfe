// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/machine.h"

namespace holdfast {

/// The words of the data that the current replay has written: one bit for each, in the machine's
/// volatile memory. A page's bits belong to the replayer that owns the page, so replayers share no
/// word here. They are cleared when a replay first meets the page.
template <class M>
class WrittenWords {
 public:
  explicit WrittenWords(M& machine) : machine_(machine) {}

  /// Begins a replay over `bytes` of data. No thread may be in first().
  void begin(size_t bytes) {
    const size_t pages = (bytes + kPageBytes - 1) / kPageBytes;
    if (pages > pages_) {
      // The machine keeps the old tables. Doubling the size bounds their sum.
      const size_t most = std::max(pages, 2 * pages_);
      met_ = make_array<uint64_t>(machine_, most);
      bits_ = make_array<uint64_t>(machine_, most * kWordsOfBits);
      pages_ = most;  // last, because without memory the next replay makes the tables
    }
    ++replay_;
  }

  /// Notes the word at `offset`. Returns true the first time.
  bool first(uint64_t offset) {
    const uint64_t page = offset / kPageBytes;
    uint64_t* const bits = bits_ + page * kWordsOfBits;
    if (M::load(&met_[page]) != replay_) {
      for (size_t i = 0; i < kWordsOfBits; ++i) {
        M::store(&bits[i], uint64_t{0});
      }
      M::store(&met_[page], replay_);
    }
    const uint64_t word = offset % kPageBytes / 8;
    const uint64_t before = M::load(&bits[word / 64]);
    const uint64_t bit = uint64_t{1} << word % 64;
    M::store(&bits[word / 64], before | bit);
    return (before & bit) == 0;
  }

 private:
  static constexpr size_t kWordsOfBits = kPageBytes / 8 / 64;

  M& machine_;
  size_t pages_ = 0;
  uint64_t* met_ = nullptr;  // by page: the last replay that has met it and cleared its bits
  uint64_t* bits_ = nullptr;
  uint64_t replay_ = 0;
};

}  // namespace holdfast
