// SPDX-License-Identifier: Apache-2.0
//
// sim/medium/: the simulated medium, what of it survives a power failure, and where memory lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/round.h"
#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/sim_options.h"
#include "holdfast/machine/sim/medium/arena.h"
#include "holdfast/machine/sim/medium/file_content.h"
#include "holdfast/machine/sim/medium/persistence.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// The simulated medium: a byte range that can grow, and its mappings in the arena. Contract:
/// Medium in machine.h. A page of the medium may be mapped shared in one place at a time. A
/// copy-on-write mapping is a copy, made when the page is mapped.
///
/// Thread safety: any simulated thread. The operations are no scheduling points and take no time.
class SimMedium {
 public:
  SimMedium(const SimOptions& options, Arena& arena, Persistence& persistence);
  ~SimMedium();

  size_t bytes() const { return persistence_.bytes(); }
  /// Makes the medium at least n bytes long; it never shrinks.
  Status grow(size_t n);
  Result<std::byte*> reserve(size_t n, std::byte* address) { return arena_.reserve(n, address); }
  /// One candidate every 8 GiB, from the beginning of the persistent part of the arena.
  std::byte* base_candidate(int k, size_t n) const;
  bool is_free(const std::byte* /*address*/, size_t /*n*/) const { return true; }
  Result<std::byte*> map(size_t offset, size_t n, std::byte* address, MapMode mode);
  void unmap(std::byte* p, size_t n);
  /// Sets a function that each unmap() calls first. It brings content that only caches hold to the
  /// medium.
  void before_unmap(std::function<void()> f) { before_unmap_ = std::move(f); }
  /// Sets a function that each map() calls last, with the range of the medium and the address. It
  /// gives lines whose content lies elsewhere theirs.
  void after_map(std::function<void(size_t offset, size_t n, std::byte* at)> f) {
    after_map_ = std::move(f);
  }

  /// Offers content of a file that adopt() may take over.
  void offer(std::shared_ptr<const FileContent> content) {
    contents_.push_back(std::move(content));
  }
  /// Gives mapped pages, and the part of the medium behind them, the content [content, content +
  /// n), as if it had been there at power-on. No byte is copied; there is no store and no persist
  /// event. The pages were never stored to. Returns false, changing nothing, unless the range is
  /// whole pages of offered content and whole mapped pages.
  bool adopt(std::byte* to, const std::byte* content, size_t n);
  bool read_only() const { return options_.read_only; }
  Domain domain() const { return options_.domain; }
  std::string description() const;
  static const char* name() { return "simulated heap"; }

  /// Sets `offset` to the place of an arena address on the medium. Returns false for volatile
  /// memory.
  bool find(uintptr_t address, uint64_t& offset) const {
    const uint32_t page = page_[(address - kArenaBase) / kPageBytes];
    offset = (uint64_t{page} - 1) * kPageBytes + address % kPageBytes;
    return page != 0;
  }

  /// A store has gone to memory for which find() returns false. clear_stray_stores() looks for it.
  void stored_beside(uintptr_t address) {
    const size_t at = address - kArenaBase;
    if (at >= arena_.allocated()) {
      beside_from_ = std::min(beside_from_, round_down(at, kPageBytes));
      beside_to_ = std::max(beside_to_, round_down(at, kPageBytes) + kPageBytes);
    }
  }

  /// The medium has failed. From now on grow() and map() return this Status.
  void fail(const Status& why) { failure_ = why; }

 private:
  Status check_range(size_t offset, size_t n, MapMode mode) const;
  /// Makes an arena range free of mappings.
  void forget(size_t begin, size_t end);
  /// Forgets the pages of an arena range that is no longer mapped, and clears its memory.
  void clear(size_t begin, size_t end);
  /// Undoes the stray stores to an arena range in which nothing is mapped.
  void clear_stray_stores(size_t begin, size_t end);
  /// The range is zero: no store beside the medium is left there.
  void forget_stores_beside(size_t begin, size_t end);

  const SimOptions& options_;
  Arena& arena_;
  Persistence& persistence_;
  Status failure_;
  /// By page of the arena: the page of the medium + 1 if it is mapped shared there, else 0.
  ZeroedArray<uint32_t> page_;
  ZeroedArray<uint8_t> shared_;  ///< by page of the medium: 1 if it is mapped shared
  RangeSet mapped_;              ///< mapped ranges, as offsets in the arena
  RangeSet foreign_;             ///< the mapped ranges that are pages of contents_
  std::vector<std::shared_ptr<const FileContent>> contents_;
  std::function<void()> before_unmap_;
  std::function<void(size_t offset, size_t n, std::byte* at)> after_map_;
  /// All stores that are neither to the medium nor to allocated memory, as offsets in the arena:
  /// those to copies, and stray ones.
  size_t beside_from_ = ~size_t{0};
  size_t beside_to_ = 0;
};

}  // namespace holdfast::sim
