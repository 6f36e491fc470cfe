// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

namespace holdfast {

/// An object in memory that this process shares with its children. They find it at its address.
template <class T>
class SharedObject {
 public:
  SharedObject()
      : memory_(
            ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) {
      throw std::bad_alloc();
    }
    new (memory_) T;
  }
  ~SharedObject() {
    get()->~T();
    ::munmap(memory_, sizeof(T));
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  T& operator*() { return *get(); }
  T* operator->() { return get(); }

 private:
  T* get() { return static_cast<T*>(memory_); }

  void* memory_;
};

/// Stops the calling process, all of its threads.
inline void stop_here() {
  ::kill(::getpid(), SIGSTOP);
}

/// Calls work() in a child process. A child that calls stop_here() stands still, each thread
/// between two instructions, as if it had been killed there. Then see() is called, and the child
/// goes on. Fails if an assertion of the child fails, or an exception leaves work().
template <class Work, class See>
void run_with_stops(Work&& work, See&& see) {
  std::fflush(nullptr);  // else the child would print it, too
  const pid_t child = fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      std::forward<Work>(work)();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    } catch (...) {
      ADD_FAILURE() << "an exception has left the child's work";
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int how = 0;
  while (waitpid(child, &how, WUNTRACED) == child && WIFSTOPPED(how)) {
    see();
    ::kill(child, SIGCONT);
  }
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << "the child ended with " << how;
}

}  // namespace holdfast
