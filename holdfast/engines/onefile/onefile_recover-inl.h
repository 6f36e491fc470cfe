// SPDX-License-Identifier: Apache-2.0
// OneFile's functions that need no transaction to run: format, recovery, settle. Included by
// onefile.h.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "holdfast/engines/parts/durability/replay/tail_word.h"

namespace holdfast {

template <class M>
Status OneFile<M>::format() {
  M& machine = this->machine_;
  const AreaHeader header = area_.header();
  M::copy(regions_.area, header.data(), sizeof(header));
  machine.pwb(regions_.area, Site{"onefile.format"});
  M::store(base(), encode_tail(0));
  machine.pwb(base(), Site{"onefile.format"});
  const DoubleWord none = onefile::newest_word(0, 0, 0);
  M::store(&newest()->first, none.first);
  M::store(&newest()->second, none.second);
  machine.pwb(newest(), Site{"onefile.format"});
  // The engine area is durable before the superblock makes the file a heap.
  machine.psync(Site{"onefile.format.sync"});
  return {};
}

template <class M>
Status OneFile<M>::recover(RecoveryReport& report) {
  const PhaseScope<M> scope(Phase::replay);
  ScanResult found;
  if (Status status = scan(found); !status.ok()) {
    return status;
  }
  if (found.pending.empty() && found.above.empty() && !is_pending(found.newest)) {
    report.text = "every word was home";
    return {};
  }
  report.needed = true;
  report.transactions = found.pending.empty() ? 0 : 1;
  report.bytes = (found.pending.size() + found.above.size()) * sizeof(uint64_t);
  report.text = "brought " + std::to_string(found.above.size()) +
                " words home from their cells, applied the log of " +
                std::to_string(report.transactions) + " transactions";
  bring_home(found);
  return {};
}

/// Brings the values of all cells into the data. Does nothing if no transaction has run since the
/// last call.
template <class M>
Status OneFile<M>::settle() {
  const PhaseScope<M> scope(Phase::replay);
  finished_newest(this->here());
  ScanResult found;
  Status status = scan(found);
  if (status.ok() && !found.above.empty()) {
    bring_home(found);
  }
  return status;
}

/// Checks everything that bring_home() trusts. Changes nothing.
template <class M>
Status OneFile<M>::scan(ScanResult& found) const {
  AreaHeader header;
  M::copy(header.data(), regions_.area, sizeof(header));
  const auto home = decode_tail(M::load(base()));
  found.newest = load_newest();
  const uint64_t sequence = onefile::sequence_of(found.newest);
  if (header != area_.header() || !home) {
    return foreign_area();
  }
  const uint64_t slot = onefile::slot_of(found.newest);
  const uint64_t entries = onefile::entries_of(found.newest);
  if (found.newest != onefile::newest_word(sequence, slot, entries) || sequence < *home ||
      sequence >> kTailBits != 0 || slot >= static_cast<uint64_t>(area_.logs) ||
      entries > area_.entries()) {
    return {Code::corrupt,
            "the newest transaction is none that there can have been; nothing was changed. Restore "
            "the heap file from a copy"};
  }
  if (Status status = scan_log(found); !status.ok()) {
    return status;
  }
  return sequence == *home ? Status() : scan_cells(found, *home);
}

/// Reads the log of newest, unless an entry has another tag. Such an entry is from a later attempt
/// of the same thread. That attempt began when newest was over, and so durable.
template <class M>
Status OneFile<M>::scan_log(ScanResult& found) const {
  const M& machine = this->machine_;
  std::vector<DoubleWord> entries(onefile::entries_of(found.newest));
  if (entries.empty() || machine.skips(Site{"onefile.recover.log"})) {
    return {};
  }
  M::copy(entries.data(), log(onefile::slot_of(found.newest)), entries.size() * sizeof(DoubleWord));
  const uint64_t tag = tag_of(onefile::sequence_of(found.newest));
  const bool own = std::all_of(entries.begin(), entries.end(), [&](const DoubleWord& entry) {
    return WordPlace::tag(entry.second) == tag;
  });
  if (!own && !machine.skips(Site{"onefile.recover.tag"})) {
    M::reach(Probe{"onefile.recover.later_log"});
    return {};
  }
  for (const DoubleWord& entry : entries) {
    const uint64_t offset = WordPlace::offset(entry.second);
    if (offset >= regions_.bytes) {
      return {Code::corrupt,
              "the log of the newest transaction stores to a word outside the heap's data; nothing "
              "was changed. Restore the heap file from a copy"};
    }
    found.pending.push_back({offset, entry.first});
  }
  return {};
}

/// Finds the cells with a sequence above `above`.
template <class M>
Status OneFile<M>::scan_cells(ScanResult& found, uint64_t above) const {
  // Copies many cells at once: on a simulated machine every access is an event of its own.
  constexpr uint64_t kAtOnce = 64;
  std::array<DoubleWord, kAtOnce> some;
  const uint64_t words = regions_.bytes / sizeof(uint64_t);
  for (uint64_t first = 0; first < words; first += kAtOnce) {
    const uint64_t n = std::min(kAtOnce, words - first);
    M::copy(some.data(), cells_.at(first * sizeof(uint64_t)), n * sizeof(DoubleWord));
    for (uint64_t i = 0; i < n; ++i) {
      if (some[i].second <= above) {
        continue;  // the data have its value
      }
      if (some[i].second > onefile::sequence_of(found.newest)) {
        return {Code::corrupt, "the cell of word " + std::to_string(first + i) +
                                   " is of a transaction that there cannot have been; nothing was "
                                   "changed. Restore the heap file from a copy"};
      }
      found.above.push_back({(first + i) * sizeof(uint64_t), some[i].first});
    }
  }
  return {};
}

/// Applies the pending log to the cells, and brings the found values into the data. base and
/// newest, which tell what is to be done, change after all of it is durable. So recovery after a
/// crash on the way repeats it.
template <class M>
void OneFile<M>::bring_home(const ScanResult& found) {
  M& machine = this->machine_;
  if (!found.pending.empty()) {
    M::reach(Probe{"onefile.recover.pending"});
  }
  for (const Change& change : found.pending) {
    cells_.store(machine, change.offset, change.value, onefile::sequence_of(found.newest));
    machine.pwb(cells_.at(change.offset), Site{"onefile.recover.cell"});
  }
  for (const auto* changes : {&found.above, &found.pending}) {  // the newest values last
    for (const Change& change : *changes) {
      M::store(reinterpret_cast<uint64_t*>(regions_.data + change.offset), change.value);
      home_.add(change.offset);
    }
  }
  home_.write_back(regions_.data, Site{"onefile.home"});
  // Cells and data are durable before base and newest say so.
  machine.pfence(Site{"onefile.home.fence"});
  M::store(base(), encode_tail(onefile::sequence_of(found.newest)));
  machine.pwb(base(), Site{"onefile.base"});
  if (!machine.skips(Site{"onefile.recover.over"})) {
    // Its log may belong to a later attempt by now, so no thread may help with it.
    M::store(&newest()->second, onefile::over(found.newest).second);
    machine.pwb(newest(), Site{"onefile.over"});
  }
  // base and newest are durable before recovery, or close, returns.
  machine.pfence(Site{"onefile.base.fence"});
}

}  // namespace holdfast
