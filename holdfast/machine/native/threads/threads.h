// SPDX-License-Identifier: Apache-2.0
//
// native/threads/: threads of the native machine, their slots, and forked children. This header:
// starting threads.
#pragma once

#include <condition_variable>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "holdfast/base/function_ref.h"

namespace holdfast::native {

/// The processors that the calling thread may run on.
std::vector<int> allowed_processors();

/// Runs f(0) ... f(n - 1) on n new threads and waits for all of them. Rethrows the first exception
/// that left an f. Thread i is pinned to processor i modulo their number, because some schedulers
/// keep several threads on one processor for as long as a benchmark lasts.
void run_pinned(int n, const std::vector<int>& processors, FunctionRef<void(int)> f);

/// Threads that are started while it lasts take no signal that is sent to the process: those are
/// for the program's own threads. They keep the signals of faults and of profilers.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

/// A thread that calls f over and over. After a call that returns false, or gets no memory
/// (bad_alloc), it sleeps for 10 to 200 microseconds. It ends at a MediumFailure; the destructor
/// stops and joins it.
class Background {
 public:
  /// The new thread calls `prepare` first. Returns when that has returned; throws what it throws.
  /// The thread may run on any of these processors.
  Background(std::function<void()> prepare, std::function<bool()> f, std::vector<int> processors);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  void loop(const std::function<bool()>& f);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace holdfast::native
