// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

namespace holdfast::bindings {

/// Lets go of the interpreter's lock while it lives.
///
/// The end of the interpreter ends each daemon thread that asks for the lock. Python before 3.14
/// calls pthread_exit(), which unwinds the stack. No destructor may be left so, and the process
/// would abort. The thread stops here instead until the process has ended, as in Python 3.14.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (const abi::__forced_unwind&) {
      for (;;) {
        pause();
      }
    }
  }

 private:
  PyThreadState* const thread_;
};

}  // namespace holdfast::bindings
