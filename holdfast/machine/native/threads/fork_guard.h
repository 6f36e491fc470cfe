// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

namespace holdfast::native {

/// Knows whether this is the process that made it. The mappings of a heap do not exist in a forked
/// child; with this, one can say so instead of crashing. The kernel clears the page in a child, so
/// asking costs a load.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool forked_child() const { return page_ != nullptr ? *page_ == 0 : getpid() != process_; }

 private:
  volatile unsigned char* page_ = nullptr;
  pid_t process_;
};

}  // namespace holdfast::native
