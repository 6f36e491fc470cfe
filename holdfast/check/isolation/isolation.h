// SPDX-License-Identifier: Apache-2.0
//
// Judges whether a history has the isolation that an engine promises.
#pragma once

#include <cstddef>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Returns up to `most` violations of the promised level, the worst first. There is none if some
/// execution of that level explains all values in the history.
///
///   opaque     all attempts, also attempts that were rolled back or never answered, saw states of
///              one serial order of the transactions that took effect
///   snapshot   all attempts read from a snapshot. If neither of two transactions has the other's
///              commit in its snapshot, they wrote no common object
///   real_time  a transaction that began after the answer of another one comes after it (strict
///              serializability, strong snapshot isolation)
///
/// The faults of single transactions come first (local_faults.h). The shortest cycle of
/// dependencies of each component follows. If there is no cycle, or only long ones, the shortest
/// cycle that needs real time comes before them. anomaly.h has the names.
///
/// A transaction without an answer took effect if another one saw its write. The result is exact if
/// writes tell which version they replaced. With blind writes every finding is a violation, but
/// some violations are not found (order_blind_writes).
///
/// Cost: linear in the history, except for sorting blind writes.
std::vector<Finding> check_isolation(const History& history, Isolation promised, bool real_time,
                                     size_t most = 1);

}  // namespace holdfast::check
