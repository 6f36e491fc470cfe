// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "holdfast/base/function_ref.h"

namespace holdfast::native {

/// The processors the calling thread may run on.
std::vector<int> allowed_processors();

/// Runs f(0) ... f(n - 1) on n new threads, thread i on processor i modulo their number, and waits
/// for all. The first exception to leave f is thrown again here. Pinned, because some schedulers
/// pack threads onto one processor for as long as a benchmark lasts.
void run_pinned(int n, const std::vector<int>& processors, FunctionRef<void(int)> f);

/// A thread that calls f over and over, and rests a little whenever f found nothing to do.
class Background {
 public:
  /// `prepare` runs first, on the new thread. It may use any of the processors.
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
