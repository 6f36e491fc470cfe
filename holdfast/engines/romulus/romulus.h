// SPDX-License-Identifier: Apache-2.0
//
// Romulus (Correia, Felber, Ramalhete, SPAA 2018): two copies of the data, main and twin.
//
// Idea      At every instant at least one copy is consistent, and a state word tells which. Updates
//           change main in place. Once main is durable, the twin is brought up to date.
// Area      state word {phase, used bytes, checksum}. The phase tells which copy is consistent: IDL
//           both, MUT the twin, CPY main. A volatile log keeps {place, old bytes} of each store: it
//           limits copying to changed ranges, and undoes a body that throws.
// Store     First of a batch: MUT, pwb, pfence. Every store: log {place, old bytes}, change main.
// Commit    pwb the changed lines of main, pfence; CPY, pwb, psync: durable. Copy the changes to
//           the twin, pwb, pfence; IDL.
// Recovery  IDL: nothing. MUT: copy twin to main. CPY: copy main to twin. pwb, pfence; IDL. The
//           state does not change until the copies are equal, so a crash in recovery only repeats
//           it.
// Persists  3 pfence and 1 psync per batch of updates of any size; none for a batch that stores
//           nothing; 2 pfence if all its bodies threw. One more pfence if a batch more than doubles
//           the used bytes of a heap and passes 256 KiB: recovery must know how much of main the
//           batch may have touched. None per read.
// Lag       (romulus-log) With option lag, batches may stay open: readers are let in, callers are
//           answered, and a later batch makes all of them durable, with 4 fences for the group. MUT
//           stays on the medium meanwhile. A crash loses the group.
// Threads   Updates run one at a time, combined in batches. A body that throws is undone from the
//           log; the rest of the batch stands. Readers: see gates.h.
//
// Differences from the paper
//  - MUT waits for the first store. So an update that changes nothing is free, and readers are kept
//    out only while something changes.
//  - The combiner runs the body of a reader that writers keep overtaking.
//  - The left-right read indicator counts visits; see left_right.h.
#pragma once

#include "holdfast/engines/romulus/engine.h"

namespace holdfast {

namespace romulus {

struct Basic {
  template <class M>
  using Gate = ExclusiveGate<M>;
  static constexpr bool kFullCopy = true;
  static constexpr bool kCanLag = false;
  static constexpr Description kDescription = {
      .name = "romulus",
      .title = "two copies, the whole heap copied after each batch",
      .paper = "Romulus 4.5, 5.2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .answers_behind_psync = true,
      .rewrites_heap = true,
      .plain_reads = true,
      .any_size = true,
      .log = "none",
      .fences = "4 per batch",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
      .promise = &CombinedOptions::promise,
  };
};

struct Logged {
  template <class M>
  using Gate = ExclusiveGate<M>;
  static constexpr bool kFullCopy = false;
  static constexpr bool kCanLag = true;
  static constexpr Description kDescription = {
      .name = "romulus-log",
      .title = "two copies, changed ranges copied after each batch",
      .paper = "Romulus 4.7, 5.2",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .answers_behind_psync = true,
      .lags = true,
      .plain_reads = true,
      .any_size = true,
      .log = "volatile ranges",
      .fences = "4 per batch; with a lag: per group of batches",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
      .promise = &CombinedOptions::promise,
  };
};

struct LoggedLeftRight {
  template <class M>
  using Gate = LeftRightGate<M>;
  static constexpr bool kFullCopy = false;
  static constexpr bool kCanLag = false;
  static constexpr Description kDescription = {
      .name = "romulus-lr",
      .title = "two copies, readers always on the one at rest",
      .paper = "Romulus 5.3",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::twin,
      .needs_htm = false,
      .answers_behind_psync = true,
      .plain_reads = true,
      .any_size = true,
      .log = "volatile ranges",
      .fences = "4 per batch",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
      .promise = &CombinedOptions::promise,
  };
};

}  // namespace romulus

/// Copies all used bytes per batch. Cheapest for batches that change a large part of a small heap.
template <class M>
using Romulus = romulus::RomulusEngine<M, romulus::Basic>;

/// Copies only changed ranges. A load is a plain load.
template <class M>
using RomulusLog = romulus::RomulusEngine<M, romulus::Logged>;

/// As RomulusLog, but readers never wait. A load adds an offset.
template <class M>
using RomulusLr = romulus::RomulusEngine<M, romulus::LoggedLeftRight>;

}  // namespace holdfast
