// SPDX-License-Identifier: Apache-2.0
//
// The part of CoherentCaches for fills, evictions, and the removal of copies.
#include <algorithm>
#include <bit>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {

/// Prefetches, on the host, the data that the eviction for this line's fill of the L2 will use.
void CoherentCaches::prefetch_eviction(size_t domain, uint32_t line) {
  const uint32_t victim = l2_[domain].last(line);
  if (victim != CacheArray::kNoLine) {
    __builtin_prefetch(&records_[victim]);
    if (!llc_.empty()) {
      llc_[llc_of(domain)].prefetch(victim);
    }
  }
}

bool CoherentCaches::sibling_has(int core, uint32_t line) {
  bool found = false;
  if (cores_per_domain_ > 1) {
    for_each_core(domain_of(core), [&](int sibling) {
      found |= sibling != core && l1_[static_cast<size_t>(sibling)].peek(line) != nullptr;
    });
  }
  return found;
}

template <class Array>
CacheArray::Way CoherentCaches::insert(Array& cache, Level level, uint32_t line, uint32_t bits) {
  if (!features_.victims) [[likely]] {
    return cache.insert(line, bits);
  }
  return cache.insert(line, bits, [&](const CacheArray::Way* set, size_t ways) {
    size_t way = client_.victim(level, set, ways, line, bits, false);
    if (way < ways && set[way].line() == pinned_) {  // the last of the others, if there is one
      way = way + 1 < ways ? ways - 1 : ways - 2;
    }
    return way;
  });
}

Time CoherentCaches::fill_l1(int core, uint32_t line, uint32_t bits, Time now) {
  const CacheArray::Way victim = insert(l1_[static_cast<size_t>(core)], Level::l1, line, bits);
  return victim.line() == CacheArray::kNoLine ? now : evict_l1(core, victim, now);
}

Time CoherentCaches::evict_l1(int core, CacheArray::Way victim, Time now) {
  Time done = now;
  if ((victim.meta & LineBits::kContent) != 0) {
    const size_t domain = domain_of(core);
    const InMotion moving(*this, Level::l1, victim.line(), victim.meta, 0);
    if (CacheArray::Way* below = l2_[domain].peek(victim.line())) {
      const CacheClient::Left left = leaving(Level::l1, victim.line(), victim.meta, 0, now);
      done = std::max(left.done, arrive(Level::l2, domain, *below, left.meta, 0, left.done));
    }
  }
  const uint32_t readers = (victim.meta & LineBits::kReaders) >> LineBits::kReadShift;
  const uint32_t writers = (victim.meta & LineBits::kWriters) >> LineBits::kWriteShift;
  if ((readers | writers) != 0) {
    client_.left_l1(core, victim.line(), readers, writers);
  }
  return done;
}

Time CoherentCaches::fill_l2(size_t domain, uint32_t line, uint32_t bits, Time now) {
  const CacheArray::Way victim = insert(l2_[domain], Level::l2, line, bits);
  Time done = victim.line() == CacheArray::kNoLine ? now : evict_l2(domain, victim, now);
  if (filled_with_l2_ && !llc_.empty()) {
    // With versions, flags stay with the newest one, which is above.
    const uint32_t flags = features_.versions ? 0 : bits & LineBits::kFlags;
    done = std::max(done, fill_llc(llc_of(domain), line, flags, 0, now));
  }
  return done;
}

Time CoherentCaches::evict_l2(size_t domain, CacheArray::Way victim, Time now) {
  uint32_t above = 0;
  for_each_core(domain, [&](int core) {
    above = LineBits::merged(above, take_from_l1(core, victim.line()));
  });
  leave_domain(domain, records_[victim.line()]);
  Time done = now;
  const uint32_t bits = over(Level::l2, domain, victim.line(), victim.meta & LineBits::kContent,
                             above, false, now, done);
  const bool from_l1 = (above & LineBits::kDirty) != 0;
  const InMotion moving(*this, from_l1 ? Level::l1 : Level::l2, victim.line(), bits,
                        l2_name(domain));
  return std::max(done, below_l2(domain, victim.line(), bits, l2_name(domain), now));
}

/// Content leaves an L2 for the last level, or for memory.
Time CoherentCaches::below_l2(size_t domain, uint32_t line, uint32_t bits, Cache from, Time now) {
  if (llc_.empty()) {
    return to_memory(line, bits, from, now);
  }
  const CacheClient::Left left = leaving(Level::l2, line, bits, from, now);
  if (!filled_with_l2_ || (left.meta & LineBits::kDirty) != 0) {
    return std::max(left.done, fill_llc(llc_of(domain), line, left.meta, from, left.done));
  }
  return left.done;
}

Time CoherentCaches::fill_llc(size_t llc, uint32_t line, uint32_t bits, Cache from, Time now) {
  if (features_.nonvolatile_llc && (bits & LineBits::kDirty) != 0) {
    client_.reaches_last_level();
  }
  Record& record = records_[line];
  if (has(record.llcs, llc)) {
    return arrive(Level::llc, llc, *llc_[llc].use(line), bits, from, now);
  }
  const CacheArray::Way victim = insert(llc_[llc], Level::llc, line, bits);
  if (victim.line() == CacheArray::kRefused) {
    // Where misses fill the last level, clean data come from memory, not from an L2 that evicts.
    const bool leaves = !filled_with_l2_ || (bits & LineBits::kDirty) != 0;
    return leaves ? to_memory(line, bits, from, now) : now;
  }
  record.llcs |= uint32_t{1} << llc;
  if ((bits & LineBits::kOlder) != 0) {
    versions_.move(line, from, llc_name(llc));
  }
  return victim.line() == CacheArray::kNoLine ? now : evict_llc(llc, victim, now);
}

Time CoherentCaches::evict_llc(size_t llc, CacheArray::Way victim, Time now) {
  const uint32_t line = victim.line();
  Record& record = records_[line];
  record.llcs &= ~(uint32_t{1} << llc);
  uint32_t bits = victim.meta & LineBits::kContent;
  Level level = Level::llc;
  size_t cache = llc;
  Time done = now;
  const InMotion moving(*this, Level::llc, line, bits, llc_name(llc));
  // Content from above covers the bits so far. It comes from the nearest level first, so that older
  // versions reach memory in their order.
  const auto cover = [&](Level above, size_t its_cache, uint32_t coming) {
    if ((coming & LineBits::kDirty) != 0) {
      bits = over(level, cache, line, bits, coming, true, now, done);
      level = above;
      cache = its_cache;
    }
  };
  if (inclusive_) {
    for (uint64_t rest = record.sharers & domains_of_llc(llc); rest != 0; rest &= rest - 1) {
      const auto domain = static_cast<size_t>(std::countr_zero(rest));
      uint32_t in_l1 = 0;
      for_each_core(domain,
                    [&](int core) { in_l1 = LineBits::merged(in_l1, take_from_l1(core, line)); });
      const uint32_t in_l2 = l2_[domain].remove(line) & LineBits::kContent;
      leave_domain(domain, record);
      const InMotion newest(*this, Level::l1, line, in_l1, 0);
      const InMotion next(*this, Level::l2, line, in_l2, l2_name(domain));
      cover(Level::l2, domain, in_l2);
      cover(Level::l1, 0, in_l1);
    }
  }
  client_.left_llc(line, domains_of_llc(llc) & ~record.sharers);
  const InMotion newer(*this, level, line, level == Level::llc ? 0 : bits, name_of(level, cache));
  return std::max(done, to_memory(line, bits, name_of(level, cache), now));
}

Time CoherentCaches::to_memory(uint32_t line, uint32_t meta, Cache from, Time now) {
  const CacheClient::Left left = leaving(Level::llc, line, meta, from, now);
  if ((left.meta & LineBits::kDirty) == 0) {
    return left.done;
  }
  const Time done = client_.write_memory(line, left.meta, older(left.meta, from, line), left.done);
  without_older(left.meta, from, line);
  return std::max(left.done, done);
}

// ---- removing copies

uint32_t CoherentCaches::take_from_l1(int core, uint32_t line) {
  const uint32_t bits = l1_[static_cast<size_t>(core)].remove(line);
  const uint32_t readers = (bits & LineBits::kReaders) >> LineBits::kReadShift;
  const uint32_t writers = (bits & LineBits::kWriters) >> LineBits::kWriteShift;
  if ((readers | writers) != 0) {
    client_.left_l1(core, line, readers, writers);
  }
  return bits;
}

/// Another core gets the line, so an older version is of no more use.
uint32_t CoherentCaches::take_from_domain(size_t domain, uint32_t line, Record& record) {
  uint32_t bits =
      without_older(l2_[domain].remove(line) & LineBits::kContent, l2_name(domain), line);
  for_each_core(domain, [&](int core) { bits = LineBits::merged(bits, take_from_l1(core, line)); });
  leave_domain(domain, record);
  return bits;
}

void CoherentCaches::leave_domain(size_t domain, Record& record) {
  record.sharers &= ~(uint64_t{1} << domain);
  if (record.owner == domain + 1) {
    record.owner = 0;
  }
}

/// The owner keeps its copy for reading. Returns true if the copy was dirty, so that memory does
/// not have its content.
bool CoherentCaches::make_shared(size_t domain, uint32_t line, Record& record) {
  bool dirty = false;
  const auto share = [&](CacheArray::Way* way) {
    if (way != nullptr) {
      dirty |= (way->meta & LineBits::kDirty) != 0;
      way->meta &= ~(LineBits::kDirty | LineBits::kOwned);
    }
  };
  for_each_core(domain, [&](int core) { share(l1_[static_cast<size_t>(core)].peek(line)); });
  if (CacheArray::Way* way = l2_[domain].peek(line)) {
    way->meta = without_older(way->meta, l2_name(domain), line);
    share(way);
  }
  record.owner = 0;
  return dirty;
}

bool CoherentCaches::take_from_llcs(uint32_t line, Record& record, uint32_t keep) {
  bool dirty = false;
  for (uint32_t rest = record.llcs & ~keep; rest != 0; rest &= rest - 1) {
    const auto llc = static_cast<size_t>(std::countr_zero(rest));
    const uint32_t bits = without_older(llc_[llc].remove(line), llc_name(llc), line);
    dirty |= (bits & LineBits::kDirty) != 0;
  }
  record.llcs &= keep;
  return dirty;
}

/// Another domain gets the line for a store, so an older version is of no more use.
void CoherentCaches::drop_older_in_llc(size_t domain, uint32_t line, const Record& record) {
  if ((record.llcs & own_llc(domain)) != 0) {
    CacheArray::Way* way = llc_[llc_of(domain)].peek(line);
    way->meta = without_older(way->meta, llc_name(llc_of(domain)), line);
  }
}

bool CoherentCaches::dirty_in_llcs(uint32_t line, uint32_t llcs) {
  bool dirty = false;
  for (uint32_t rest = llcs; rest != 0; rest &= rest - 1) {
    const CacheArray::Way* way = llc_[static_cast<size_t>(std::countr_zero(rest))].peek(line);
    dirty |= way != nullptr && (way->meta & LineBits::kDirty) != 0;
  }
  return dirty;
}

/// The domain becomes the only one with the line. If a last level has the line dirty, the dirty
/// data move up with the right to store. Otherwise the last level could later write its old version
/// over the new one. The domain's own last level keeps its data if that cannot happen, unless they
/// go with their flags. Returns true if dirty data move up.
bool CoherentCaches::moves_up(size_t domain, uint32_t line, Record& record, uint32_t flags) {
  const uint32_t own = own_llc(domain);
  const bool with_flags = features_.flags_move_up && flags != 0;
  const bool stays = keeps_dirty_below() && !with_flags;
  const bool dirty = dirty_in_llcs(line, stays ? record.llcs & ~own : record.llcs);
  if (dirty) {
    take_from_llcs(line, record, own);
  }  // else clean copies stay
  if ((dirty && !stays) || with_flags) {
    clean_own_llc(domain, line, record, with_flags);
  }
  return dirty;
}

/// The newest data of the line in this domain's last level move up if they are dirty. Returns true
/// if there are some.
bool CoherentCaches::clean_own_llc(size_t domain, uint32_t line, const Record& record,
                                   bool flags_too) {
  if ((record.llcs & own_llc(domain)) == 0) {
    return false;
  }
  CacheArray::Way* way = llc_[llc_of(domain)].peek(line);
  if ((way->meta & LineBits::kOlder) != 0) {
    return false;
  }
  const bool dirty = (way->meta & LineBits::kDirty) != 0;
  way->meta &= ~(LineBits::kDirty | (flags_too ? LineBits::kFlags : 0));
  return dirty;
}

}  // namespace holdfast::sim
