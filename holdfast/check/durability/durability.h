// SPDX-License-Identifier: Apache-2.0
//
// Judges what a crash left: the history up to it, and the word found in each object after recovery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Violations, at most `most`, the worst first:
///
///   garbage                        a word that names no write into its object
///   rolled-back attempt survived   a value of an attempt that was rolled back
///   intermediate value survived    a value that its own transaction overwrote
///   broken chain                   a survivor replaced a value that is one of the three above
///   half a transaction             one of its writes survived, another one did not
///   survivors not closed under reads-from, survivors not closed under overwrites
///                                  a survivor read from, or overwrote, one that did not survive
///   lost acknowledged update       unless `promised` is none; with lagging, more than `lag_bound`
///   lost observation               strict only: somebody was answered, be it with an exception of
///                                  the body, who had seen what is missing
///
/// A write survived if it is found, or if what was found was built on it. A blind write does not
/// say what it replaced: what it may have overwritten is given the benefit of the doubt, unless it
/// came later, which real time tells if the engine promises to respect it (`real_time`).
/// Linear in the history.
std::vector<Finding> check_durability(const History& history,
                                      const std::vector<uint64_t>& recovered_words,
                                      Durability promised, uint64_t lag_bound, size_t most = 1,
                                      bool real_time = true);

/// By transaction number; [0] is the initial state. Of a history that check_durability accepts:
/// those with whose effects, or after whose answers, it goes on. Transactions without a write
/// survive if they were acknowledged and all they read did; so do blind writes of acknowledged
/// transactions which others may have overwritten. A history that is to be continued drops the
/// accesses of all others, and those of rolled-back attempts, which may have seen what is gone.
using Survivors = std::vector<bool>;
Survivors survivors(const History& history, const std::vector<uint64_t>& recovered_words,
                    bool real_time = true);

}  // namespace holdfast::check
