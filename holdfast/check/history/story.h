// SPDX-License-Identifier: Apache-2.0
//
// Drawing a history as text.
#pragma once

#include <string>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// Returns the history as lines for a terminal: one event per line in the order of time, and one
/// column per thread.
///
///      thread 0                     thread 1
///      T1 begins
///        w0 over the initial value
///                                   T2 begins, read-only
///                                     r0 = T1
///      T1 answered
///
/// `until` is the moment of a power failure; later events are left out.
std::string draw_story(const History& history, uint64_t until = kForever);

}  // namespace holdfast::check
