// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/caches/tlb.h"

namespace holdfast::sim {

Tlbs::Tlbs(const TlbDescription& description, size_t cores) {
  const auto first_sets = static_cast<size_t>(description.l1_sets);
  const auto first_ways = static_cast<size_t>(description.l1_ways);
  const auto second_sets = static_cast<size_t>(description.l2_sets);
  const auto second_ways = static_cast<size_t>(description.l2_ways);
  ways_.resize(cores * (first_sets * first_ways + second_sets * second_ways));
  CacheArray::Way* free = ways_.data();
  for (size_t core = 0; core < cores; ++core) {
    first_.emplace_back(first_sets, first_ways, free);
    free += first_sets * first_ways;
    second_.emplace_back(second_sets, second_ways, free);
    free += second_sets * second_ways;
  }
}

Tlbs::Found Tlbs::use(size_t core, uint32_t page, FunctionRef<void(uint32_t)> left) {
  CacheArray& first = first_[core];
  CacheArray& second = second_[core];
  if (first.use(page) != nullptr) {
    return Found::first;
  }
  const bool in_second = second.use(page) != nullptr;
  if (!in_second) {
    const uint32_t displaced = second.insert(page, 0).line();
    if (displaced != CacheArray::kNoLine && first.peek(displaced) == nullptr) {
      left(displaced);
    }
  }
  const uint32_t displaced = first.insert(page, 0).line();
  if (displaced != CacheArray::kNoLine && second.peek(displaced) == nullptr) {
    left(displaced);
  }
  return in_second ? Found::second : Found::nowhere;
}

void Tlbs::empty(size_t core, FunctionRef<void(uint32_t)> left) {
  std::vector<uint32_t> pages;
  first_[core].for_each([&](const CacheArray::Way& way) { pages.push_back(way.line()); });
  second_[core].for_each([&](const CacheArray::Way& way) {
    if (first_[core].peek(way.line()) == nullptr) {
      pages.push_back(way.line());
    }
  });
  for (const uint32_t page : pages) {
    first_[core].remove(page);
    second_[core].remove(page);
    left(page);
  }
}

}  // namespace holdfast::sim
