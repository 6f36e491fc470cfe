// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

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

}  // namespace holdfast
