// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/soft_table.h"

#include <sys/mman.h>

#include <new>

namespace holdfast::native {

SoftTable::SoftTable(bool used) {
  if (!used) {
    return;
  }
  void* memory = mmap(nullptr, kEntries * sizeof(SoftEntry), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  entries_ = static_cast<SoftEntry*>(memory);  // zeroed: unowned entries of version 0
}

SoftTable::~SoftTable() {
  if (entries_ != nullptr) {
    munmap(entries_, kEntries * sizeof(SoftEntry));
  }
}

}  // namespace holdfast::native
