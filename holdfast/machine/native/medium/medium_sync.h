// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "holdfast/base/function_ref.h"
#include "holdfast/base/status.h"

namespace holdfast::native {

/// Brings the dirty pages of a file to its medium (fdatasync). A failure is final.
///
/// One system call may serve several threads. Threads that ask while a call runs are all served by
/// the next one. Calls do not overlap, because Linux reports a write error only once per open file,
/// to one caller. A call that ran at the same time could return success for pages that are lost.
///
/// There is no second attempt after a failure. The content of the medium is unknown then, and
/// another call would succeed without writing, because Linux has marked the pages clean.
///
/// Thread safe. Cost: a mutex and at most one system call.
class MediumSync {
 public:
  MediumSync(int fd, std::string path, std::function<int(int)> sync);

  /// Returns when all stores to the file's mappings made before the call are on the medium. Throws
  /// MediumFailure.
  void wait_durable();
  /// Calls `flush`, which writes a part of the file and returns when the medium has it. It returns
  /// an errno, 0, or a negative number, which run() returns. No sync runs meanwhile. Throws
  /// MediumFailure.
  int run(FunctionRef<int()> flush);
  /// False if a test has replaced it.
  bool calls_fdatasync() const { return calls_fdatasync_; }

  // Acquire, with the release in fail(): a thread that sees the flag sees failure_ too.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status failure() const { return failed() ? failure_ : Status(); }
  [[noreturn]] void throw_failure() const;
  /// Makes every later wait throw, for a failure that was found elsewhere. The first reason stays.
  void poison(const Status& why);
  /// As poison(), because there was no memory for lines that should reach the medium. Throws
  /// MediumFailure, or bad_alloc if there is none for that either.
  [[noreturn]] void fail_without_memory();

 private:
  void fail(Status why);
  [[noreturn]] void fail_with(int error);

  const int fd_;
  const std::string path_;
  const bool calls_fdatasync_;
  const std::function<int(int)> sync_;
  std::mutex mutex_;                // held during a call of sync_
  std::atomic<uint64_t> asked_{0};  // requests so far
  uint64_t served_ = 0;             // requests up to this number are durable
  std::atomic<bool> failed_{false};
  Status failure_;
  Status no_memory_;  // for fail_without_memory(), which may not allocate
};

}  // namespace holdfast::native
