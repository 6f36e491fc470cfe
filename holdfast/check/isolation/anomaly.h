// SPDX-License-Identifier: Apache-2.0
//
// What the literature calls a cycle of dependencies.
//
//   dirty write                 only overwrites (G0)
//   circular information flow   overwrites and reads (G1c)
//   lost update                 two transactions read the same version and replaced it (P4)
//   fractured read              found some of a transaction's writes and missed others
//   read skew                   one anti-dependency, closed through several transactions (G-single)
//   write skew                  only anti-dependencies, of different objects (A5B, G2-item)
//   read-only anomaly           write skew that only a reader makes visible (Fekete, O'Neil,
//   O'Neil) long fork                   two readers saw two writers in opposite orders
//   anti-dependency cycle       any other with two or more (G2-item)
//   stale read                  missed what had been acknowledged before it began
//   real-time order violation   any other that is a cycle only because of real time
#pragma once

#include <string>
#include <vector>

#include "holdfast/check/history/finding.h"

namespace holdfast::check {

std::string anomaly_name(const std::vector<Step>& cycle, const History& history);

}  // namespace holdfast::check
