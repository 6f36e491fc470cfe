// SPDX-License-Identifier: Apache-2.0
//
// The part of CoherentCaches that works on all copies of a line: write-backs, ends of transactions,
// hardware designs.
#include <bit>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {

bool CoherentCaches::dirty(uint32_t line) {
  bool dirty = false;
  for_each_copy(line,
                [&](const CacheArray::Way& way) { dirty |= (way.meta & LineBits::kDirty) != 0; });
  return dirty;
}

uint32_t CoherentCaches::flags_of(uint32_t line) {
  uint32_t bits = 0;
  for_each_copy(line, [&](const CacheArray::Way& way) {
    const bool newer = (way.meta & LineBits::kDirty) != 0;
    const bool older = (bits & LineBits::kDirty) != 0;
    bits = newer   ? way.meta & LineBits::kContent
           : older ? bits
                   : bits | (way.meta & LineBits::kContent);
  });
  return bits & LineBits::kFlags;
}

void CoherentCaches::set_flags(uint32_t line, uint32_t flags) {
  for_each_copy(line,
                [&](CacheArray::Way& way) { way.meta = (way.meta & ~LineBits::kFlags) | flags; });
}

void CoherentCaches::invalidate(uint32_t line) {
  Record& record = records_[line];
  for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
    take_from_domain(static_cast<size_t>(std::countr_zero(rest)), line, record);
  }
  take_from_llcs(line, record, 0);
}

void CoherentCaches::for_each_marked(FunctionRef<void(Level, uint32_t, uint32_t)> f) {
  const auto visit = [&](Level level, auto& caches) {
    for (auto& cache : caches) {
      cache.for_each([&](const CacheArray::Way& way) {
        if ((way.meta & LineBits::kContent) != 0) {
          f(level, way.line, way.meta & LineBits::kContent);
        }
      });
    }
  };
  visit(Level::llc, llc_);
  visit(Level::l2, l2_);
  visit(Level::l1, l1_);
}

CoherentCaches::Outcome CoherentCaches::write_back(uint32_t line, bool evict, Time now) {
  Record& record = records_[line];
  const Time start = std::max(now, record.busy) + llc_time_;
  const uint32_t flags = flags_for_fill(line);
  bool found_dirty = false;
  const auto clean = [&](CacheArray::Way* way) {
    if (way != nullptr) {
      found_dirty |= (way->meta & LineBits::kDirty) != 0;
      way->meta &= ~LineBits::kDirty;
    }
  };
  for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
    const auto domain = static_cast<size_t>(std::countr_zero(rest));
    for_each_core(domain, [&](int core) { clean(l1_[static_cast<size_t>(core)].peek(line)); });
    clean(l2_[domain].peek(line));
    if (evict) {
      take_from_domain(domain, line, record);
    }
  }
  for (uint32_t rest = record.llcs; rest != 0; rest &= rest - 1) {
    clean(llc_[static_cast<size_t>(std::countr_zero(rest))].peek(line));
  }
  if (evict) {
    take_from_llcs(line, record, 0);
  }
  if (!found_dirty) {
    return {start, Level::llc};
  }
  return {to_memory(line, LineBits::kDirty | flags, start), Level::medium};
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
    below->meta |= way->meta & LineBits::kDirty;
    way->meta &= ~LineBits::kDirty;
  }
}

void CoherentCaches::drop_l1(int core, uint32_t line) {
  l1_[static_cast<size_t>(core)].remove(line);
}

}  // namespace holdfast::sim
