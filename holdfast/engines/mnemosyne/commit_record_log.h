// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"

namespace holdfast::mnemosyne {

/// A committed transaction that recovery finds in a log.
struct Found {
  uint64_t time;
  int slot;
  std::vector<uint64_t> words;  ///< its CommitBlock
};

inline uint64_t seed(int slot) {
  return mix64(static_cast<uint64_t>(slot) + 1);
}

inline Status damaged(int slot, const std::string& what) {
  return {Code::corrupt, what + " of log " + std::to_string(slot) +
                             " is damaged; the heap was left as it is, restore it from a copy"};
}

/// Logs that hold one transaction each, which is committed when there is a commit record.
///
///   commit record   one word: 48 bits of the time, 16 of its check; 0: none
///
/// Fences: block, commit record, truncation.
template <class M>
class CommitRecordLog {
 public:
  CommitRecordLog(M& machine, const Regions& regions, const StampedLogsArea& area)
      : machine_(machine), regions_(regions), area_(area) {}

  size_t capacity() const { return area_.log_bytes; }

  void format() {
    for (int slot = 0; slot < area_.logs; ++slot) {
      M::store(record(slot), uint64_t{0});
      machine_.pwb(record(slot), Site{"mnemosyne.format"});
    }
  }

  /// Makes the block durable; then it will be replayed. Returns how many bytes were written.
  size_t append(int slot, const CommitBlock& block, uint64_t time) {
    machine_.store_nontemporal(log(slot), block.words(), block.bytes(), Site{"mnemosyne.log"});
    machine_.pfence(Site{"mnemosyne.log.fence"});  // whole before a commit record calls it so
    const uint64_t commit = sealed(time);
    machine_.store_nontemporal(record(slot), &commit, sizeof commit, Site{"mnemosyne.commit"});
    // The commit is durable before anything is stored in place, and before anybody can see it.
    machine_.pfence(Site{"mnemosyne.commit.fence"});
    return block.bytes() + sizeof commit;
  }

  /// Nothing to be done: truncations are durable before anybody stores over what they withdraw.
  void before_truncation() {}

  /// The transaction's data are durable where they belong: it must not be replayed any more.
  size_t truncate(int slot) {
    M::store(record(slot), uint64_t{0});
    machine_.pwb(record(slot), Site{"mnemosyne.truncate"});
    // Durable before the stripes are given up: replayed later it would undo what others store.
    machine_.pfence(Site{"mnemosyne.truncate.fence"});
    return sizeof(uint64_t);
  }

  void finish() {}

  // ---- for recovery

  /// Adds what was committed to `found`. Changes nothing.
  Status find(std::vector<Found>& found) {
    for (int slot = 0; slot < area_.logs; ++slot) {
      const uint64_t commit = M::load(record(slot));
      if (commit == 0) {
        continue;
      }
      const uint64_t time = commit & kTimeMask;
      Found one{time, slot, std::vector<uint64_t>(CommitBlock::kHeadBytes / 8)};
      M::copy(one.words.data(), log(slot), CommitBlock::kHeadBytes);
      const size_t bytes = claimed_block_bytes(one.words[1], area_.log_bytes);
      if (commit != sealed(time) || bytes == 0) {
        return damaged(slot, "the commit record");
      }
      one.words.resize(bytes / 8);
      M::copy(one.words.data(), log(slot), bytes);
      const auto written = block_timestamp(one.words, seed(slot));
      if (!written || (*written & kTimeMask) != time) {
        return damaged(slot, "the transaction");
      }
      found.push_back(std::move(one));
    }
    return {};
  }

  /// After all of them are durable where they belong. They do not overlap: any order will do.
  void truncate_all(const std::vector<Found>& found) {
    for (const Found& one : found) {
      M::store(record(one.slot), uint64_t{0});
      machine_.pwb(record(one.slot), Site{"mnemosyne.recover.truncate"});
    }
    if (!found.empty()) {
      machine_.pfence(Site{"mnemosyne.recover.truncate.fence"});  // before they are stored over
    }
  }

 private:
  static constexpr uint64_t kTimeMask = (uint64_t{1} << 48) - 1;
  static uint64_t sealed(uint64_t time) {
    return (time & kTimeMask) | (mix64(time & kTimeMask) & ~kTimeMask);
  }

  uint64_t* record(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + area_.tail_offset +
                                       static_cast<size_t>(slot) * kLineBytes);
  }
  std::byte* log(int slot) const {
    return regions_.area + area_.log_offset + static_cast<size_t>(slot) * area_.log_bytes;
  }

  M& machine_;
  const Regions regions_;
  const StampedLogsArea area_;
};

}  // namespace holdfast::mnemosyne
