// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

namespace holdfast::native {

/// Tells a forked child from the process that created the object. The mappings of a heap do not
/// exist in a forked child; the check turns a crash into an error. The kernel clears the guard's
/// page in a child, so a check costs one load. Thread safe.
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
