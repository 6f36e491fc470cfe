// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace holdfast {

/// While it lives, the process gets only so many more bytes of address space, so that a larger
/// allocation fails. Not under a sanitizer, whose own allocations would fail, too.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t more_bytes) {
    getrlimit(RLIMIT_AS, &before_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const uint64_t most = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
    const rlimit limit = {most < before_.rlim_max ? most : before_.rlim_max, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace holdfast
