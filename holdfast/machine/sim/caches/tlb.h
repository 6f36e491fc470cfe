// SPDX-License-Identifier: Apache-2.0
//
// The translation look-aside buffers (TLBs) of all cores: which pages' translations each core has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/caches/cache_array.h"
#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast::sim {

/// Two levels for each core, set-associative, with least-recently-used replacement. A page that
/// misses both is filled into both; one that hits the second is filled into the first. No level
/// includes the other. A page has left the core's TLBs when neither has it.
class Tlbs {
 public:
  enum class Found : uint8_t { first, second, nowhere };

  Tlbs(const TlbDescription& description, size_t cores);

  /// True if the first level has the page. Counts as no use.
  bool in_first(size_t core, uint32_t page) { return first_[core].peek(page) != nullptr; }
  /// The core uses the page: it is then in the first level. Calls left(page) for pages that have
  /// left the core's TLBs, and returns where the page was.
  Found use(size_t core, uint32_t page, FunctionRef<void(uint32_t)> left);
  /// Empties the core's TLBs, as a shoot-down does.
  void empty(size_t core, FunctionRef<void(uint32_t)> left);

 private:
  std::vector<CacheArray::Way> ways_;  ///< the storage of all levels
  std::vector<CacheArray> first_;      ///< by core
  std::vector<CacheArray> second_;
};

}  // namespace holdfast::sim
