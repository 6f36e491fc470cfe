// SPDX-License-Identifier: Apache-2.0
//
// Software undo logging as papers on hardware designs compare with: Hercules (ACM TECS 2023),
// section 3, SWL_flush and SWL_eADR. Two engines of one source.
//
// Idea      Save each line before the first store to it, in a log in persistent memory that goes
//           through the caches. `swl-flush` writes log and data back, for memory whose persistence
//           domain begins at the write queue (ADR). `swl-eadr` only fences, for caches that
//           survive.
// Area      one line with the state | the log (stream_log.h), which all threads share, because only
//           one thread writes
// Filter    a hash table of the lines that the running transaction has saved (first_writes.h)
// Store     The filter finds lines without an entry: write their entries, pwb, pfence. Then change
//           the data in place. All stores are logged, the allocator's and those into new blocks
//           too.
// Commit    pwb the changed lines, pfence; the log's beginning behind its last entry, pwb, psync.
// Recovery  Restore the entries, the last one first; pwb, pfence; new generation, pwb, psync.
// Persists  1 pfence per store that needs an entry; 1 pfence and 1 psync per update; none per read.
// swl-eadr  has the same fences and no pwb. A fence empties the store buffer, which does not
//           survive.
// Reads     Readers take the same lock. Everything visible is durable.
// Lock      one for all, as in the engine of the hardware designs, so that only durability differs.
//
// Differences from the paper
//  - The paper shows no log. The format here is the project's; a line with a header of two words
//    writes 80 bytes per line.
//  - The paper's programs log by hand. Here the filter decides, at the cost of its look-ups.
//  - The paper does not say whether threads share a log. Here one lock makes one log enough.
#pragma once

#include "holdfast/engines/swl/first_writes.h"
#include "holdfast/engines/swl/stream_log.h"
#include "holdfast/engines/swl/swl_options.h"
#include "holdfast/engines/undo/one_lock.h"
#include "holdfast/engines/undo/undo_engine.h"

namespace holdfast {
namespace swl {

/// The parts that both engines share; see UndoEngine.
template <bool write_backs>
struct Parts {
  template <class M>
  using Lock = undo::OneLock<M>;
  template <class M>
  using Log = StreamLog<M, write_backs>;
  template <class M>
  using Ranges = FirstWrites<M, write_backs>;
};

struct Flush : Parts<true> {
  static constexpr Description kDescription = {
      .name = "swl-flush",
      .title = "software undo log that streams, with write-backs",
      .paper = "Hercules (ACM TECS 2023), section 3: SWL_flush",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .plain_reads = true,
      .log = "undo, streaming",
      .fences = "2 + one per first store to a line",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
  };
};

struct Eadr : Parts<false> {
  static constexpr Description kDescription = {
      .name = "swl-eadr",
      .title = "software undo log that streams, for caches that survive",
      .paper = "Hercules (ACM TECS 2023), section 3: SWL_eADR",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::in_place,
      .needs_htm = false,
      .needs_lasting_caches = true,
      .plain_reads = true,
      .log = "undo, streaming",
      .fences = "2 + one per first store to a line",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &area_bytes,
  };
};

}  // namespace swl

template <class M>
using SwlFlush = undo::UndoEngine<M, swl::Flush>;

template <class M>
using SwlEadr = undo::UndoEngine<M, swl::Eadr>;

}  // namespace holdfast
