// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/support/zeroed_array.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "holdfast/base/status.h"

namespace holdfast::sim {

void* map_zeroed(size_t bytes, bool huge) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(Status(Code::out_of_space, "no address space for " + std::to_string(bytes) +
                                               " bytes of simulator tables: " +
                                               std::generic_category().message(errno)));
  }
  if (huge) {
    madvise(pages, bytes, MADV_HUGEPAGE);  // if it fails, the table is only slower
  }
  return pages;
}

void unmap_zeroed(void* pages, size_t bytes) noexcept {
  munmap(pages, bytes);
}

}  // namespace holdfast::sim
