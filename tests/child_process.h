// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "holdfast/machine/types.h"

namespace holdfast {

/// Runs `body` in a forked child, which ends with the status that `body` returns. Returns how the
/// child has ended, as waitpid() tells it: 0 means with status 0. An exception ends the child; it
/// must not go on with the parent's tests.
template <class Body>
int end_of_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    const auto run = [&]() noexcept { return static_cast<int>(std::forward<Body>(body)()); };
    _exit(run());
  }
  int how = -1;
  EXPECT_EQ(waitpid(child, &how, 0), child);
  return how;
}

/// Returns whether the system wipes a page at fork on request, by which a child knows what it is.
/// QEMU does not.
inline bool wipes_pages_at_fork() {
  void* const page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const word = static_cast<volatile int*>(page);
  *word = 1;
  const bool asked = madvise(page, kPageBytes, MADV_WIPEONFORK) == 0;
  const int how = end_of_child([&] { return *word; });
  munmap(page, kPageBytes);
  return asked && how == 0;
}

}  // namespace holdfast
