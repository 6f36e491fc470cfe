// SPDX-License-Identifier: Apache-2.0
//
// The literature's names for cycles of dependencies.
//
//   dirty write                 only overwrites (G0)
//   circular information flow   overwrites and reads (G1c)
//   lost update                 two transactions read the same version and replaced it (P4)
//   fractured read              a transaction saw some of another's writes and missed others
//   read skew                   one anti-dependency, closed through several transactions (G-single)
//   write skew                  only anti-dependencies, of different objects (A5B, G2-item)
//   read-only anomaly           write skew that only a reader makes visible
//                               (Fekete, O'Neil, O'Neil)
//   long fork                   two readers saw two writers in opposite orders
//   anti-dependency cycle       any other cycle with two or more anti-dependencies (G2-item)
//   stale read                  a transaction missed a write that was acknowledged before it began
//   real-time order violation   any other cycle that exists only because of real time
#pragma once

#include <string>
#include <vector>

#include "holdfast/check/history/finding.h"

namespace holdfast::check {

/// Returns the name of a cycle of dependencies.
std::string anomaly_name(const std::vector<Step>& cycle, const History& history);

}  // namespace holdfast::check
