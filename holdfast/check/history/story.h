// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// The history as lines for a terminal, one event each in the order of time, one column per thread:
///
///      thread 0          thread 1
///      T1 begins
///        w0 := T1 (was 0)
///                        T2 begins, read-only
///                          r0 = T1
///      T1 answered
///
/// until: when the power failed; what came later is left out.
std::string draw_story(const History& history, uint64_t until = kForever);

}  // namespace holdfast::check
