// SPDX-License-Identifier: Apache-2.0
// Format and recovery of Pisces; included by pisces.h.
#pragma once

namespace holdfast {

template <class M>
Status Pisces<M>::format() {
  uint64_t words[PiscesArea::kHeaderWords];
  area_.header(words);
  M::copy(regions_.area, words, sizeof(words));
  machine_.pwb(regions_.area, Site{"pisces.format"});
  // The initial state is durable before the first transaction.
  machine_.psync(Site{"pisces.format.sync"});
  return {};
}

/// Reads a log's block into `words`. Returns false if it is retired, or was cut off before its
/// transaction became visible.
template <class M>
bool Pisces<M>::read_block(int slot, std::vector<uint64_t>& words) const {
  words.resize(CommitBlock::kHeadBytes / 8);
  M::copy(words.data(), log(slot), CommitBlock::kHeadBytes);
  const size_t bytes = claimed_block_bytes(words[1], area_.log_bytes);
  if (words[0] == 0 || bytes == 0) {
    return false;
  }
  words.resize(bytes / 8);
  M::copy(words.data(), log(slot), bytes);
  return block_timestamp(words, seed(slot)).has_value() ||
         machine_.skips(Site{"pisces.recover.check"});
}

template <class M>
Status Pisces<M>::recover(RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  uint64_t expected[PiscesArea::kHeaderWords];
  uint64_t found[PiscesArea::kHeaderWords];
  area_.header(expected);
  M::copy(found, regions_.area, sizeof(found));
  if (!std::equal(std::begin(expected), std::end(expected), std::begin(found))) {
    return {Code::corrupt,
            "the header of the engine area does not fit engine pisces with these options; it is "
            "damaged, or the options differ from those at creation"};
  }
  std::vector<std::vector<uint64_t>> blocks;
  std::vector<uint64_t> words;
  for (int slot = 0; slot < area_.logs; ++slot) {
    if (!read_block(slot, words)) {
      continue;
    }
    bool inside = true;
    const bool whole = for_each_block_record(words, [&](RedoRecord record, const uint64_t*) {
      inside = inside && record.offset < regions_.bytes &&
               record.bytes <= regions_.bytes - record.offset;
    });
    if (!whole || !inside) {
      return {Code::corrupt, "the block in log " + std::to_string(slot) +
                                 " stores outside the heap's data; the heap was left as it is, "
                                 "restore it from a copy"};
    }
    blocks.push_back(words);
  }
  // Only stores from here on, in any order, because the blocks do not overlap.
  for (const auto& block : blocks) {
    for_each_block_record(block, [&](RedoRecord record, const uint64_t* payload) {
      M::copy(regions_.data + record.offset, payload, record.bytes);
      machine_.pwb_range(regions_.data + record.offset, record.bytes, Site{"pisces.recover.home"});
      report.bytes += record.bytes;
    });
  }
  if (blocks.size() > 1) {
    M::reach(Probe{"pisces.recover.several"});
  }
  if (!blocks.empty()) {
    // Separates the home from the retirements: the home is durable before a block is retired.
    machine_.pfence(Site{"pisces.recover.home.fence"});
  }
  bool any = false;
  for (int slot = 0; slot < area_.logs; ++slot) {
    if (M::load(log(slot)) != 0) {
      M::store(log(slot), uint64_t{0});
      machine_.pwb(log(slot), Site{"pisces.recover.retire"});
      any = true;
    }
  }
  if (any) {
    // Separates the retirements from later stores to the same data and logs. Blocks that were cut
    // off are retired too. Otherwise the next block in the log could be cut off as well, so that
    // the medium gets exactly the lines that complete the old one.
    machine_.pfence(Site{"pisces.recover.retire.fence"});
  }
  report.transactions = blocks.size();
  report.needed = !blocks.empty();
  report.text = "replayed " + std::to_string(blocks.size()) + " transactions from the logs";
  return {};
}

}  // namespace holdfast
