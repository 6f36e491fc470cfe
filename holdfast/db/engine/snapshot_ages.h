// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <set>

namespace holdfast::db {

/// When the open snapshots were taken. Thread safe.
class SnapshotAges {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Time open() {
    const Time now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    open_.insert(now);
    return now;
  }
  void close(Time opened) {
    const std::lock_guard lock(mutex_);
    open_.erase(open_.find(opened));
  }
  /// Returns the age of the oldest snapshot; 0 if none is open.
  double oldest_seconds() const {
    const std::lock_guard lock(mutex_);
    return open_.empty()
               ? 0
               : std::chrono::duration<double>(std::chrono::steady_clock::now() - *open_.begin())
                     .count();
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<Time> open_;
};

}  // namespace holdfast::db
