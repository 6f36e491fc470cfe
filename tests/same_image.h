// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast {

/// Compares images as memory. In code that is not optimised, operator== takes many times as long.
inline bool same_image(const SimImage& a, const SimImage& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace holdfast
