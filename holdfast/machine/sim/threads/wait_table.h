// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::sim {

/// The slots that wait for a store to a line. Each store that becomes visible asks, so the common
/// answer (none) takes one load.
class WaitTable {
 public:
  void add(int slot, uint32_t line) {
    waiting_.push_back({slot, line});
    ++filter_[line % kBuckets];
  }

  void remove(int slot) {
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i].slot == slot) {
        erase(i);
        return;
      }
    }
  }

  /// False if no slot waits for the line. A filter: true may be wrong.
  bool maybe(uint32_t line) const { return filter_[line % kBuckets] != 0; }

  /// Removes the slots that wait for this line, and calls f(slot) for each.
  template <class F>
  void take(uint32_t line, F&& f) {
    for (size_t i = 0; i < waiting_.size();) {
      if (waiting_[i].line == line) {
        const int slot = waiting_[i].slot;
        erase(i);
        f(slot);
      } else {
        ++i;
      }
    }
  }

  template <class F>
  void take_all(F&& f) {
    while (!waiting_.empty()) {
      const int slot = waiting_.back().slot;
      erase(waiting_.size() - 1);
      f(slot);
    }
  }

 private:
  struct Waiter {
    int slot;
    uint32_t line;
  };

  void erase(size_t i) {
    --filter_[waiting_[i].line % kBuckets];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  static constexpr size_t kBuckets = 1024;
  std::vector<Waiter> waiting_;
  std::array<uint16_t, kBuckets> filter_{};
};

}  // namespace holdfast::sim
