// SPDX-License-Identifier: Apache-2.0
//
// The part of CoherentCaches for hardware designs: flags, and versions of a line in several caches.
#include <algorithm>
#include <bit>
#include <cstring>

#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast::sim {
namespace {

/// The copy is dirty with the newest version.
bool newest_dirty(uint32_t meta) {
  return (meta & (LineBits::kDirty | LineBits::kOlder)) == LineBits::kDirty;
}

}  // namespace

// ---- flags

uint32_t CoherentCaches::flags_of(uint32_t line) {
  uint32_t bits = 0;
  for_each_copy(line, [&](Level, size_t, const CacheArray::Way& way) {
    if ((way.meta & LineBits::kOlder) != 0) {
      return;
    }
    const bool newer = (way.meta & LineBits::kDirty) != 0;
    const bool older = (bits & LineBits::kDirty) != 0;
    bits = newer   ? way.meta & LineBits::kContent
           : older ? bits
                   : bits | (way.meta & LineBits::kContent);
  });
  return bits & LineBits::kFlags;
}

/// Without versions, all copies have the flags. Else those of the newest version: the copy that has
/// it dirty, and those above.
void CoherentCaches::set_flags(uint32_t line, uint32_t flags) {
  bool reached = true;
  if (features_.versions) {
    for_each_copy(line, [&](Level, size_t, const CacheArray::Way& way) {
      reached = reached && !newest_dirty(way.meta);
    });
  }
  for_each_copy(line, [&](Level, size_t, CacheArray::Way& way) {
    reached = reached || newest_dirty(way.meta);
    if (reached && (way.meta & LineBits::kOlder) == 0) {
      way.meta = (way.meta & ~LineBits::kFlags) | flags;
    }
  });
}

/// A line with flags came to the core's domain. Returns the bits of the copy in L1: those of the
/// copy in L2 go there, if the design wants so and no other cache can have the line.
uint32_t CoherentCaches::bring_up(int core, uint32_t line, uint32_t bits, const Record& record) {
  if (!features_.flags_move_up) [[likely]] {
    return bits;
  }
  const size_t domain = domain_of(core);
  CacheArray::Way* way = l2_[domain].peek(line);
  if (way == nullptr || (way->meta & LineBits::kFlags) == 0 ||
      (way->meta & LineBits::kOlder) != 0 || record.owner != domain + 1 ||
      sibling_has(core, line)) {
    return bits;
  }
  constexpr uint32_t kMoving = LineBits::kDirty | LineBits::kFlags;
  bits |= way->meta & kMoving;
  way->meta &= ~kMoving;
  return bits;
}

// ---- versions

void CoherentCaches::supersede(int core, uint32_t line, const std::byte* newest) {
  for_each_copy(line, [&](Level level, size_t cache, CacheArray::Way& way) {
    const bool own_l1 = level == Level::l1 && cache == static_cast<size_t>(core);
    if (!own_l1 && newest_dirty(way.meta)) {
      way.meta |= LineBits::kOlder;
      versions_.save(name_of(level, cache), line, newest);
    }
  });
}

bool CoherentCaches::drop_newest(uint32_t line, std::byte* bytes) {
  Record& record = records_[line];
  CacheArray::Way* older_way = nullptr;
  Cache name = 0;
  const uint64_t domains = record.sharers;
  for (uint64_t rest = domains; rest != 0; rest &= rest - 1) {
    const auto domain = static_cast<size_t>(std::countr_zero(rest));
    for_each_core(domain, [&](int core) { take_from_l1(core, line); });
    CacheArray::Way* way = l2_[domain].peek(line);
    if ((way->meta & LineBits::kOlder) != 0) {
      older_way = way;
      name = l2_name(domain);
      record.owner = static_cast<uint8_t>(domain + 1);
    } else {
      l2_[domain].remove(line);
      leave_domain(domain, record);
    }
  }
  for (uint32_t rest = record.llcs; rest != 0; rest &= rest - 1) {
    const auto llc = static_cast<size_t>(std::countr_zero(rest));
    CacheArray::Way* way = llc_[llc].peek(line);
    if ((way->meta & LineBits::kOlder) == 0) {
      if (older_way == nullptr || (way->meta & LineBits::kDirty) != 0) {
        llc_[llc].remove(line);
        record.llcs &= ~(uint32_t{1} << llc);
      }
    } else if (older_way == nullptr) {
      older_way = way;
      name = llc_name(llc);
    }
  }
  if (older_way == nullptr) {
    return false;
  }
  older_way->meta &= ~LineBits::kOlder;
  std::memcpy(bytes, versions_.find(name, line), line_bytes_);
  versions_.erase(name, line);
  return true;
}

/// Newer content takes the place of what a cache had, whose way is given up. Returns the bits of
/// what remains.
uint32_t CoherentCaches::over(Level level, size_t cache, uint32_t line, uint32_t resident,
                              uint32_t coming, bool to_memory_at_once, Time now, Time& done) {
  if ((coming & LineBits::kDirty) == 0) {
    return resident;
  }
  const Cache from = name_of(level, cache);
  const InMotion newer(*this, Level::l1, line, coming, 0);
  const InMotion moving(*this, level, line, resident, from);
  const bool asks = with_design_ && (resident & LineBits::kDirty) != 0 &&
                    ((resident | coming) & LineBits::kFlags) != 0;
  if (asks && client_.keeps(level, line, resident, coming)) {
    const bool next = level == Level::l2 && !to_memory_at_once;
    done = std::max(done, next ? below_l2(cache, line, resident, from, now)
                               : to_memory(line, resident, from, now));
  } else {
    without_older(resident, from, line);
  }
  return coming & LineBits::kContent;
}

Time CoherentCaches::arrive_marked(Level level, size_t cache, uint32_t line, uint32_t coming,
                                   Cache from, Time now) {
  if ((coming & LineBits::kDirty) == 0) {
    return now;
  }
  Time done = now;
  const uint32_t resident = find_below_l1(level, cache, line)->meta;
  const bool asks =
      (resident & LineBits::kDirty) != 0 && ((resident | coming) & LineBits::kFlags) != 0;
  if (asks && client_.keeps(level, line, resident, coming)) {
    done = std::max(done, push_from(level, cache, line, now));
  }
  const bool newly_flagged = (coming & LineBits::kFlags) != 0 && (resident & LineBits::kFlags) == 0;
  if (features_.victims && newly_flagged) {
    done = std::max(done, make_way_for_flags(level, cache, line, coming, now));
  }
  CacheArray::Way* way = find_below_l1(level, cache, line);
  if (way == nullptr) {  // an eviction below has taken it along; the content follows
    return std::max(done, level == Level::l2 ? below_l2(cache, line, coming, from, now)
                                             : to_memory(line, coming, from, now));
  }
  const Cache name = name_of(level, cache);
  way->meta = LineBits::merged(without_older(way->meta, name, line), coming);
  if ((coming & LineBits::kOlder) != 0) {
    versions_.move(line, from, name);
  }
  return done;
}

/// Moves the content of this copy one level down.
Time CoherentCaches::push_from(Level level, size_t cache, uint32_t line, Time now) {
  CacheArray::Way* way = find_below_l1(level, cache, line);
  const uint32_t bits = way->meta & LineBits::kContent;
  way->meta &= ~LineBits::kContent;
  const InMotion moving(*this, level, line, bits, name_of(level, cache));
  return level == Level::l2 ? below_l2(cache, line, bits, l2_name(cache), now)
                            : to_memory(line, bits, llc_name(cache), now);
}

/// A copy gets flags, which the design may allow to few ways of the set.
Time CoherentCaches::make_way_for_flags(Level level, size_t cache, uint32_t line, uint32_t coming,
                                        Time now) {
  const auto ask = [&](const CacheArray::Way* set, size_t ways) {
    const size_t way = client_.victim(level, set, ways, line, coming, true);
    return way < ways && set[way].line() != pinned_ ? set[way].line() : CacheArray::kNoLine;
  };
  const uint32_t leaves =
      level == Level::l2 ? l2_[cache].look(line, ask) : llc_[cache].look(line, ask);
  return leaves == CacheArray::kNoLine || leaves == line ? now : evict(level, cache, leaves, now);
}

// ---- moves that a design asks for

Time CoherentCaches::push_down(int core, uint32_t line, Time now) {
  const Pinned pinned(*this, line);
  const size_t domain = domain_of(core);
  CacheArray::Way* way = l1_[static_cast<size_t>(core)].peek(line);
  CacheArray::Way* below = l2_[domain].peek(line);
  if (way == nullptr || below == nullptr || (way->meta & LineBits::kDirty) == 0) {
    return now;
  }
  const uint32_t bits = way->meta & LineBits::kContent;
  way->meta &= ~LineBits::kContent;
  const InMotion moving(*this, Level::l1, line, bits, 0);
  const CacheClient::Left left = leaving(Level::l1, line, bits, 0, now);
  return std::max(left.done, arrive(Level::l2, domain, *below, left.meta, 0, left.done));
}

Time CoherentCaches::write_to_last_level(uint32_t line, Time now) {
  Time done = now;
  const auto written = [&](Time arrived) {
    done = std::max({done, arrived, now + llc_write_time_});
  };
  const Record& record = records_[line];
  for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
    const auto domain = static_cast<size_t>(std::countr_zero(rest));
    for_each_core(domain, [&](int core) {
      CacheArray::Way* way = l1_[static_cast<size_t>(core)].peek(line);
      if (way != nullptr && (way->meta & LineBits::kDirty) != 0) {
        const uint32_t bits = way->meta & LineBits::kContent;
        way->meta &= ~LineBits::kDirty;
        const InMotion moving(*this, Level::l1, line, bits, 0);
        written(arrive(Level::l2, domain, *l2_[domain].peek(line), bits, 0, now));
      }
    });
    CacheArray::Way* way = l2_[domain].peek(line);
    if (way != nullptr && newest_dirty(way->meta)) {
      const uint32_t bits = way->meta & LineBits::kContent;
      way->meta &= ~LineBits::kDirty;
      const InMotion moving(*this, Level::l2, line, bits, l2_name(domain));
      written(below_l2(domain, line, bits, l2_name(domain), now));
    }
  }
  return done;
}

Time CoherentCaches::evict(Level level, size_t cache, uint32_t line, Time now) {
  if (level == Level::l1) {
    const CacheArray::Way* way = l1_[cache].peek(line);
    if (way != nullptr) {
      const CacheArray::Way victim = *way;
      l1_[cache].remove(line);
      return evict_l1(static_cast<int>(cache), victim, now);
    }
    return now;
  }
  const CacheArray::Way* way = find_below_l1(level, cache, line);
  if (way == nullptr) {
    return now;
  }
  const CacheArray::Way victim = *way;
  if (level == Level::l2) {
    l2_[cache].remove(line);
    return evict_l2(cache, victim, now);
  }
  llc_[cache].remove(line);
  return evict_llc(cache, victim, now);
}

void CoherentCaches::for_each_marked(
    FunctionRef<void(Level, uint32_t, uint32_t, const std::byte*)> f) {
  const auto visit = [&](Level level, auto& caches) {
    for (size_t cache = 0; cache < caches.size(); ++cache) {
      caches[cache].for_each([&](const CacheArray::Way& way) {
        const uint32_t bits = way.meta & LineBits::kContent;
        if (bits != 0) {
          f(level, way.line(), bits,
            (bits & LineBits::kOlder) != 0 ? versions_.find(name_of(level, cache), way.line())
                                           : nullptr);
        }
      });
    }
  };
  const auto visit_moving = [&](Level level) {
    for (const Moving& m : moving_) {
      const std::byte* bytes = older(m.bits, m.from, m.line);
      const bool arrived = (m.bits & LineBits::kOlder) != 0 && bytes == nullptr;
      if (m.level == level && !arrived) {
        f(level, m.line, m.bits, bytes);
      }
    }
  };
  // An older version of a line comes before a newer one.
  visit_moving(Level::llc);
  visit(Level::llc, llc_);
  visit_moving(Level::l2);
  visit(Level::l2, l2_);
  visit_moving(Level::l1);
  visit(Level::l1, l1_);
}

}  // namespace holdfast::sim
