// SPDX-License-Identifier: Apache-2.0
//
// For tests that do less under a sanitizer. It looks for faults of the code, which a few passes
// over each line show, and each pass takes up to ten times as long. `make test` runs everything.
#pragma once

#include <cstdint>

#include "holdfast/base/sanitizers.h"

namespace holdfast {

inline constexpr bool kSanitized = HOLDFAST_ADDRESS_SANITIZER || HOLDFAST_THREAD_SANITIZER;

/// A search that goes through the same code again and again makes one pass of so many.
inline constexpr int kShare = kSanitized ? 20 : 1;

/// A search that goes through moments looks at one of so many. A prime, so that it does not keep
/// step with the loops of what it looks at.
inline constexpr uint64_t kStep = kSanitized ? 19 : 1;

}  // namespace holdfast
