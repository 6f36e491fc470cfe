// SPDX-License-Identifier: Apache-2.0
//
// Judges whether transactions saw each other as an engine promises.
#pragma once

#include <cstddef>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// Violations of the promised level, at most `most`, the worst first; empty if there is an
/// execution of that level in which everybody saw what the history says.
///
///   opaque     all attempts, also those rolled back and those never answered, saw the states that
///              one serial order of what took effect passes through
///   snapshot   all attempts read from a snapshot, and of two transactions of which neither's
///              snapshot includes the other's commit, at most one wrote any object
///   real_time  who began after another one was answered comes after it (strict serializability,
///              strong snapshot isolation)
///
/// First the faults that a transaction shows alone (local_faults.h), then cycles of dependencies,
/// the shortest of each knot; or, where there are none or only long ones, the shortest that needs
/// real time. Names: anomaly.h. A transaction never answered may have taken effect: it has if
/// anybody saw what it wrote. Exact where writes tell what they replaced; with blind writes, a
/// finding is still a violation, but some violations stay unseen (order_blind_writes). Linear in
/// the history, apart from the sorting of blind writes.
std::vector<Finding> check_isolation(const History& history, Isolation promised, bool real_time,
                                     size_t most = 1);

}  // namespace holdfast::check
