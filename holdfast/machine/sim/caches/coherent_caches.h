// SPDX-License-Identifier: Apache-2.0
//
// sim/caches/: caches with their directory, and memory controllers, in simulated time. This header:
// private L1s and L2s, last-level caches, and a MESI directory over them. They hold no values; they
// know which cache holds which line with which right, and how long an access takes. The values are
// in the simulated memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/caches/cache_array.h"
#include "holdfast/machine/sim/caches/last_level_array.h"
#include "holdfast/machine/sim/description/machine_description.h"
#include "holdfast/machine/sim/support/agent_queue.h"
#include "holdfast/machine/sim/support/zeroed_array.h"

namespace holdfast::sim {

/// The place where an access found its line. `peer`: another cache in the same socket.
enum class Level : uint8_t { l1, l2, llc, peer, remote_peer, dram, medium };
inline constexpr size_t kLevels = 7;
const char* to_string(Level level);

/// The memory system, as the caches use it. `line` is the number of a line in the arena.
class CacheClient {
 public:
  /// Reads the line from memory. Returns the time at which it arrives, and sets the level.
  virtual Time read_memory(uint32_t line, Time now, Level& level) = 0;
  /// Writes the line to memory. Returns the time at which memory accepts it.
  virtual Time write_memory(uint32_t line, Time now) = 0;
  /// A line has left this core's L1. The masks name the threads of the core whose transactions have
  /// read or written it.
  virtual void left_l1(int core, uint32_t line, uint32_t readers, uint32_t writers) = 0;
  /// A line has left a last-level cache, and all caches of these L2s (a mask).
  virtual void left_llc(uint32_t line, uint64_t l2s) = 0;
  /// True if some transaction has read or written the line. No core may then own the line silently:
  /// a store to an owned line asks no other core, so a conflict would be missed.
  virtual bool tracked(uint32_t line) = 0;
  /// A line with flags of a hardware design leaves a cache of this level for the level below, or
  /// the last level for memory. Returns its new bits; without kDirty its content goes no further.
  virtual uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now);
  /// Returns the way of a full set that makes room for the line. Called only if the design chooses
  /// victims.
  virtual size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line);

 protected:
  ~CacheClient() = default;
};

/// Bits of a way in L1. L2 and the last level use only kDirty and the design's flags.
struct LineBits {
  static constexpr uint32_t kOwned = 1;  ///< this core may write, because no other has a copy
  static constexpr uint32_t kDirty = 2;
  static constexpr uint32_t kDesign = 4;  ///< the design's transaction has stored here before
  static constexpr int kReadShift = 8;    ///< from here, a bit for each thread of the core:
  static constexpr int kWriteShift = 16;  ///< the line is in its read set, or in its write set
  static constexpr uint32_t reader(int smt) { return uint32_t{1} << (kReadShift + smt); }
  static constexpr uint32_t writer(int smt) { return uint32_t{1} << (kWriteShift + smt); }
  static constexpr uint32_t kReaders = 0xffu << kReadShift;
  static constexpr uint32_t kWriters = 0xffu << kWriteShift;
  /// Flags of the hardware design. They go with the line: up with fills, down with dirty data.
  static constexpr int kFlagShift = 24;
  static constexpr uint32_t kFlags = 0xffu << kFlagShift;
  /// The bits that a line takes along to the level below.
  static constexpr uint32_t kContent = kDirty | kFlags;
  /// The bits of a copy after one from the level above has replaced it. A dirty copy is newer.
  static uint32_t merged(uint32_t below, uint32_t above) {
    return (above & kDirty) != 0 ? (below & ~kContent) | (above & kContent) : below;
  }
};

/// The caches of all cores, and of one more core: the service core of main and background.
///
/// A domain is the set of cores behind one L2. Rights belong to domains: one domain owns a line (E
/// or M), or several share it (S). An L2 holds all lines of its L1s. The last level is of one of
/// three kinds:
///
///   inclusive      every fill of an L2 fills it. An eviction there removes the line from the
///                  levels above, and their dirty content goes to memory
///   fills on miss  every fill of an L2 fills it. Its own evictions leave the copies above in
///                  place. A clean line that leaves an L2 goes no further
///   otherwise      evictions of L2s fill it. Its own evictions leave the copies above in place
///
/// While a level above has a line dirty, only an inclusive last level may have it dirty, too. Any
/// other one could write its old version to memory after the new one.
///
/// The directory knows at most 64 L2s, one of them the service core's, and 32 last-level caches.
/// With more, the constructor throws Error(invalid_argument).
///
/// Calls come in the order of simulated time, or nearly so. Times are picoseconds.
class CoherentCaches {
 public:
  struct Outcome {
    Time done;    ///< the time at which the access is complete
    Level level;  ///< the place where it found the line
  };

  CoherentCaches(const MachineDescription& machine, size_t lines, CacheClient& client);

  int cores() const { return static_cast<int>(l1_.size()); }
  size_t l2_of(int core) const { return domain_of(core); }
  int service_core() const { return cores() - 1; }
  Time l1_time() const { return l1_time_; }
  /// The least time after which a core's request can take effect in another core's L1. The
  /// scheduler may let a core run ahead of the others by less. Cores that share an L2 reach each
  /// other through it; other cores need a transfer.
  Time lookahead() const { return cores_per_domain_ > 1 ? l2_time_ : transfer_time_; }

  /// The line's way in this core's L1, or null. Counts as a use of the line, unlike peek_l1(). The
  /// pointer is valid until the next call.
  CacheArray::Way* in_l1(int core, uint32_t line) {
    return l1_[static_cast<size_t>(core)].use(line);
  }
  bool peek_l1(int core, uint32_t line) {
    return l1_[static_cast<size_t>(core)].peek(line) != nullptr;
  }
  /// The line has missed this core's L1. Prefetches, on the host, the data that load() and own()
  /// use next.
  void prefetch(int core, uint32_t line) {
    const size_t domain = domain_of(core);
    __builtin_prefetch(&records_[line]);
    l2_[domain].prefetch(line);
  }
  /// A load has missed L1. Brings the line there.
  Outcome load(int core, uint32_t line, Time now);
  /// Makes the core the only holder of the line, for a store.
  Outcome own(int core, uint32_t line, Time now);
  /// Writes the line back to memory if a cache has it dirty. Complete when memory has accepted it
  /// (level medium), or when the line is known to be clean (level llc). With `evict` the line
  /// leaves all caches. Otherwise all copies stay, clean.
  Outcome write_back(uint32_t line, bool evict, Time now);
  bool dirty(uint32_t line);

  /// Clears transaction bits of one thread on a line in its core's L1.
  void clear_bits(int core, uint32_t line, uint32_t bits);
  /// A transaction is about to store to the line. If the line is dirty in L1, its content first
  /// goes one level down, so that an abort finds it there.
  void save_below(int core, uint32_t line);
  /// Drops the line from this core's L1: an aborted transaction has written it. L2 has the content
  /// from before the transaction, because save_below() put it there.
  void drop_l1(int core, uint32_t line);

  // ---- Hardware designs
  /// From now on lines may have flags. With `choosing` the design chooses victims.
  void attach_design(bool choosing) {
    with_design_ = true;
    choosing_ = choosing;
  }
  /// Sets or reads the flags of the line in all caches.
  void set_flags(uint32_t line, uint32_t flags);
  uint32_t flags_of(uint32_t line);
  /// Drops all copies of the line with their content.
  void invalidate(uint32_t line);
  /// Calls f(level, line, bits) for each copy that is dirty or has flags, the last level first.
  void for_each_marked(FunctionRef<void(Level level, uint32_t line, uint32_t meta)> f);

 private:
  /// The directory's record of a line. It is exact: a cache whose bit is not set has no copy.
  struct alignas(32) Record {
    uint64_t sharers;  ///< the domains with a copy in L2, and perhaps in L1s
    Time busy;         ///< until then the line is on its way to its owner
    uint32_t llcs;     ///< the last-level caches with a copy
    uint8_t owner;     ///< the domain + 1 that owns the line; 0: none
  };

  static bool has(uint64_t mask, size_t i) { return (mask >> i & 1) != 0; }
  size_t domain_of(int core) const { return domain_of_[static_cast<size_t>(core)]; }
  size_t llc_of(size_t domain) const { return llc_of_[domain]; }
  int socket_of(size_t domain) const { return socket_of_[domain]; }
  uint64_t domains_of_llc(size_t llc) const { return domains_of_llc_[llc]; }
  template <class F>
  void for_each_core(size_t domain, F&& f);

  void prefetch_eviction(size_t domain, uint32_t line);
  Outcome fetch(size_t domain, uint32_t line, const Record& record, Time now);
  Outcome from_socket(size_t domain, int socket, Time now) const;
  Outcome from_nearest(size_t domain, uint64_t domains, Time now) const;
  void fill_l1(int core, uint32_t line, uint32_t bits);
  Time fill_l2(size_t domain, uint32_t line, uint32_t bits, Time now);
  Time fill_llc(size_t llc, uint32_t line, uint32_t bits, Time now);
  Time evict_l2(size_t domain, CacheArray::Way victim, Time now);
  Time evict_llc(size_t llc, CacheArray::Way victim, Time now);
  uint32_t take_from_l1(int core, uint32_t line);
  uint32_t take_from_domain(size_t domain, uint32_t line, Record& record);
  bool make_shared(size_t domain, uint32_t line, Record& record);
  bool take_from_llcs(uint32_t line, Record& record, uint32_t keep);
  bool dirty_in_llcs(uint32_t line, uint32_t llcs);
  bool moves_up(size_t domain, uint32_t line, Record& record);
  bool clean_own_llc(size_t domain, uint32_t line, const Record& record);
  uint32_t own_llc(size_t domain) const { return llc_.empty() ? 0 : uint32_t{1} << llc_of(domain); }
  bool sibling_has(int core, uint32_t line);
  template <class Cache>
  CacheArray::Way insert(Cache& cache, Level level, uint32_t line, uint32_t bits);
  Time to_memory(uint32_t line, uint32_t meta, Time now);
  uint32_t flags_for_fill(uint32_t line) { return with_design_ ? flags_of(line) : 0; }
  uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now) {
    return (meta & LineBits::kFlags) == 0 ? meta : client_.leaving(from, line, meta, now);
  }
  template <class F>
  void for_each_copy(uint32_t line, F&& f);

  CacheClient& client_;
  ZeroedArray<CacheArray::Way> ways_;  ///< the storage of all caches
  std::vector<CacheArray> l1_;
  std::vector<CacheArray> l2_;
  std::vector<LastLevelArray> llc_;
  size_t cores_per_domain_;
  std::vector<uint8_t> domain_of_;
  std::vector<uint8_t> llc_of_;
  std::vector<uint64_t> domains_of_llc_;
  std::vector<int> socket_of_;
  std::vector<int> socket_of_llc_;
  bool inclusive_;
  bool filled_with_l2_;  ///< an inclusive last level, or one that fills on misses
  bool with_design_ = false;
  bool choosing_ = false;
  Time l1_time_;
  Time l2_time_;
  Time llc_time_;
  Time transfer_time_;
  Time remote_time_;
  ZeroedArray<Record> records_;
};

template <class F>
void CoherentCaches::for_each_core(size_t domain, F&& f) {
  if (domain + 1 == l2_.size()) {
    f(service_core());
    return;
  }
  const size_t begin = domain * cores_per_domain_;
  const size_t end = std::min(begin + cores_per_domain_, l1_.size() - 1);
  for (size_t core = begin; core < end; ++core) {
    f(static_cast<int>(core));
  }
}

/// Calls f(way) for each copy of the line, those nearest to memory first.
template <class F>
void CoherentCaches::for_each_copy(uint32_t line, F&& f) {
  const Record& record = records_[line];
  const auto visit = [&](CacheArray::Way* way) {
    if (way != nullptr) {
      f(*way);
    }
  };
  for (uint32_t rest = record.llcs; rest != 0; rest &= rest - 1) {
    visit(llc_[static_cast<size_t>(std::countr_zero(rest))].peek(line));
  }
  for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
    const auto domain = static_cast<size_t>(std::countr_zero(rest));
    visit(l2_[domain].peek(line));
    for_each_core(domain, [&](int core) { visit(l1_[static_cast<size_t>(core)].peek(line)); });
  }
}

}  // namespace holdfast::sim
