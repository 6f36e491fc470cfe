// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>

namespace holdfast {

/// A value that changes rarely, for readers that take no lock. Each change publishes a copy. All
/// copies stay until the end, so a reader may keep a reference.
///
/// std::atomic instead of a machine's: this describes what a machine has set up, and a simulated
/// machine counts no access to it.
///
/// Thread safety: one thread at a time publishes. Any thread reads, at any time.
template <class T>
class Published {
 public:
  void publish(const T& value) {
    newest_.store(&copies_.emplace_back(value), std::memory_order_release);
  }
  /// Returns the newest copy. Acquire: the reader sees all of it.
  const T& newest() const { return *newest_.load(std::memory_order_acquire); }

 private:
  std::deque<T> copies_ = std::deque<T>(1);
  std::atomic<const T*> newest_ = &copies_.front();
};

}  // namespace holdfast
