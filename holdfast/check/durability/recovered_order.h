// SPDX-License-Identifier: Apache-2.0
//
// Judges whether one order of the transactions explains the recovered words together with all that
// clients were answered. check_durability looks at the writes of each object, and cannot order
// blind writes that overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "holdfast/check/durability/durability.h"
#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Returns up to `options.most` violations of a history and words that check_durability accepts. A
/// transaction that reads all recovered words, after everything that was answered, must fit the
/// promised isolation.
///
///   survivors without an order     no order of the transactions leaves the recovered words
///
/// Without a promise that all answered updates and observations survive, or with Commit::later, the
/// survivors are a prefix, and answered transactions may lie behind it. The order then has only
/// those whose survival the words prove; answers of durable transactions are left out, too. Returns
/// nothing if nothing is promised.
///
/// Cost: that of check_isolation.
std::vector<Finding> check_recovered_order(const History& history,
                                           const std::vector<uint64_t>& recovered_words,
                                           const Promise& promised,
                                           const DurabilityOptions& options = {});

}  // namespace holdfast::check
