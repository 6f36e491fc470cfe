// SPDX-License-Identifier: Apache-2.0
#include "holdfast/engines/common/log_checksum.h"

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace holdfast {

uint64_t log_checksum(const void* bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

}  // namespace holdfast
