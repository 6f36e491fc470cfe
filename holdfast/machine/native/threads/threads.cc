// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/threads/threads.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <exception>
#include <future>
#include <new>

#include "holdfast/machine/machine.h"

namespace holdfast::native {
namespace {

void run_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) {
    CPU_SET(static_cast<size_t>(processor), &set);
  }
  // This fails if the processors were taken away meanwhile. The thread then runs where it can.
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

}  // namespace

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<size_t>(i), &set)) {
        processors.push_back(i);
      }
    }
  }
  return processors;
}

void run_pinned(int n, const std::vector<int>& processors, FunctionRef<void(int)> f) {
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;  // joins, also when starting one of them fails
    threads.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      threads.emplace_back([&, i] {
        if (!processors.empty()) {
          run_on({processors[static_cast<size_t>(i) % processors.size()]});
        }
        try {
          f(i);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) {
            failure = std::current_exception();
          }
        }
      });
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

NoSignals::NoSignals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) {
    sigdelset(&signals, own);
  }
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

Background::Background(std::function<void()> prepare, std::function<bool()> f,
                       std::vector<int> processors) {
  const NoSignals no_signals;
  std::promise<void> promise;
  std::future<void> prepared = promise.get_future();
  thread_ = std::thread([this, promise = std::move(promise), prepare = std::move(prepare),
                         f = std::move(f), processors = std::move(processors)]() mutable {
    run_on(processors);  // the new thread has inherited its creator's pinning
    try {
      prepare();
    } catch (...) {
      promise.set_exception(std::current_exception());
      return;
    }
    promise.set_value();
    loop(f);
  });
  try {
    prepared.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Background::loop(const std::function<bool()>& f) {
  using std::chrono::microseconds;
  constexpr microseconds kShortest{10};
  constexpr microseconds kLongest{200};
  microseconds rest = kShortest;
  for (;;) {
    bool busy = false;
    try {
      busy = f();
    } catch (const MediumFailure&) {
      return;  // the machine remembers the failure, so other threads meet it too
    } catch (const std::bad_alloc&) {
      // The next round tries again.
    }
    std::unique_lock lock(mutex_);
    if (!busy) {
      wake_.wait_for(lock, rest, [this] { return stop_; });
      rest = std::min(2 * rest, kLongest);
    } else {
      rest = kShortest;
    }
    if (stop_) {
      return;
    }
  }
}

}  // namespace holdfast::native
