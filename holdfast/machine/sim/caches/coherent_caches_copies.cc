// SPDX-License-Identifier: Apache-2.0
//
// The part of CoherentCaches that works on all copies of a line: write-backs, ends of transactions.
#include <algorithm>
#include <bit>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {

bool CoherentCaches::dirty(uint32_t line) {
  bool dirty = false;
  for_each_copy(line, [&](Level, size_t, const CacheArray::Way& way) {
    dirty |= (way.meta & LineBits::kDirty) != 0;
  });
  return dirty;
}

CoherentCaches::Outcome CoherentCaches::write_back(uint32_t line, bool evict, Time now) {
  Record& record = records_[line];
  const Time start = std::max(now, record.busy) + llc_time_;
  const uint32_t flags = flags_for_fill(line);
  bool found_dirty = false;
  for_each_copy(line, [&](Level level, size_t cache, CacheArray::Way& way) {
    if ((way.meta & LineBits::kOlder) != 0) {
      way.meta = without_older(way.meta, name_of(level, cache), line);
    }
    found_dirty |= (way.meta & LineBits::kDirty) != 0;
    way.meta &= ~LineBits::kDirty;
  });
  if (evict) {
    for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
      take_from_domain(static_cast<size_t>(std::countr_zero(rest)), line, record);
    }
    take_from_llcs(line, record, 0);
  }
  if (!found_dirty) {
    return {start, Level::llc};
  }
  const InMotion moving(*this, Level::l1, line, LineBits::kDirty | flags, 0);
  return {to_memory(line, LineBits::kDirty | flags, 0, start), Level::medium};
}

void CoherentCaches::clear_bits(int core, uint32_t line, uint32_t bits) {
  if (CacheArray::Way* way = l1_[static_cast<size_t>(core)].peek(line)) {
    way->meta &= ~bits;
  }
}

void CoherentCaches::save_below(int core, uint32_t line) {
  CacheArray::Way* way = l1_[static_cast<size_t>(core)].peek(line);
  CacheArray::Way* below = l2_[domain_of(core)].peek(line);
  if (way != nullptr && below != nullptr) {
    if ((way->meta & LineBits::kDirty) != 0) {
      below->meta = without_older(below->meta, l2_name(domain_of(core)), line) | LineBits::kDirty;
    }
    way->meta &= ~LineBits::kDirty;
  }
}

void CoherentCaches::drop_l1(int core, uint32_t line) {
  l1_[static_cast<size_t>(core)].remove(line);
  if (versions_.size() == 0) [[likely]] {
    return;
  }
  // The next older version, which is the one nearest to the core, is the newest again.
  CacheArray::Way* next = nullptr;
  Cache name = 0;
  for_each_copy(line, [&](Level level, size_t cache, CacheArray::Way& way) {
    if ((way.meta & LineBits::kDirty) != 0) {
      next = &way;
      name = level == Level::l1 ? 0 : name_of(level, cache);
    }
  });
  if (next != nullptr && (next->meta & LineBits::kOlder) != 0) {
    next->meta &= ~LineBits::kOlder;
    versions_.erase(name, line);
  }
}

}  // namespace holdfast::sim
