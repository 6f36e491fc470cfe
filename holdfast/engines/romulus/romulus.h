// SPDX-License-Identifier: Apache-2.0
//
// Romulus: two copies of the data, at least one of them whole at every instant. (Correia, Felber,
// Ramalhete, SPAA 2018.)
//
// Area      a word {phase, used bytes, checksum}; phase says which copy is whole: IDL both, MUT the
//           twin, CPY main. The log is volatile: it only spares copying what did not change.
// Store     first of a batch: MUT, pwb, pfence. Every: log {where, old bytes}, change main.
// Commit    pwb the changed lines of main, pfence; CPY, pwb, psync: durable; copy the changes to
//           the twin, pwb, pfence; IDL.
// Recovery  IDL nothing; MUT twin to main; CPY main to twin; pwb, pfence; IDL. The state does not
//           change until the copies are equal, so a crash in recovery only repeats it.
// Persists  4 fences (3 pfence, 1 psync) per batch of updates, whatever its size. None for a batch
//           that stores nothing, 2 pfence when all its bodies threw; one more pfence when a batch
//           more than doubles the used bytes of a heap (and passes 256 KiB), because recovery must
//           know how much of main it may have touched.
// Threads   updates run one at a time, combined in batches; a body that throws is undone from the
//           log without disturbing the batch. Readers: see gates.h.
//
// Different from the paper: MUT waits for the first store, so updates that turn out to change
// nothing are free and readers are kept out only while something changes; a reader that writers
// keep overtaking has its body run by the combiner; the left-right read indicator counts visits.
#pragma once

#include "holdfast/engines/romulus/engine.h"

namespace holdfast {

namespace romulus {

struct Basic {
  template <class M>
  using Gate = ExclusiveGate<M>;
  static constexpr bool kFullCopy = true;
  static constexpr Description kDescription = {
      .name = "romulus",
      .title = "two copies, the whole heap copied after each batch",
      .paper = "Romulus 4.5, 5.2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .plain_reads = true,
      .log = "none",
      .fences = "4 per batch",
      .options = kOptions,
      .option_count = 1,
      .area_bytes = &area_bytes,
  };
};

struct Logged {
  template <class M>
  using Gate = ExclusiveGate<M>;
  static constexpr bool kFullCopy = false;
  static constexpr Description kDescription = {
      .name = "romulus-log",
      .title = "two copies, changed ranges copied after each batch",
      .paper = "Romulus 4.7, 5.2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .plain_reads = true,
      .log = "volatile ranges",
      .fences = "4 per batch",
      .options = kOptions,
      .option_count = 1,
      .area_bytes = &area_bytes,
  };
};

struct LoggedLeftRight {
  template <class M>
  using Gate = LeftRightGate<M>;
  static constexpr bool kFullCopy = false;
  static constexpr Description kDescription = {
      .name = "romulus-lr",
      .title = "two copies, readers always on the one at rest",
      .paper = "Romulus 5.3",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .plain_reads = true,
      .log = "volatile ranges",
      .fences = "4 per batch",
      .options = kOptions,
      .option_count = 1,
      .area_bytes = &area_bytes,
  };
};

}  // namespace romulus

/// Full copy of the used bytes per batch: cheapest for batches that change much of a small heap.
template <class M>
using Romulus = romulus::RomulusEngine<M, romulus::Basic>;

/// Copies only what changed. A load is a plain load.
template <class M>
using RomulusLog = romulus::RomulusEngine<M, romulus::Logged>;

/// As RomulusLog, but readers never wait; a load adds an offset.
template <class M>
using RomulusLr = romulus::RomulusEngine<M, romulus::LoggedLeftRight>;

}  // namespace holdfast
