// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace holdfast {

/// A queue of facts that hold once a position is durable, in the order of the positions. A T covers
/// the earlier ones. A full queue replaces its newest fact by the next one, so that the covered
/// ones are known a little later. So push() allocates nothing: it is called behind the commit,
/// where nothing may fail.
///
/// For one thread at a time.
template <class T>
class AwaitedPositions {
 public:
  bool empty() const { return size_ == 0; }
  const T& front() const { return facts_[first_]; }
  const T& back() const { return facts_[(first_ + size_ - 1) % kMost]; }

  void push(const T& fact) {
    size_ += size_ < kMost ? 1 : 0;
    facts_[(first_ + size_ - 1) % kMost] = fact;
  }
  void pop() {
    first_ = (first_ + 1) % kMost;
    --size_;
  }
  void clear() { size_ = 0; }

 private:
  static constexpr size_t kMost = 64;

  std::array<T, kMost> facts_{};
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace holdfast
