// SPDX-License-Identifier: Apache-2.0
#include "holdfast/heap/heap_bounds.h"

namespace holdfast {

void throw_damaged(const std::string& what) {
  throw Error(Status(Code::corrupt, what +
                                        " is damaged; list the damage with `holdfast check`, and "
                                        "restore the file from a copy"));
}

void throw_wild_pointer(uint64_t offset) {
  throw_damaged("a pointer to offset " + std::to_string(static_cast<int64_t>(offset)) +
                ", where no block of the heap can be,");
}

}  // namespace holdfast
