// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace holdfast {

/// Calls work(answers) in a child process, which writes a byte to the file `answers` for each
/// answer. Kills the child when it has given `least` answers, and calls see(byte) for all of them.
template <class Work, class See>
void run_and_kill(int least, Work&& work, See&& see) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    std::forward<Work>(work)(ends[1]);
    _exit(1);
  }
  ::close(ends[1]);
  char bytes[256];
  int seen = 0;
  for (ssize_t got = 0; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      see(bytes[i]);
    }
    if (seen < least && seen + got >= least) {
      kill(child, SIGKILL);  // answers in the pipe still count
    }
    seen += static_cast<int>(got);
  }
  ::close(ends[0]);
  int how = 0;
  waitpid(child, &how, 0);
  EXPECT_TRUE(WIFSIGNALED(how)) << how;
}

}  // namespace holdfast
