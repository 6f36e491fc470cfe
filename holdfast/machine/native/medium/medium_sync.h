// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "holdfast/base/status.h"

namespace holdfast::native {

/// Brings the dirty pages of a file to its medium, and remembers for ever if that failed.
///
/// One call of the operating system may serve several threads: who asks while a call runs is served
/// by the next one, together with all others who ask meanwhile. Calls do not overlap for another
/// reason as well: Linux reports a write error once per open file, to one of the callers; another
/// one that ran at the same time could return success for pages that are lost.
///
/// After a failure what is on the medium is unknown, and asking again would succeed without writing
/// (the pages are marked clean): so there is no second attempt.
///
/// Thread safe.
class MediumSync {
 public:
  MediumSync(int fd, std::string path, std::function<int(int)> sync);

  /// Returns when everything stored before the call is on the medium. Throws MediumFailure.
  void wait_durable();

  // Acquire pairs with the release after failure_ was written.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status failure() const { return failed() ? failure_ : Status(); }
  [[noreturn]] void throw_failure() const;

 private:
  void fail(Status why);

  const int fd_;
  const std::string path_;
  const std::function<int(int)> sync_;
  std::mutex mutex_;  // held during a call of sync_
  std::atomic<uint64_t> asked_{0};
  uint64_t served_ = 0;  // requests up to this number are durable
  std::atomic<bool> failed_{false};
  Status failure_;
};

}  // namespace holdfast::native
