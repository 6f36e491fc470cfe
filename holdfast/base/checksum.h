// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// XXH3 of n bytes of private memory.
uint64_t checksum(const void* bytes, size_t n, uint64_t seed = 0);

}  // namespace holdfast
