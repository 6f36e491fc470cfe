// SPDX-License-Identifier: Apache-2.0
//
// The replay's progress through all threads' logs, in persistent memory: a table with a checksum,
// stored twice so that it changes atomically.
//
//   table = generation | epoch | time | one position per thread | checksum
//
// A new table overwrites one copy, then the other, with a fence after each. A crash leaves at most
// one of them torn, as long as the copy written first is never the only whole one. The copy with
// the higher generation counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// The table's content.
struct ReplayProgress {
  uint64_t generation = 0;
  uint64_t epoch = 0;  ///< recoveries so far; log content of an earlier epoch is invalid
  uint64_t time = 0;   ///< of the last transaction replayed
  std::vector<uint64_t> positions;  ///< one per thread: everything before it has been replayed
};

/// Bytes of one copy, in whole lines of the longest machine line.
constexpr size_t replay_table_bytes(int threads) {
  constexpr size_t kFixedWords = 4;
  const size_t words = kFixedWords + static_cast<size_t>(threads);
  return round_up(words * 8, kMaxLineBytes);
}

template <class M>
class ReplayTable {
 public:
  ReplayTable(M& machine, std::byte* base, int threads)
      : machine_(machine), base_(base), threads_(static_cast<size_t>(threads)) {
    words_.reserve(kFixedWords + threads_);
  }

  /// Increments the generation and stores the table. Durable at return.
  void write(ReplayProgress& progress, Site site, Site fence) {
    ++progress.generation;
    words_.assign({progress.generation, progress.epoch, progress.time});
    words_.insert(words_.end(), progress.positions.begin(), progress.positions.end());
    words_.push_back(check(words_));
    for (const int i : {1 - newest_, newest_}) {
      std::byte* const to = copy(i);
      M::copy(to, words_.data(), words_.size() * 8);
      machine_.pwb_range(to, words_.size() * 8, site);
      // Separates the copies: one is durable before the other changes. The last fence separates
      // both from the reuse of replayed space.
      machine_.pfence(fence);
    }
  }

  /// Reads the newer whole copy, or nothing if both are damaged.
  std::optional<ReplayProgress> read() {
    const auto first = read(0);
    const auto second = read(1);
    newest_ = first && (!second || first->generation >= second->generation) ? 0 : 1;
    return newest_ == 0 ? first : second;
  }

 private:
  static constexpr size_t kFixedWords = 4;  // with the checksum

  std::byte* copy(int i) const {
    return base_ + static_cast<size_t>(i) * replay_table_bytes(static_cast<int>(threads_));
  }
  static uint64_t check(const std::vector<uint64_t>& words) {
    constexpr uint64_t kSeed = 0x656c626174707268;  // "hrptable"
    return checksum(words.data(), words.size() * 8, kSeed);
  }
  std::optional<ReplayProgress> read(int i) const {
    std::vector<uint64_t> words(kFixedWords + threads_);
    M::copy(words.data(), copy(i), words.size() * 8);
    const uint64_t found = words.back();
    words.pop_back();
    if (found != check(words)) {
      return {};
    }
    return ReplayProgress{words[0], words[1], words[2], {words.begin() + 3, words.end()}};
  }

  M& machine_;
  std::byte* base_;
  size_t threads_;
  int newest_ = 0;
  std::vector<uint64_t>
      words_;  // of write(); its memory is kept, so that write() allocates nothing
};

}  // namespace holdfast
