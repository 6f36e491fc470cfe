// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/machine/machine.h"

namespace holdfast::native {

/// A number for each page of a file, at first 0. Takes memory for the parts of the file that have
/// other numbers only.
///
/// Thread safety: one thread at a time.
class PageNumbers {
 public:
  /// `offset`: of any byte of the page.
  uint64_t at(uint64_t offset) const {
    const uint64_t page = offset / kPageBytes;
    const uint64_t leaf = page / kLeafPages;
    return leaf < leaves_.size() && leaves_[leaf] ? (*leaves_[leaf])[page % kLeafPages] : 0;
  }

  /// Returns the former number.
  uint64_t set(uint64_t offset, uint64_t number) {
    const uint64_t page = offset / kPageBytes;
    const uint64_t leaf = page / kLeafPages;
    if (leaf >= leaves_.size()) [[unlikely]] {
      leaves_.resize(leaf + 1);
    }
    if (!leaves_[leaf]) [[unlikely]] {
      leaves_[leaf] = std::make_unique<Leaf>();
    }
    uint64_t& place = (*leaves_[leaf])[page % kLeafPages];
    const uint64_t before = place;
    place = number;
    return before;
  }

 private:
  static constexpr uint64_t kLeafPages = 512;
  using Leaf = std::array<uint64_t, kLeafPages>;

  std::vector<std::unique_ptr<Leaf>> leaves_;
};

}  // namespace holdfast::native
