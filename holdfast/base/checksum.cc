// SPDX-License-Identifier: Apache-2.0
#include "holdfast/base/checksum.h"

#define XXH_INLINE_ALL  // no library to link, and short inputs are inlined
#include <xxhash.h>

namespace holdfast {

uint64_t checksum(const void* bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

}  // namespace holdfast
