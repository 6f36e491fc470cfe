// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "holdfast/db/views/version_heap.h"

namespace holdfast::db {

/// Old versions in the order in which they were added. Keeps its memory, so that a queue that is
/// filled and emptied again and again allocates none.
///
/// Cost: amortised O(1) per version.
///
/// Thread safety: one thread at a time.
class VersionQueue {
 public:
  explicit VersionQueue(std::vector<OldVersion> all = {}) : all_(std::move(all)) {}

  size_t size() const { return all_.size() - first_; }
  bool empty() const { return size() == 0; }
  const OldVersion& operator[](size_t i) const { return all_[first_ + i]; }
  void push_back(const OldVersion& old) { all_.push_back(old); }
  /// Moves the first versions of `other` here, at most `most`; none if there is no memory for them.
  void take(VersionQueue& other, size_t most) {
    const size_t n = std::min(most, other.size());
    const auto first = other.all_.begin() + static_cast<ptrdiff_t>(other.first_);
    all_.insert(all_.end(), first, first + static_cast<ptrdiff_t>(n));
    other.drop(n);
  }
  /// Removes the first n versions.
  void drop(size_t n) {
    first_ += n;
    marked_ -= std::min(n, marked_);
    if (first_ == all_.size()) {
      clear();
    } else if (first_ > all_.size() / 2) {
      all_.erase(all_.begin(), all_.begin() + static_cast<ptrdiff_t>(first_));
      first_ = 0;
    }
  }
  void clear() {
    all_.clear();
    first_ = 0;
    marked_ = 0;
  }

  /// Notes a period of Snapshots for all versions that are in the queue now.
  void mark(uint64_t period) {
    marked_ = size();
    period_ = period;
  }
  /// Returns the number of versions that were there at the last mark(). They are the first ones.
  size_t marked() const { return marked_; }
  uint64_t period() const { return period_; }

 private:
  std::vector<OldVersion> all_;
  size_t first_ = 0;  ///< those before it have been removed
  size_t marked_ = 0;
  uint64_t period_ = 0;
};

}  // namespace holdfast::db
