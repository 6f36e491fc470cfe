// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "holdfast/machine/phase.h"
#include "holdfast/machine/sim/caches/coherent_caches.h"

namespace holdfast {

/// The number of values of TransactionKind.
inline constexpr size_t kTransactionKinds = 3;

/// Counters of one simulated hardware thread, or of all together. Times are in picoseconds.
struct SimCounters {
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t atomics = 0;
  uint64_t instructions = 0;
  /// By the place where a line was found: loads, and fetches for stores and atomics.
  std::array<uint64_t, sim::kLevels> load_from{};
  std::array<uint64_t, sim::kLevels> own_from{};
  uint64_t stolen = 0;  ///< lines fetched for a store and taken away before the store left
  uint64_t medium_reads = 0;
  uint64_t medium_writes = 0;
  uint64_t table_hits = 0;    ///< mappings found in the cache of the address table
  uint64_t table_misses = 0;  ///< mappings that the cache did not have
  uint64_t table_reads = 0;   ///< of medium_reads, those of the address table
  uint64_t dram_reads = 0;
  uint64_t dram_writes = 0;
  uint64_t tlb_second = 0;    ///< translations that the second level of the TLB had
  uint64_t page_walks = 0;    ///< translations that no level had
  uint64_t nontemporal = 0;   ///< medium_writes of lines, or parts, that bypassed the caches
  uint64_t stall_load = 0;    ///< loads waited for another load, the window or a miss register
  uint64_t stall_buffer = 0;  ///< the store buffer was full
  uint64_t stall_fence = 0;   ///< fences and atomics waited for the store buffer and write-backs
  uint64_t blocked = 0;       ///< in wait_while
  uint64_t htm_begins = 0;
  uint64_t htm_commits = 0;
  std::array<uint64_t, kAbortCauses> htm_aborts{};
  /// The counters of one kind of transaction. phase_time has the time of each phase; all of them
  /// add up to the time of the run. The loads and stores are those of phase `execute`: of the body,
  /// and of the engine for it. All time of an attempt whose hardware transaction aborted counts as
  /// `aborted`.
  struct OfKind {
    std::array<uint64_t, kPhases> phase_time{};
    uint64_t execute_loads = 0;
    uint64_t execute_stores = 0;
    bool operator==(const OfKind&) const = default;
  };
  std::array<OfKind, kTransactionKinds> of_kind{};

  uint64_t phase_time(Phase phase) const {
    uint64_t sum = 0;
    for (const OfKind& kind : of_kind) {
      sum += kind.phase_time[static_cast<size_t>(phase)];
    }
    return sum;
  }

  uint64_t memory_operations() const { return loads + stores + atomics; }

  SimCounters& operator+=(const SimCounters& o) {
    each(o, [](uint64_t& a, uint64_t b) { a += b; });
    return *this;
  }
  SimCounters operator-(const SimCounters& o) const {
    SimCounters difference = *this;
    difference.each(o, [](uint64_t& a, uint64_t b) { a -= b; });
    return difference;
  }

 private:
  template <class F>
  void each(const SimCounters& o, F&& f);
};

template <class F>
void SimCounters::each(const SimCounters& o, F&& f) {
  f(loads, o.loads), f(stores, o.stores), f(atomics, o.atomics), f(instructions, o.instructions);
  for (size_t i = 0; i < sim::kLevels; ++i) {
    f(load_from[i], o.load_from[i]), f(own_from[i], o.own_from[i]);
  }
  f(stolen, o.stolen), f(medium_reads, o.medium_reads), f(medium_writes, o.medium_writes);
  f(table_hits, o.table_hits), f(table_misses, o.table_misses), f(table_reads, o.table_reads);
  f(dram_reads, o.dram_reads), f(dram_writes, o.dram_writes), f(stall_load, o.stall_load);
  f(nontemporal, o.nontemporal);
  f(tlb_second, o.tlb_second), f(page_walks, o.page_walks);
  f(stall_buffer, o.stall_buffer), f(stall_fence, o.stall_fence), f(blocked, o.blocked);
  f(htm_begins, o.htm_begins), f(htm_commits, o.htm_commits);
  for (size_t i = 0; i < htm_aborts.size(); ++i) {
    f(htm_aborts[i], o.htm_aborts[i]);
  }
  for (size_t kind = 0; kind < of_kind.size(); ++kind) {
    OfKind& mine = of_kind[kind];
    const OfKind& other = o.of_kind[kind];
    f(mine.execute_loads, other.execute_loads), f(mine.execute_stores, other.execute_stores);
    for (size_t i = 0; i < mine.phase_time.size(); ++i) {
      f(mine.phase_time[i], other.phase_time[i]);
    }
  }
}

}  // namespace holdfast
