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

const char* to_string(Level level) {
  static constexpr const char* kNames[kLevels] = {"l1",          "l2",   "llc",   "peer",
                                                  "remote_peer", "dram", "medium"};
  return kNames[static_cast<size_t>(level)];
}

CoherentCaches::CoherentCaches(const MachineDescription& machine, size_t lines, CacheClient& client,
                               bool huge)
    : client_(client),
      ways_(ways_of_all(machine), huge),
      inclusive_(machine.llc.inclusive),
      filled_with_l2_(machine.llc.inclusive || machine.llc.fills_on_miss),
      records_(lines, huge),
      line_bytes_(machine.line_bytes),
      versions_(machine.line_bytes) {
  const auto [cores, cores_per_domain, domains, llc_cores, llcs] = Numbers(machine);
  const CacheDescription& l2 = or_above(machine.l2, machine.l1);
  cores_per_domain_ = cores_per_domain;
  const auto ps = [&](double cycles) { return picoseconds(cycles / machine.core.ghz); };
  l1_time_ = ps(machine.l1.hit_cycles);
  l2_time_ = ps(l2.hit_cycles);
  llc_time_ = ps(or_above(machine.llc, l2).hit_cycles);
  llc_write_time_ = machine.llc.write_cycles != 0 ? ps(machine.llc.write_cycles) : llc_time_;
  transfer_time_ = picoseconds(machine.transfer_ns);
  remote_time_ = picoseconds(machine.transfer_remote_ns);

  if (domains > 64 || llcs > 32) {
    throw Error(Status(Code::invalid_argument,
                       machine.name +
                           ": the directory knows at most 64 L2 caches and 32 last-level "
                           "caches"));
  }
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

/// Finds the source of the line for this core's domain, which has no copy, and the time of the
/// transfer. Adds the bits with which the line comes from memory.
CoherentCaches::Outcome CoherentCaches::fetch(int core, size_t domain, uint32_t line,
                                              const Record& record, bool write, Time now,
                                              uint32_t& bits) {
  if (record.owner != 0) {
    return from_socket(domain, socket_of(record.owner - size_t{1}), now);
  }
  const size_t own_llc = llc_of(domain);
  if (has(record.llcs, own_llc)) {
    const CacheArray::Way* way = llc_[own_llc].use(line);
    const bool asks = features_.hits && (way->meta & LineBits::kFlags) != 0;
    const Time done = now + llc_time_;
    return {asks ? client_.hit(Level::llc, core, line, way->meta, write, done) : done, Level::llc};
  }
  if (record.llcs != 0) {
    const auto other = static_cast<size_t>(std::countr_zero(record.llcs));
    return from_socket(domain, socket_of_llc_[other], now);
  }
  if (record.sharers != 0) {
    return from_nearest(domain, record.sharers, now);
  }
  Outcome outcome{0, Level::dram};
  outcome.done = client_.read_memory(line, now + llc_time_, outcome.level, bits);
  return outcome;
}

// ---- the two requests

CoherentCaches::Outcome CoherentCaches::load(int core, uint32_t line, Time now) {
  const Pinned pinned(*this, line);
  if (features_.touches) [[unlikely]] {
    if (const uint32_t flags = flags_of(line)) {
      client_.touched(core, line, flags, false, now);
    }
  }
  Record& record = records_[line];
  const size_t domain = domain_of(core);
  const Time start = std::max(now, record.busy);
  Outcome outcome;
  CacheArray::Way* way = has(record.sharers, domain) ? l2_[domain].use(line) : nullptr;
  if (way != nullptr) {
    outcome = {start + l2_time_, Level::l2};
    if (features_.hits && (way->meta & LineBits::kFlags) != 0) {
      outcome.done = client_.hit(Level::l2, core, line, way->meta, false, outcome.done);
    }
    if (cores_per_domain_ > 1) {
      // A sibling that owned the line for writing now shares it.
      for_each_core(domain, [&](int sibling) {
        if (CacheArray::Way* theirs = l1_[static_cast<size_t>(sibling)].peek(line)) {
          const uint32_t content = theirs->meta & LineBits::kContent;
          theirs->meta &= ~(LineBits::kOwned | LineBits::kDirty);
          const InMotion moving(*this, Level::l1, line, content, 0);
          outcome.done = std::max(outcome.done, arrive(Level::l2, domain, *way, content, 0, now));
        }
      });
    }
  } else {
    prefetch_eviction(domain, line);
    const uint32_t flags = flags_for_fill(line);
    uint32_t bits = flags;
    outcome = fetch(core, domain, line, record, false, start, bits);
    if (record.owner != 0) {
      const size_t owner = record.owner - size_t{1};
      const bool dirty = make_shared(owner, line, record);
      const uint32_t content = flags | (dirty ? LineBits::kDirty : 0);
      const InMotion moving(*this, Level::l2, line, dirty ? content : 0, 0);
      if (!llc_.empty() && (dirty || inclusive_)) {
        outcome.done = std::max(outcome.done, fill_llc(llc_of(owner), line, content, 0, now));
      } else if (dirty) {
        outcome.done = std::max(outcome.done, to_memory(line, content, 0, now));
      }
    }
    const bool moves = record.sharers == 0 && moves_up(domain, line, record, flags);
    bits |= moves ? LineBits::kDirty : 0;
    outcome.done = std::max(outcome.done, fill_l2(domain, line, bits, now));
    record.sharers |= bit(domain);
    const bool alone = record.sharers == bit(domain) && (record.llcs & ~own_llc(domain)) == 0;
    record.owner = alone ? static_cast<uint8_t>(domain + 1) : 0;
  }
  const bool owned =
      record.owner == domain + 1 && !sibling_has(core, line) && !client_.tracked(line);
  const uint32_t bits =
      bring_up(core, line, (owned ? LineBits::kOwned : 0) | flags_for_fill(line), record);
  outcome.done = std::max(outcome.done, fill_l1(core, line, bits, now));
  return outcome;
}

CoherentCaches::Outcome CoherentCaches::own(int core, uint32_t line, Time now) {
  const Pinned pinned(*this, line);
  if (features_.touches) [[unlikely]] {
    if (const uint32_t flags = flags_of(line)) {
      client_.touched(core, line, flags, true, now);
    }
  }
  Record& record = records_[line];
  const size_t domain = domain_of(core);
  const Time start = std::max(now, record.busy);
  const bool in_l2 = has(record.sharers, domain) && l2_[domain].use(line) != nullptr;
  const bool had_newest = in_l2 && record.owner == domain + 1;
  const bool in_l1 = in_l2 && l1_[static_cast<size_t>(core)].peek(line) != nullptr;
  const uint64_t others = record.sharers & ~bit(domain);
  const uint32_t flags = in_l1 ? 0 : flags_for_fill(line);
  uint32_t filled = flags;
  Outcome outcome;
  if (!in_l2) {
    prefetch_eviction(domain, line);
    outcome = fetch(core, domain, line, record, true, start, filled);
  } else if (had_newest) {
    // If the line is in L1 and no sibling has it, this core is the only holder without the bit
    // kOwned. It missed that bit because a transaction held the line at the fill.
    outcome = in_l1 && !sibling_has(core, line) ? Outcome{start + l1_time_, Level::l1}
                                                : Outcome{start + l2_time_, Level::l2};
    if (features_.hits && flags != 0) {
      outcome.done = client_.hit(Level::l2, core, line, flags, true, outcome.done);
    }
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
  const uint32_t own_llcs = record.llcs & own_llc(domain);
  if (features_.versions && !had_newest) {
    drop_older_in_llc(domain, line, record);
  }
  const bool stays = filled_with_l2_ || (features_.versions && dirty_in_llcs(line, own_llcs));
  dirty |= take_from_llcs(line, record, stays ? own_llcs : 0);
  const bool takes_flags = features_.flags_move_up && flags != 0;
  if (stays && (!keeps_dirty_below() || takes_flags)) {
    dirty |= clean_own_llc(domain, line, record, takes_flags);
  }
  if (cores_per_domain_ > 1) {
    for_each_core(domain, [&](int sibling) {
      if (sibling != core) {
        dirty |= (take_from_l1(sibling, line) & LineBits::kDirty) != 0;
      }
    });
  }
  const uint32_t taken = (dirty ? LineBits::kDirty : 0) | (filled & LineBits::kFlags);
  const InMotion moving(*this, Level::l1, line, dirty ? taken : 0, 0);
  if (!in_l2) {
    outcome.done = std::max(outcome.done, fill_l2(domain, line, filled, now));
  }
  record.sharers = bit(domain);
  record.owner = static_cast<uint8_t>(domain + 1);
  if (outcome.level != Level::l1 && outcome.level != Level::l2) {
    record.busy = outcome.done;
  }
  const uint32_t bits = bring_up(core, line, LineBits::kOwned | taken, record);
  if (CacheArray::Way* way = l1_[static_cast<size_t>(core)].use(line)) {
    way->meta |= bits;
  } else {
    outcome.done = std::max(outcome.done, fill_l1(core, line, bits, now));
  }
  return outcome;
}

}  // namespace holdfast::sim
