// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "holdfast/base/status.h"
#include "holdfast/heap/page_guard.h"
#include "holdfast/machine/machine.h"

namespace holdfast {

/// The guard of a heap H's reads. It remembers the last pages that it has asked about.
///
/// Thread safety: one thread at a time. Cost: for each page that was not asked about, two reads of
/// the file and a hash.
template <class H>
class HeapPageGuard final : public PageGuard {
 public:
  explicit HeapPageGuard(H& heap) : heap_(heap) {}

  void check(const void* p, size_t n) override {
    const auto* const at = static_cast<const std::byte*>(p);
    const auto first = reinterpret_cast<uintptr_t>(at);
    for (uintptr_t page = first / kPageBytes; page * kPageBytes < first + n; ++page) {
      if (right_.contains(page)) {
        continue;
      }
      const uintptr_t begin = page * kPageBytes;
      // Signed: the first page begins before the range.
      const auto offset = static_cast<ptrdiff_t>(begin - first);
      const Status status = heap_.verify_data(at + offset, kPageBytes);
      if (!status.ok()) {
        throw Error(status);
      }
      if (right_.size() == kMostPages) {
        right_.clear();
      }
      right_.insert(page);
    }
  }

 private:
  // A long walk in the order of keys comes back to pages: entries lie anywhere. This many are 256
  // MiB of data, and the set takes some MiB.
  static constexpr size_t kMostPages = 1 << 16;

  H& heap_;
  std::unordered_set<uintptr_t> right_;  // numbers of pages in memory
};

}  // namespace holdfast
