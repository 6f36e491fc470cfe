// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// The bytes of a heap's data region. Twins, cells and logs come on top.
struct HeapSpace {
  uint64_t used = 0;       ///< in allocated blocks, with the heap's own header
  uint64_t free = 0;       ///< in blocks that only blocks of the same size class can reuse
  uint64_t reusable = 0;   ///< free for everything: free runs, and chunks without allocated blocks
  uint64_t untouched = 0;  ///< chunks that were never used
};

}  // namespace holdfast
