// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// XXH3 of n bytes. `seed` ties the bytes to their owner, so that a log left over from another
/// transaction does not pass for this one.
uint64_t log_checksum(const void* bytes, size_t n, uint64_t seed);

}  // namespace holdfast
