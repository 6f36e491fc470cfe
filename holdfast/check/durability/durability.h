// SPDX-License-Identifier: Apache-2.0
//
// Judges a crash by the history up to it and the word in each object after recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// The rules of a judgement, apart from the promise about durability.
struct DurabilityOptions {
  size_t most = 1;  ///< limit of findings
  bool real_time = true;
  /// Opaque: a prefix of the commit order is closed under anti-dependencies, too.
  Isolation isolation = Isolation::opaque;
  /// Lagging: everything answered up to this time survives, whatever the bound is; 0: no more than
  /// the bound says.
  uint64_t floor = 0;
};

/// Returns up to `most` violations, the worst first:
///
///   garbage                        a word that names no write into its object
///   rolled-back attempt survived   a value of an attempt that was rolled back
///   intermediate value survived    a value that its own transaction overwrote
///   broken chain                   a survivor replaced a value that is one of the three above
///   half a transaction             one of its writes survived, another one did not
///   survivors not closed under reads-from, survivors not closed under overwrites
///                                  a survivor read from, or overwrote, one that did not survive
///   lost acknowledged update       more than the promise's bound; strict: any
///   lost observation               strict, if promised: a client had seen a write that is missing,
///                                  and was answered, perhaps with an exception of the body
///
/// A write survived if an object holds it, or a value that was built on it. A blind write does not
/// tell which value it replaced. So a write that it may have overwritten is not called lost. If the
/// engine promises to respect real time (`real_time`), a write that came later is called lost.
///
/// If updates may lag, by the promise or by Commit::later, the survivors are also a prefix of the
/// commit order (lost_prefix.h):
///
///   survivors not closed under real time, survivors not closed under a thread's order,
///   survivors not closed under anti-dependencies
///                                  a survivor came later than one that is missing
///   lost durable commit            a transaction that was acknowledged as durable is missing
///   lost before a durable commit   it came later than one that is missing
///   lost below the floor           a transaction answered by then (`floor`) is missing, or came
///                                  later than one that is
///
/// Cost: linear in the history, and with a lag sorting.
std::vector<Finding> check_durability(const History& history,
                                      const std::vector<uint64_t>& recovered_words,
                                      const Promise& promised,
                                      const DurabilityOptions& options = {});

/// Returns how many acknowledged updates are missing or come after a missing transaction.
uint64_t lost_updates(const History& history, const std::vector<uint64_t>& recovered_words,
                      const DurabilityOptions& options = {});

/// By transaction number: whether the transaction survived; [0] is the initial state.
using Survivors = std::vector<bool>;
/// Returns the survivors of a history that check_durability accepts.
///
/// A transaction without a write survives if it was acknowledged and everything that it read
/// survived. So does a blind write of an acknowledged transaction that others may have overwritten.
/// A history that continues after the crash drops the accesses of all other transactions. It also
/// drops the accesses of rolled-back attempts, which may have seen writes that are lost.
Survivors survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                    bool real_time = true);

/// Returns those of the survivors that the words prove, whatever the engine promises: an object
/// holds or had the transaction's write, or such a transaction has read from it.
Survivors proven_survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                           bool real_time = true);

}  // namespace holdfast::check
