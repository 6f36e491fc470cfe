// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/threads/fork_guard.h"

#include <sys/mman.h>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

ForkGuard::ForkGuard() : process_(getpid()) {
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return;
  }
  if (madvise(page, kPageBytes, MADV_WIPEONFORK) != 0) {  // before Linux 4.14
    munmap(page, kPageBytes);
    return;
  }
  page_ = static_cast<unsigned char*>(page);
  *page_ = 1;
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) {
    munmap(const_cast<unsigned char*>(page_), kPageBytes);
  }
}

}  // namespace holdfast::native
