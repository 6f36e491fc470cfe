// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/engines/mnemosyne/commit_record_log.h"
#include "holdfast/engines/mnemosyne/torn_bits.h"
#include "holdfast/engines/parts/durability/replay/tail_word.h"

namespace holdfast::mnemosyne {

/// Mnemosyne's raw word logs with torn bits. The logs are circular, and each word tells in which
/// lap it was written. A transaction is committed once all words of its block have been written.
///
///   head   one word, with a check: where the newest transaction begins that recovery may have to
///          replay, or where the next one will begin. In lines. Positions never wrap.
///
/// Fences: after the block. Truncations have none of their own; two rules replace them:
///  - The owner's next fence, after its next block, makes its head durable. That is before any word
///    of that block can be stored in place.
///  - A transaction that overwrites the stores of another writes back the other's head, before its
///    own fence between data and truncation. So if two transactions stored to the same word, the
///    older one is never left in its log after the newer one has gone from its own.
///
/// Thread safety: a slot's functions are for that slot's thread; the others need all transactions
/// to be over.
///    older one never stays in its log when the newer one is gone from its own.
template <class M>
class TornbitLog {
 public:
  TornbitLog(M& machine, const Regions& regions, const StampedLogsArea& area)
      : machine_(machine),
        regions_(regions),
        area_(area),
        logs_{regions.area + area.log_offset, area.log_bytes, area.logs},
        owners_(make_array<Owner>(machine, static_cast<size_t>(area.logs))),
        packed_(static_cast<size_t>(area.logs)) {}

  /// The largest block, in bytes.
  size_t capacity() const { return area_.log_bytes / 64 * torn_bits::kPayload / 8 * 8; }

  void format() {
    for (int slot = 0; slot < area_.logs; ++slot) {
      M::store(head(slot), encode_tail(0));
      machine_.pwb(head(slot), Site{"mnemosyne.format"});
    }
  }

  /// Writes the block. Durable at return. Returns the bytes written.
  size_t append(int slot, const CommitBlock& block, uint64_t /*time*/) {
    Owner& own = owners_[slot];
    const size_t n = block.bytes() / 8;
    const size_t words = round_up(torn_bits::taken(n), kLineWords);
    auto& out = packed_[static_cast<size_t>(slot)];
    out.resize(words);
    for (size_t i = 0; i < words; ++i) {
      out[i] = torn_bits::packed(block.words(), n, i) | sense(own.position + i);
    }
    const size_t at = own.position % ring();
    const size_t straight = std::min(words, ring() - at);
    write(slot, at, out.data(), straight);
    if (straight < words) {
      M::reach(Probe{"mnemosyne.torn.wraps"});
      write(slot, 0, out.data() + straight, words - straight);
    }
    // Separates the block from the stores in place: it is durable before them, and before any other
    // transaction reads the values.
    machine_.pfence(Site{"mnemosyne.torn.fence"});
    // Relaxed: a hint; a stale value costs one write-back more.
    own.unfenced.store(0, std::memory_order_relaxed);
    own.position += words;
    return words * 8;
  }

  /// The second rule; call it before the fence that makes a transaction's data durable. Relaxed:
  /// the owner of a stripe sees everything that the former owner stored before it released the
  /// stripe.
  void before_truncation() {
    for (const int slot : machine_.scan(area_.logs, Site{"mnemosyne.torn.help"})) {
      if (owners_[slot].unfenced.load(std::memory_order_relaxed) != 0) {
        M::reach(Probe{"mnemosyne.torn.helps"});
        machine_.pwb(head(slot), Site{"mnemosyne.torn.head"});
      }
    }
  }

  /// Moves the head past a transaction whose data is durable in place. Returns the bytes written.
  size_t truncate(int slot) {
    Owner& own = owners_[slot];
    M::store(head(slot), encode_tail(own.position / kLineWords));
    machine_.pwb(head(slot), Site{"mnemosyne.torn.truncate"});
    // Relaxed: the release of the stripes, which comes next, publishes it.
    own.unfenced.store(1, std::memory_order_relaxed);
    return sizeof(uint64_t);
  }

  /// Makes all heads durable. No transaction runs any more.
  void finish() {
    before_truncation();
    // Separates the heads from the return.
    machine_.psync(Site{"mnemosyne.close.sync"});
    for (int slot = 0; slot < area_.logs; ++slot) {
      owners_[slot].unfenced.store(0, std::memory_order_relaxed);  // no other thread runs
    }
  }

  // ---- For recovery.

  /// Adds the committed transactions to `found`. Changes nothing on the medium.
  Status find(std::vector<CommittedBlock>& found) {
    for (int slot = 0; slot < area_.logs; ++slot) {
      const auto lines = decode_tail(M::load(head(slot)));
      if (!lines) {
        return damaged(slot, "the head");
      }
      owners_[slot].position = *lines * kLineWords;
      if (Status status = find_in(slot, found); !status.ok()) {
        return status;
      }
    }
    return {};
  }

  /// Truncates all logs, once the data of all transactions is durable in place. Oldest first, one
  /// by one: a power failure in between must not leave an older transaction without the newer ones
  /// that stored to the same words.
  void truncate_all(const std::vector<CommittedBlock>& found) {
    for (const CommittedBlock& one : found) {
      M::store(head(one.slot), encode_tail(owners_[one.slot].position / kLineWords));
      machine_.pwb(head(one.slot), Site{"mnemosyne.recover.truncate"});
      // Separates this truncation from the next one.
      machine_.pfence(Site{"mnemosyne.recover.truncate.fence"});
    }
    clean();
  }

 private:
  static constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

  struct alignas(kMaxLineBytes) Owner {
    uint64_t position = 0;  ///< in words; used by its own thread
    typename M::template Atomic<uint64_t> unfenced{};
  };

  size_t ring() const { return area_.log_bytes / 8; }
  /// The torn bit of a word at this position. An empty log is all zeros, so the first lap writes
  /// ones.
  uint64_t sense(uint64_t position) const {
    return position / ring() % 2 == 0 ? torn_bits::kTorn : 0;
  }
  uint64_t* head(int slot) const {
    return reinterpret_cast<uint64_t*>(regions_.area + area_.tail_offset +
                                       static_cast<size_t>(slot) * kLineBytes);
  }
  void write(int slot, size_t at, const uint64_t* words, size_t n) {
    machine_.store_nontemporal(logs_.of(slot) + at * 8, words, n * 8, Site{"mnemosyne.torn"});
  }

  /// Reads n words from a position on. Returns false if some were not written in this lap.
  bool read(int slot, uint64_t position, size_t n, std::vector<uint64_t>& words) const {
    logs_.template read<M>(slot, position % ring() * 8, n * 8, words);
    for (size_t i = 0; i < n; ++i) {
      if ((words[i] & torn_bits::kTorn) != sense(position + i) &&
          !machine_.skips(Site{"mnemosyne.recover.check"})) {
        return false;
      }
    }
    return true;
  }

  Status find_in(int slot, std::vector<CommittedBlock>& found) {
    Owner& own = owners_[slot];
    constexpr size_t kHeadWords = CommitBlock::kHeadBytes / 8;
    std::vector<uint64_t> log;
    if (!read(slot, own.position, torn_bits::taken(kHeadWords), log)) {
      return {};
    }
    const size_t bytes = claimed_block_bytes(torn_bits::unpacked(log.data(), 1), capacity());
    if (bytes == 0) {
      return damaged(slot, "the transaction");
    }
    const size_t n = bytes / 8;
    const size_t words = round_up(torn_bits::taken(n), kLineWords);
    if (!read(slot, own.position, words, log)) {
      M::reach(Probe{"mnemosyne.torn.recover.torn"});
      return {};
    }
    CommittedBlock one{0, slot, {}};
    for (size_t i = 0; i < n; ++i) {
      one.words.push_back(torn_bits::unpacked(log.data(), i));
    }
    const auto time = block_timestamp(one.words, seed(slot));
    if (!time) {
      return damaged(slot, "the transaction");
    }
    one.time = *time;
    own.position += words;
    found.push_back(std::move(one));
    return {};
  }

  /// Clears the torn bits of words that look as if they were written in this lap. Such words remain
  /// of a transaction that was cut off. The next transaction overwrites them and may be cut off as
  /// well. Then the old words would pass for its own.
  void clean() {
    bool any = false;
    std::vector<uint64_t> log;
    for (int slot = 0; slot < area_.logs; ++slot) {
      const uint64_t begin = owners_[slot].position;
      logs_.template read<M>(slot, begin % ring() * 8, area_.log_bytes, log);
      for (size_t i = 0; i < log.size(); ++i) {
        const uint64_t now = sense(begin + i);
        if ((log[i] & torn_bits::kTorn) == now && !machine_.skips(Site{"mnemosyne.recover.torn"})) {
          auto* const word = reinterpret_cast<uint64_t*>(logs_.of(slot)) + (begin + i) % ring();
          M::store(word, now ^ torn_bits::kTorn);
          machine_.pwb(word, Site{"mnemosyne.recover.clean"});
          any = true;
        }
      }
    }
    if (any) {
      M::reach(Probe{"mnemosyne.torn.recover.cleans"});
      // Separates the cleared words from new blocks at the same places.
      machine_.pfence(Site{"mnemosyne.recover.clean.fence"});
    }
  }

  M& machine_;
  const Regions regions_;
  const StampedLogsArea area_;
  const RedoLogArea logs_;
  Owner* owners_;
  std::vector<std::vector<uint64_t>> packed_;  ///< one per slot, reused for their memory
};

}  // namespace holdfast::mnemosyne
