// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "holdfast/base/random.h"

namespace holdfast {

/// The first words of an engine area: a magic number, three words that describe the layout, and a
/// checksum. A mismatch reveals other options, another engine's bytes, or damage.
using AreaHeader = std::array<uint64_t, 5>;

inline AreaHeader area_header(uint64_t magic, uint64_t a, uint64_t b, uint64_t c) {
  return {magic, a, b, c, mix64(magic ^ mix64(a ^ mix64(b ^ mix64(c))))};
}

}  // namespace holdfast
