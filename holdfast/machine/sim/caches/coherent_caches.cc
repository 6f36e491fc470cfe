// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/caches/coherent_caches.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace holdfast::sim {
namespace {

uint64_t bit(size_t i) {
  return uint64_t{1} << i;
}

size_t sets(const CacheDescription& cache, size_t line_bytes) {
  return cache.bytes / line_bytes / static_cast<size_t>(cache.ways);
}

/// Replaces an absent level by a copy of the one above, so that the rest of the code has three
/// levels in any case.
const CacheDescription& or_above(const CacheDescription& cache, const CacheDescription& above) {
  return cache.bytes != 0 ? cache : above;
}

size_t ways(const CacheDescription& cache, size_t line_bytes) {
  return sets(cache, line_bytes) * static_cast<size_t>(cache.ways);
}

/// The numbers of caches. `domains` counts the L2 of the service core; `cores` does not count it.
struct Numbers {
  explicit Numbers(const MachineDescription& machine)
      : cores(static_cast<size_t>(machine.cores) * static_cast<size_t>(machine.sockets)),
        cores_per_domain(static_cast<size_t>(machine.l2.bytes != 0 ? machine.l2.cores : 1)),
        domains((cores + cores_per_domain - 1) / cores_per_domain + 1),
        llc_cores(machine.llc.bytes != 0 ? static_cast<size_t>(machine.llc.cores) : 0),
        llcs(llc_cores != 0 ? (cores + llc_cores - 1) / llc_cores : 0) {}

  size_t cores;
  size_t cores_per_domain;
  size_t domains;
  size_t llc_cores;
  size_t llcs;
};

size_t ways_of_all(const MachineDescription& machine) {
  const Numbers n(machine);
  const size_t line = machine.line_bytes;
  return (n.cores + 1) * ways(machine.l1, line) +
         n.domains * ways(or_above(machine.l2, machine.l1), line) +
         (n.llcs != 0 ? n.llcs * ways(machine.llc, line) : 0);
}

Time picoseconds(double nanoseconds) {
  return static_cast<Time>(std::llround(nanoseconds * 1000));
}

}  // namespace

uint32_t CacheClient::leaving(Level, uint32_t, uint32_t meta, Time) {
  return meta;
}

size_t CacheClient::victim(Level, const CacheArray::Way*, size_t ways, uint32_t) {
  return ways - 1;
}

const char* to_string(Level level) {
  static constexpr const char* kNames[kLevels] = {"l1",          "l2",   "llc",   "peer",
                                                  "remote_peer", "dram", "medium"};
  return kNames[static_cast<size_t>(level)];
}

CoherentCaches::CoherentCaches(const MachineDescription& machine, size_t lines, CacheClient& client)
    : client_(client),
      ways_(ways_of_all(machine), true),
      inclusive_(machine.llc.inclusive),
      filled_with_l2_(machine.llc.inclusive || machine.llc.fills_on_miss),
      records_(lines, true) {
  const auto [cores, cores_per_domain, domains, llc_cores, llcs] = Numbers(machine);
  const CacheDescription& l2 = or_above(machine.l2, machine.l1);
  cores_per_domain_ = cores_per_domain;
  const auto ps = [&](double cycles) { return picoseconds(cycles / machine.core.ghz); };
  l1_time_ = ps(machine.l1.hit_cycles);
  l2_time_ = ps(l2.hit_cycles);
  llc_time_ = ps(or_above(machine.llc, l2).hit_cycles);
  transfer_time_ = picoseconds(machine.transfer_ns);
  remote_time_ = picoseconds(machine.transfer_remote_ns);

  if (domains > 64 || llcs > 32) {
    throw Error(Status(Code::invalid_argument,
                       machine.name +
                           ": the directory knows at most 64 L2 caches and 32 last-level "
                           "caches"));
  }
  std::fill_n(ways_.data(), ways_of_all(machine), CacheArray::Way{});
  CacheArray::Way* free = ways_.data();
  const auto add = [&](auto& caches, const CacheDescription& cache) {
    caches.emplace_back(sets(cache, machine.line_bytes), static_cast<size_t>(cache.ways), free);
    free += ways(cache, machine.line_bytes);
  };
  for (size_t core = 0; core <= cores; ++core) {
    domain_of_.push_back(
        static_cast<uint8_t>(core == cores ? domains - 1 : core / cores_per_domain_));
    add(l1_, machine.l1);
  }
  for (size_t domain = 0; domain < domains; ++domain) {
    add(l2_, l2);
    const bool service = domain + 1 == domains;
    const size_t core = service ? 0 : domain * cores_per_domain_;
    socket_of_.push_back(static_cast<int>(core / static_cast<size_t>(machine.cores)));
    llc_of_.push_back(static_cast<uint8_t>(llc_cores != 0 ? core / llc_cores : 0));
  }
  for (size_t llc = 0; llc < llcs; ++llc) {
    add(llc_, machine.llc);
    socket_of_llc_.push_back(
        static_cast<int>(llc * llc_cores / static_cast<size_t>(machine.cores)));
    domains_of_llc_.push_back(0);
  }
  for (size_t domain = 0; domain < domains && llcs != 0; ++domain) {
    domains_of_llc_[llc_of(domain)] |= bit(domain);
  }
}

// ---- the source of a line

CoherentCaches::Outcome CoherentCaches::from_socket(size_t domain, int socket, Time now) const {
  return socket == socket_of(domain) ? Outcome{now + transfer_time_, Level::peer}
                                     : Outcome{now + remote_time_, Level::remote_peer};
}

CoherentCaches::Outcome CoherentCaches::from_nearest(size_t domain, uint64_t domains,
                                                     Time now) const {
  Outcome best{~Time{0}, Level::remote_peer};
  for (; domains != 0 && best.level != Level::peer; domains &= domains - 1) {
    const auto peer = static_cast<size_t>(std::countr_zero(domains));
    best = from_socket(domain, socket_of(peer), now);
  }
  return best;
}

/// Finds the source of the line for this domain, which has no copy, and the time of the transfer.
CoherentCaches::Outcome CoherentCaches::fetch(size_t domain, uint32_t line, const Record& record,
                                              Time now) {
  if (record.owner != 0) {
    return from_socket(domain, socket_of(record.owner - size_t{1}), now);
  }
  const size_t own_llc = llc_of(domain);
  if (has(record.llcs, own_llc) && llc_[own_llc].use(line) != nullptr) {
    return {now + llc_time_, Level::llc};
  }
  if (record.llcs != 0) {
    const auto other = static_cast<size_t>(std::countr_zero(record.llcs));
    return from_socket(domain, socket_of_llc_[other], now);
  }
  if (record.sharers != 0) {
    return from_nearest(domain, record.sharers, now);
  }
  Outcome outcome{0, Level::dram};
  outcome.done = client_.read_memory(line, now + llc_time_, outcome.level);
  return outcome;
}

// ---- the two requests

CoherentCaches::Outcome CoherentCaches::load(int core, uint32_t line, Time now) {
  Record& record = records_[line];
  const size_t domain = domain_of(core);
  const Time start = std::max(now, record.busy);
  Outcome outcome;
  CacheArray::Way* way = has(record.sharers, domain) ? l2_[domain].use(line) : nullptr;
  if (way != nullptr) {
    outcome = {start + l2_time_, Level::l2};
    if (cores_per_domain_ > 1) {
      // A sibling that owned the line for writing now shares it.
      for_each_core(domain, [&](int sibling) {
        if (CacheArray::Way* theirs = l1_[static_cast<size_t>(sibling)].peek(line)) {
          way->meta |= theirs->meta & LineBits::kDirty;
          theirs->meta &= ~(LineBits::kOwned | LineBits::kDirty);
        }
      });
    }
  } else {
    prefetch_eviction(domain, line);
    const uint32_t flags = flags_for_fill(line);
    outcome = fetch(domain, line, record, start);
    if (record.owner != 0) {
      const size_t owner = record.owner - size_t{1};
      const bool dirty = make_shared(owner, line, record);
      if (!llc_.empty() && (dirty || inclusive_)) {
        const uint32_t bits = flags | (dirty ? LineBits::kDirty : 0);
        outcome.done = std::max(outcome.done, fill_llc(llc_of(owner), line, bits, now));
      } else if (dirty) {
        outcome.done = std::max(outcome.done, to_memory(line, LineBits::kDirty | flags, now));
      }
    }
    const bool moves = record.sharers == 0 && moves_up(domain, line, record);
    const uint32_t bits = flags | (moves ? LineBits::kDirty : 0);
    outcome.done = std::max(outcome.done, fill_l2(domain, line, bits, now));
    record.sharers |= bit(domain);
    const bool alone = record.sharers == bit(domain) && (record.llcs & ~own_llc(domain)) == 0;
    record.owner = alone ? static_cast<uint8_t>(domain + 1) : 0;
  }
  const bool owned =
      record.owner == domain + 1 && !sibling_has(core, line) && !client_.tracked(line);
  fill_l1(core, line, (owned ? LineBits::kOwned : 0) | flags_for_fill(line));
  return outcome;
}

CoherentCaches::Outcome CoherentCaches::own(int core, uint32_t line, Time now) {
  Record& record = records_[line];
  const size_t domain = domain_of(core);
  const Time start = std::max(now, record.busy);
  const bool in_l2 = has(record.sharers, domain) && l2_[domain].use(line) != nullptr;
  const bool in_l1 = in_l2 && l1_[static_cast<size_t>(core)].peek(line) != nullptr;
  const uint64_t others = record.sharers & ~bit(domain);
  const uint32_t flags = in_l1 ? 0 : flags_for_fill(line);
  Outcome outcome;
  if (!in_l2) {
    prefetch_eviction(domain, line);
    outcome = fetch(domain, line, record, start);
  } else if (record.owner == domain + 1) {
    // If the line is in L1 and no sibling has it, this core is the only holder without the bit
    // kOwned. It missed that bit because a transaction held the line at the fill.
    outcome = in_l1 && !sibling_has(core, line) ? Outcome{start + l1_time_, Level::l1}
                                                : Outcome{start + l2_time_, Level::l2};
  } else if (others != 0) {
    outcome = from_nearest(domain, others, start);
  } else if (const uint32_t elsewhere = record.llcs & ~own_llc(domain); elsewhere != 0) {
    const auto llc = static_cast<size_t>(std::countr_zero(elsewhere));
    outcome = from_socket(domain, socket_of_llc_[llc], start);
  } else {
    outcome = {start + llc_time_, Level::llc};
  }
  bool dirty = false;
  for (uint64_t rest = others; rest != 0; rest &= rest - 1) {
    const auto other = static_cast<size_t>(std::countr_zero(rest));
    dirty |= (take_from_domain(other, line, record) & LineBits::kDirty) != 0;
  }
  dirty |= take_from_llcs(line, record, filled_with_l2_ ? own_llc(domain) : 0);
  if (filled_with_l2_ && !inclusive_) {
    dirty |= clean_own_llc(domain, line, record);
  }
  if (cores_per_domain_ > 1) {
    for_each_core(domain, [&](int sibling) {
      if (sibling != core) {
        dirty |= (take_from_l1(sibling, line) & LineBits::kDirty) != 0;
      }
    });
  }
  if (!in_l2) {
    outcome.done = std::max(outcome.done, fill_l2(domain, line, flags, now));
  }
  record.sharers = bit(domain);
  record.owner = static_cast<uint8_t>(domain + 1);
  if (outcome.level != Level::l1 && outcome.level != Level::l2) {
    record.busy = outcome.done;
  }
  const uint32_t bits = LineBits::kOwned | (dirty ? LineBits::kDirty : 0) | flags;
  if (CacheArray::Way* way = l1_[static_cast<size_t>(core)].use(line)) {
    way->meta |= bits;
  } else {
    fill_l1(core, line, bits);
  }
  return outcome;
}

// ---- fills and evictions

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

template <class Cache>
CacheArray::Way CoherentCaches::insert(Cache& cache, Level level, uint32_t line, uint32_t bits) {
  if (!choosing_) {
    return cache.insert(line, bits);
  }
  return cache.insert(line, bits, [&](const CacheArray::Way* set, size_t ways) {
    return client_.victim(level, set, ways, line);
  });
}

void CoherentCaches::fill_l1(int core, uint32_t line, uint32_t bits) {
  const CacheArray::Way victim = insert(l1_[static_cast<size_t>(core)], Level::l1, line, bits);
  if (victim.line == CacheArray::kNoLine) {
    return;
  }
  if ((victim.meta & LineBits::kContent) != 0) {
    if (CacheArray::Way* below = l2_[domain_of(core)].peek(victim.line)) {
      below->meta = LineBits::merged(below->meta, leaving(Level::l1, victim.line, victim.meta, 0));
    }
  }
  const uint32_t readers = (victim.meta & LineBits::kReaders) >> LineBits::kReadShift;
  const uint32_t writers = (victim.meta & LineBits::kWriters) >> LineBits::kWriteShift;
  if ((readers | writers) != 0) {
    client_.left_l1(core, victim.line, readers, writers);
  }
}

Time CoherentCaches::fill_l2(size_t domain, uint32_t line, uint32_t bits, Time now) {
  const CacheArray::Way victim = insert(l2_[domain], Level::l2, line, bits);
  Time done = victim.line == CacheArray::kNoLine ? now : evict_l2(domain, victim, now);
  if (filled_with_l2_ && !llc_.empty()) {
    done = std::max(done, fill_llc(llc_of(domain), line, bits & LineBits::kFlags, now));
  }
  return done;
}

Time CoherentCaches::evict_l2(size_t domain, CacheArray::Way victim, Time now) {
  Record& record = records_[victim.line];
  uint32_t bits = victim.meta & LineBits::kContent;
  for_each_core(domain,
                [&](int core) { bits = LineBits::merged(bits, take_from_l1(core, victim.line)); });
  record.sharers &= ~bit(domain);
  if (record.owner == domain + 1) {
    record.owner = 0;
  }
  if (llc_.empty()) {
    return to_memory(victim.line, bits, now);
  }
  bits = leaving(Level::l2, victim.line, bits, now);
  if (!filled_with_l2_ || (bits & LineBits::kDirty) != 0) {
    return fill_llc(llc_of(domain), victim.line, bits, now);
  }
  return now;
}

Time CoherentCaches::fill_llc(size_t llc, uint32_t line, uint32_t bits, Time now) {
  Record& record = records_[line];
  if (has(record.llcs, llc)) {
    CacheArray::Way* way = llc_[llc].use(line);
    way->meta = LineBits::merged(way->meta, bits);
    return now;
  }
  record.llcs |= uint32_t{1} << llc;
  const CacheArray::Way victim = insert(llc_[llc], Level::llc, line, bits);
  return victim.line == CacheArray::kNoLine ? now : evict_llc(llc, victim, now);
}

Time CoherentCaches::evict_llc(size_t llc, CacheArray::Way victim, Time now) {
  Record& record = records_[victim.line];
  record.llcs &= ~(uint32_t{1} << llc);
  uint32_t bits = victim.meta & LineBits::kContent;
  if (inclusive_) {
    for (uint64_t rest = record.sharers & domains_of_llc(llc); rest != 0; rest &= rest - 1) {
      const auto domain = static_cast<size_t>(std::countr_zero(rest));
      bits = LineBits::merged(bits, take_from_domain(domain, victim.line, record));
    }
  }
  client_.left_llc(victim.line, domains_of_llc(llc) & ~record.sharers);
  return to_memory(victim.line, bits, now);
}

Time CoherentCaches::to_memory(uint32_t line, uint32_t meta, Time now) {
  meta = leaving(Level::llc, line, meta, now);
  return (meta & LineBits::kDirty) != 0 ? client_.write_memory(line, now) : now;
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

uint32_t CoherentCaches::take_from_domain(size_t domain, uint32_t line, Record& record) {
  uint32_t bits = l2_[domain].remove(line) & LineBits::kContent;
  for_each_core(domain, [&](int core) { bits = LineBits::merged(bits, take_from_l1(core, line)); });
  record.sharers &= ~bit(domain);
  if (record.owner == domain + 1) {
    record.owner = 0;
  }
  return bits;
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
  share(l2_[domain].peek(line));
  record.owner = 0;
  return dirty;
}

bool CoherentCaches::take_from_llcs(uint32_t line, Record& record, uint32_t keep) {
  bool dirty = false;
  for (uint32_t rest = record.llcs & ~keep; rest != 0; rest &= rest - 1) {
    const auto llc = static_cast<size_t>(std::countr_zero(rest));
    dirty |= (llc_[llc].remove(line) & LineBits::kDirty) != 0;
  }
  record.llcs &= keep;
  return dirty;
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
/// over the new one. An inclusive last level above this domain keeps its data. Returns true if
/// dirty data move up.
bool CoherentCaches::moves_up(size_t domain, uint32_t line, Record& record) {
  const uint32_t own = own_llc(domain);
  if (!dirty_in_llcs(line, inclusive_ ? record.llcs & ~own : record.llcs)) {
    return false;  // clean copies stay
  }
  take_from_llcs(line, record, own);
  if (!inclusive_) {
    clean_own_llc(domain, line, record);
  }
  return true;
}

/// The dirty data of the line in this domain's last level move up. Returns true if there are some.
bool CoherentCaches::clean_own_llc(size_t domain, uint32_t line, const Record& record) {
  if ((record.llcs & own_llc(domain)) == 0) {
    return false;
  }
  CacheArray::Way* way = llc_[llc_of(domain)].peek(line);
  const bool dirty = (way->meta & LineBits::kDirty) != 0;
  way->meta &= ~LineBits::kDirty;
  return dirty;
}

}  // namespace holdfast::sim
