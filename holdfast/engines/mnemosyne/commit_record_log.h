// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/durability/stamped/commit_block.h"
#include "holdfast/engines/parts/durability/stamped/stamped_logs_area.h"

namespace holdfast::mnemosyne {

/// A committed transaction that recovery has found in a log.
struct CommittedBlock {
  uint64_t time;
  int slot;
  std::vector<uint64_t> words;  ///< its CommitBlock
};

/// Seed of the checksums of a slot's blocks.
inline uint64_t seed(int slot) {
  return mix64(static_cast<uint64_t>(slot) + 1);
}

inline Status damaged(int slot, const std::string& what) {
  return {Code::corrupt, what + " of log " + std::to_string(slot) +
                             " is damaged; the heap was left as it is, restore it from a copy"};
}

/// Logs that hold one transaction each. It is committed once its log has a commit record.
///
///   commit record   one word: 48 bits of the time, 16 of its check; 0: none
///
/// Fences: after the block, the commit record, and the truncation.
///
/// Thread safety: a slot's functions are for that slot's thread; the others need all transactions
/// to be over.
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

  /// Writes the block and the commit record. Durable at return. Returns the bytes written.
  size_t append(int slot, const CommitBlock& block, uint64_t time) {
    machine_.store_nontemporal(log(slot), block.words(), block.bytes(), Site{"mnemosyne.log"});
    // Separates the block from the commit record: the block is whole before the record says so.
    machine_.pfence(Site{"mnemosyne.log.fence"});
    const uint64_t commit = sealed(time);
    machine_.store_nontemporal(record(slot), &commit, sizeof commit, Site{"mnemosyne.commit"});
    // Separates the commit from the stores in place: it is durable before them, and before any
    // other transaction reads the values.
    machine_.pfence(Site{"mnemosyne.commit.fence"});
    return block.bytes() + sizeof commit;
  }

  /// Does nothing: a truncation is durable before another transaction overwrites the data it
  /// covers.
  void before_truncation() {}

  /// Removes the commit record of a transaction whose data is durable in place. Durable at return.
  /// Returns the bytes written.
  size_t truncate(int slot) {
    M::store(record(slot), uint64_t{0});
    machine_.pwb(record(slot), Site{"mnemosyne.truncate"});
    // Separates the truncation from the release of the stripes: a later replay would undo the
    // stores of other transactions.
    machine_.pfence(Site{"mnemosyne.truncate.fence"});
    return sizeof(uint64_t);
  }

  void finish() {}

  // ---- For recovery.

  /// Adds the committed transactions to `found`. Changes nothing.
  Status find(std::vector<CommittedBlock>& found) {
    for (int slot = 0; slot < area_.logs; ++slot) {
      const uint64_t commit = M::load(record(slot));
      if (commit == 0) {
        continue;
      }
      const uint64_t time = commit & kTimeMask;
      CommittedBlock one{time, slot, std::vector<uint64_t>(CommitBlock::kHeadBytes / 8)};
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

  /// Removes all commit records, once the data of all is durable in place. In any order, because
  /// the transactions do not overlap.
  void truncate_all(const std::vector<CommittedBlock>& found) {
    for (const CommittedBlock& one : found) {
      M::store(record(one.slot), uint64_t{0});
      machine_.pwb(record(one.slot), Site{"mnemosyne.recover.truncate"});
    }
    if (!found.empty()) {
      // Separates the truncations from later stores to the same data.
      machine_.pfence(Site{"mnemosyne.recover.truncate.fence"});
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
