// SPDX-License-Identifier: Apache-2.0
//
// Wear of a medium: how often each of its lines was written.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

namespace holdfast::sim {

struct WearSummary {
  uint64_t lines = 0;   ///< lines that were written
  uint64_t writes = 0;  ///< of all lines
  uint64_t most = 0;    ///< of one line
};

class MediaWear {
 public:
  void add(uint64_t line) { ++writes_of(line); }
  /// A write does not happen. It was added, perhaps before this count began.
  void take_back(uint64_t line) {
    uint32_t& writes = writes_of(line);
    writes -= writes != 0 ? 1 : 0;
  }

  WearSummary summary() const {
    WearSummary sum;
    for (const auto& [number, group] : groups_) {
      for (const uint32_t writes : group) {
        sum.lines += writes != 0 ? 1 : 0;
        sum.writes += writes;
        sum.most = std::max<uint64_t>(sum.most, writes);
      }
    }
    return sum;
  }

 private:
  static constexpr uint64_t kGroup = 64;  ///< lines whose counts lie together, as most writes do
  uint32_t& writes_of(uint64_t line) { return groups_[line / kGroup][line % kGroup]; }

  std::unordered_map<uint64_t, std::array<uint32_t, kGroup>> groups_;
};

}  // namespace holdfast::sim
