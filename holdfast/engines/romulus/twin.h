// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/romulus/state_word.h"

namespace holdfast::romulus {

/// The two copies of the data, and the header that tells which one is consistent. Only this class
/// knows the format of the medium:
///
///   engine area   0: magic   8: StateWord   (one line; the rest of the area is unused)
///   main, twin    equal byte for byte when idle; pointers in the twin point into main
///
/// Beyond `used` bytes both copies are zero, because nothing was ever committed there. One thread
/// at a time may use it.
template <class M>
class Twin {
 public:
  Twin(M& machine, const Regions& regions) : machine_(machine), regions_(regions) {}

  std::byte* main() const { return regions_.data; }
  std::byte* twin() const { return regions_.twin; }

  void format() {
    M::store(word(0), kMagic);
    mark({.phase = Phase::idle});
    write_back_state(Site{"romulus.format"});
    // The state is durable before the superblock makes the file a heap.
    machine_.psync(Site{"romulus.format.sync"});
  }

  /// Makes the two copies equal again, durably. `used` gets the number of bytes in use. Returns
  /// Code::corrupt, changing nothing, if the state is damaged and the copies differ.
  Status recover(RecoveryReport& report, uint64_t& used) {
    const auto state = StateWord::unpack(M::load(word(1)));
    if (!state || state->used > regions_.bytes) {
      return recover_without_state(report, used);
    }
    used = state->used;
    if (state->phase == Phase::idle) {
      report.text = "both copies were whole";
      return {};
    }
    const bool undo =
        (state->phase == Phase::mutating) != machine_.skips(Site{"romulus.recover.direction"});
    M::reach(undo ? Probe{"romulus.recover.undoes"} : Probe{"romulus.recover.finishes"});
    const uint64_t limit = uint64_t{1} << state->limit_log2;
    report.needed = true;
    report.transactions = 1;
    report.bytes = undo ? std::min<uint64_t>(limit, regions_.bytes) : used;
    report.text =
        undo ? "undid an unfinished batch of updates" : "finished a committed batch of updates";
    // After a killed process the state may have been read from a cache. It decides which copy is
    // overwritten, so it must be durable before that. A power cut must find the same state again.
    write_back_state(Site{"romulus.recover.state"});
    machine_.pfence(Site{"romulus.recover.state.fence"});
    if (!machine_.skips(Site{"romulus.recover.overwrite"})) {
      overwrite(undo ? main() : twin(), undo ? twin() : main(), report.bytes);
    }
    // The copies are equal on the medium before the state says so.
    machine_.pfence(Site{"romulus.recover.fence"});
    mark({.phase = Phase::idle, .used = used});
    finish();
    return {};
  }

  /// Makes the last idle state durable. A batch does not: it leaves that to the next one.
  void finish() {
    write_back_state(Site{"romulus.state.idle"});
    // The idle state is durable before recovery, or close, returns.
    machine_.psync(Site{"romulus.state.idle.sync"});
  }

  void mark(const StateWord& state) { M::store_release(word(1), state.pack()); }
  /// The header lies in one line.
  void write_back_state(Site site) { machine_.pwb(regions_.area, site); }

  /// The offset of the first word below `bytes` in which the copies differ, or `bytes`.
  uint64_t first_difference(uint64_t bytes) const {
    uint64_t at = 0;
    while (at < bytes && M::load(word_at(main(), at)) == M::load(word_at(twin(), at))) {
      at += sizeof(uint64_t);
    }
    return at;
  }

 private:
  // "ROMULUS1", for people. The superblock names the engine, and the state has a checksum.
  static constexpr uint64_t kMagic = 0x31'53'55'4c'55'4d'4f'52;

  uint64_t* word(size_t i) const { return reinterpret_cast<uint64_t*>(regions_.area) + i; }
  static uint64_t* word_at(std::byte* base, uint64_t offset) {
    return reinterpret_cast<uint64_t*>(base + offset);
  }

  /// Equal copies are both whole, so the damaged state was idle.
  Status recover_without_state(RecoveryReport& report, uint64_t& used) {
    if (first_difference(regions_.bytes) < regions_.bytes) {
      return {Code::corrupt,
              "the header of the Romulus engine area is damaged, and the two copies of the data "
              "differ, so it is unknown which of them is whole; nothing was changed. Restore the "
              "heap file from a copy"};
    }
    used = regions_.bytes;
    report.needed = true;
    report.text = "the state was damaged, and both copies are equal";
    M::store(word(0), kMagic);
    mark({.phase = Phase::idle, .used = used});
    finish();
    return {};
  }

  /// Makes `to` equal to `from`; the caller fences. Stores only to words that differ, but writes
  /// all lines back. A line may be equal in a cache only, stored by an earlier recovery that was
  /// killed. Not so over a journal: there memory begins, at opening, with what is durable.
  void overwrite(std::byte* to, std::byte* from, uint64_t bytes) {
    const bool equal_is_durable = machine_.defers_psync();
    for (uint64_t line = 0; line < bytes; line += kLineBytes) {
      bool differs = false;
      for (uint64_t at = line; at < line + kLineBytes; at += sizeof(uint64_t)) {
        const uint64_t right = M::load(word_at(from, at));
        if (M::load(word_at(to, at)) != right) {
          M::store(word_at(to, at), right);
          differs = true;
        }
      }
      if (differs && equal_is_durable) {
        machine_.pwb(to + line, Site{"romulus.recover.copy"});
      }
    }
    if (!equal_is_durable) {
      machine_.pwb_range(to, bytes, Site{"romulus.recover.copy"});
    }
  }

  M& machine_;
  const Regions regions_;
};

}  // namespace holdfast::romulus
