// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/medium/file_content.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// The simulated medium: a byte range that grows, mapped piece by piece into the arena. A page of
/// the medium may be mapped shared in one place at a time; copy-on-write mappings are copies.
///
/// Thread safety: any simulated thread; the operations are instants without a scheduling point.
class SimMedium {
 public:
  SimMedium(const SimOptions& options, Arena& arena, Persistence& persistence);
  ~SimMedium();

  size_t bytes() const { return persistence_.bytes(); }
  /// Makes the medium n bytes long; it never shrinks.
  Status grow(size_t n);
  Result<std::byte*> reserve(size_t n, std::byte* address) { return arena_.reserve(n, address); }
  /// Every 8 GiB from the beginning of the persistent part of the arena.
  std::byte* base_candidate(int k) const;
  Result<std::byte*> map(size_t offset, size_t n, std::byte* address, MapMode mode);
  void unmap(std::byte* p, size_t n);
  /// Called before anything is unmapped: what only caches hold must reach the medium by then.
  void before_unmap(std::function<void()> f) { before_unmap_ = std::move(f); }

  /// Content that adopt() may take over.
  void offer(std::shared_ptr<const FileContent> content) {
    contents_.push_back(std::move(content));
  }
  /// Makes mapped pages never stored to, and what they show of the medium, hold [content, content +
  /// n) as if that had been there at power-on: without a copy, a store, or an event. False, and
  /// nothing done, unless that is all of whole pages of what was offered.
  bool adopt(std::byte* to, const std::byte* content, size_t n);
  bool read_only() const { return options_.read_only; }
  Domain domain() const { return options_.domain; }
  std::string description() const;
  static const char* name() { return "simulated heap"; }

  /// Where an arena address lies on the medium; false for volatile memory.
  bool find(uintptr_t address, uint64_t& offset) const {
    const uint32_t page = page_[(address - kArenaBase) / kPageBytes];
    offset = (uint64_t{page} - 1) * kPageBytes + address % kPageBytes;
    return page != 0;
  }

  /// The medium has failed: it neither grows nor is mapped any more.
  void fail(const Status& why) { failure_ = why; }

 private:
  Status check_range(size_t offset, size_t n, MapMode mode) const;
  /// Of pages that are not mapped any more: arena offsets.
  void forget(size_t begin, size_t end);

  const SimOptions& options_;
  Arena& arena_;
  Persistence& persistence_;
  Status failure_;
  /// By page of the arena: page of the medium + 1 where it is mapped shared, else 0.
  ZeroedArray<uint32_t> page_;
  ZeroedArray<uint8_t> shared_;  ///< by page of the medium: mapped shared
  RangeSet mapped_;              ///< offsets in the arena
  RangeSet foreign_;             ///< offsets in the arena: pages of contents_
  std::vector<std::shared_ptr<const FileContent>> contents_;
  std::function<void()> before_unmap_;
};

}  // namespace holdfast::sim
