// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// The 64-bit XXH3 of n bytes. Other threads must not change them meanwhile.
uint64_t checksum(const void* bytes, size_t n, uint64_t seed = 0);

}  // namespace holdfast
