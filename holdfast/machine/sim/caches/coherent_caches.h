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
#include <utility>
#include <vector>

#include "holdfast/base/function_ref.h"
#include "holdfast/machine/sim/caches/cache_array.h"
#include "holdfast/machine/sim/caches/last_level_array.h"
#include "holdfast/machine/sim/caches/line_versions.h"
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
  /// Reads the line from memory. Returns the time at which it arrives, and sets the level. With a
  /// hardware design it may set `bits` to kDirty and flags, which the line then has.
  virtual Time read_memory(uint32_t line, Time now, Level& level, uint32_t& bits) = 0;
  /// Writes the line to memory: its newest content, or that of an older version. Returns the time
  /// at which memory accepts it. `meta` has the flags of the content.
  virtual Time write_memory(uint32_t line, uint32_t meta, const std::byte* older, Time now) = 0;
  /// A line has left this core's L1. The masks name the threads of the core whose transactions have
  /// read or written it.
  virtual void left_l1(int core, uint32_t line, uint32_t readers, uint32_t writers) = 0;
  /// A line has left a last-level cache, and all caches of these L2s (a mask).
  virtual void left_llc(uint32_t line, uint64_t l2s) = 0;
  /// True if some transaction has read or written the line. No core may then own the line silently:
  /// a store to an owned line asks no other core, so a conflict would be missed.
  virtual bool tracked(uint32_t line) = 0;

  // ---- Hardware designs; see HardwareDesign
  struct Left {
    uint32_t meta;  ///< without kDirty the content goes no further
    Time done;      ///< the cache has room for another line from then on
  };
  /// A line with flags leaves a cache of this level for the level below, or the last level for
  /// memory.
  virtual Left leaving(Level /*from*/, uint32_t /*line*/, uint32_t meta, const std::byte* /*older*/,
                       Time now) {
    return {meta, now};
  }
  /// Returns the way of a full set that makes room for the line, or one beyond the last for none.
  /// `present`: the line has a way, which gets flags. Called only if the design chooses victims.
  virtual size_t victim(Level /*level*/, const CacheArray::Way* /*set*/, size_t ways,
                        uint32_t /*line*/, uint32_t /*coming*/, bool present) {
    return present ? ways : ways - 1;
  }
  /// Returns true if dirty content first moves down when newer content comes to its cache.
  virtual bool keeps(Level /*at*/, uint32_t /*line*/, uint32_t /*resident*/, uint32_t /*coming*/) {
    return false;
  }
  virtual void touched(int /*core*/, uint32_t /*line*/, uint32_t /*flags*/, bool /*write*/,
                       Time /*now*/) {}
  /// Dirty content is about to come to a last level that is non-volatile.
  virtual void reaches_last_level() {}
  virtual Time hit(Level /*level*/, int /*core*/, uint32_t /*line*/, uint32_t /*meta*/,
                   bool /*write*/, Time done) {
    return done;
  }

 protected:
  ~CacheClient() = default;
};

/// Bits of a way in L1. L2 and the last level use only kContent.
struct LineBits {
  static constexpr uint32_t kOwned = 1;  ///< this core may write, because no other has a copy
  static constexpr uint32_t kDirty = 2;
  static constexpr uint32_t kDesign = 4;  ///< the design's transaction has stored here before
  /// A dirty copy with an older version of the line. A cache above has a newer one.
  static constexpr uint32_t kOlder = 8;
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
  static constexpr uint32_t kContent = kDirty | kFlags | kOlder;
  /// The bits of a copy after one from the level above has replaced it. A dirty copy is newer.
  static uint32_t merged(uint32_t below, uint32_t above) {
    return (above & kDirty) != 0 ? (below & ~kContent) | (above & kContent) : below;
  }
};

/// The hooks that a hardware design uses; see DesignWishes.
struct CacheFeatures {
  bool victims = false;
  bool versions = false;
  bool hits = false;
  bool touches = false;
  bool flags_move_up = false;
  bool nonvolatile_llc = false;
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
/// other one could write its old version to memory after the new one. With versions any last level
/// may: its content is then an older version, with bytes of its own.
///
/// Older versions lie below the newest one, in the same domain and its last level. Another domain
/// that gets the line gets its newest version only, and the older ones are dropped.
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

  /// `huge`: the tables are on huge pages of the host, for a machine that runs for long.
  CoherentCaches(const MachineDescription& machine, size_t lines, CacheClient& client,
                 bool huge = false);

  int cores() const { return static_cast<int>(l1_.size()); }
  size_t l2_of(int core) const { return domain_of(core); }
  int service_core() const { return cores() - 1; }
  size_t last_levels() const { return llc_.size(); }
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
  /// From now on lines may have flags.
  void attach_design(const CacheFeatures& features) {
    with_design_ = true;
    features_ = features;
  }
  /// Sets the flags of the newest version of the line, or reads them.
  void set_flags(uint32_t line, uint32_t flags);
  uint32_t flags_of(uint32_t line);
  /// This core's L1 is about to store to the line, which is clean there. Dirty copies elsewhere
  /// become older versions with these bytes, the newest ones until now. Only with `versions`.
  void supersede(int core, uint32_t line, const std::byte* newest);
  /// Drops all copies of the newest version. If a cache has an older one, that becomes the newest:
  /// copies its bytes to `bytes` and returns true.
  bool drop_newest(uint32_t line, std::byte* bytes);
  /// Moves what this core's L1 has dirty one level down. The copy stays, clean, without flags.
  Time push_down(int core, uint32_t line, Time now);
  /// Writes the newest version to the last level. The copies above stay, clean. Takes no time if
  /// no cache above has it dirty.
  Time write_to_last_level(uint32_t line, Time now);
  /// Makes the line leave this cache, as if another line needed its way. `cache` is the number of a
  /// core, an L2 (l2_of()) or a last level. Does nothing if the line is not there.
  Time evict(Level level, size_t cache, uint32_t line, Time now);
  /// Calls f(level, line, bits, older) for each copy that is dirty or has flags, the last level
  /// first. `older` are the bytes of an older version, else null. Content that is leaving a cache
  /// counts as there until it has arrived, because a cache gives nothing up before; it may be told
  /// twice.
  void for_each_marked(
      FunctionRef<void(Level level, uint32_t line, uint32_t meta, const std::byte* older)> f);

  /// The cache that the content which moves now comes from. Only while a hook of the client runs
  /// for it.
  Level moves_from() const { return moving_.empty() ? Level::l1 : moving_.back().level; }

 private:
  friend class CoherentCachesCheck;  // of tests

  /// The directory's record of a line. It is exact: a cache whose bit is not set has no copy.
  struct alignas(32) Record {
    uint64_t sharers;  ///< the domains with a copy in L2, and perhaps in L1s
    Time busy;         ///< until then the line is on its way to its owner
    uint32_t llcs;     ///< the last-level caches with a copy
    uint8_t owner;     ///< the domain + 1 that owns the line; 0: none
  };

  using Cache = LineVersions::Cache;

  /// During its lifetime no choice of a victim takes this line away: an access is bringing it up.
  class Pinned {
   public:
    Pinned(CoherentCaches& caches, uint32_t line)
        : caches_(caches), before_(std::exchange(caches.pinned_, line)) {}
    ~Pinned() { caches_.pinned_ = before_; }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

   private:
    CoherentCaches& caches_;
    uint32_t before_;
  };

  struct Moving {
    Level level;
    uint32_t line;
    uint32_t bits;
    Cache from;  ///< if it is an older version: the cache that keeps its bytes
  };
  /// Content is on its way from a cache of this level, during this object's lifetime.
  class InMotion {
   public:
    InMotion(CoherentCaches& caches, Level level, uint32_t line, uint32_t bits, Cache from)
        : caches_(caches), told_(caches.with_design_ && (bits & LineBits::kContent) != 0) {
      if (told_) [[unlikely]] {
        caches_.moving_.push_back({level, line, bits & LineBits::kContent, from});
      }
    }
    ~InMotion() {
      if (told_) [[unlikely]] {
        caches_.moving_.pop_back();
      }
    }
    InMotion(const InMotion&) = delete;
    InMotion& operator=(const InMotion&) = delete;

   private:
    CoherentCaches& caches_;
    bool told_;
  };

  static bool has(uint64_t mask, size_t i) { return (mask >> i & 1) != 0; }
  size_t domain_of(int core) const { return domain_of_[static_cast<size_t>(core)]; }
  size_t llc_of(size_t domain) const { return llc_of_[domain]; }
  int socket_of(size_t domain) const { return socket_of_[domain]; }
  uint64_t domains_of_llc(size_t llc) const { return domains_of_llc_[llc]; }
  template <class F>
  void for_each_core(size_t domain, F&& f);

  void prefetch_eviction(size_t domain, uint32_t line);
  Outcome fetch(int core, size_t domain, uint32_t line, const Record& record, bool write, Time now,
                uint32_t& bits);
  Outcome from_socket(size_t domain, int socket, Time now) const;
  Outcome from_nearest(size_t domain, uint64_t domains, Time now) const;
  Time fill_l1(int core, uint32_t line, uint32_t bits, Time now);
  Time fill_l2(size_t domain, uint32_t line, uint32_t bits, Time now);
  Time fill_llc(size_t llc, uint32_t line, uint32_t bits, Cache from, Time now);
  Time evict_l1(int core, CacheArray::Way victim, Time now);
  Time evict_l2(size_t domain, CacheArray::Way victim, Time now);
  Time evict_llc(size_t llc, CacheArray::Way victim, Time now);
  Time below_l2(size_t domain, uint32_t line, uint32_t bits, Cache from, Time now);
  uint32_t take_from_l1(int core, uint32_t line);
  uint32_t take_from_domain(size_t domain, uint32_t line, Record& record);
  void leave_domain(size_t domain, Record& record);
  bool make_shared(size_t domain, uint32_t line, Record& record);
  bool take_from_llcs(uint32_t line, Record& record, uint32_t keep);
  void drop_older_in_llc(size_t domain, uint32_t line, const Record& record);
  /// A last level may have a line dirty while its newest version is in a cache above.
  bool keeps_dirty_below() const {
    return inclusive_ || features_.versions || features_.nonvolatile_llc;
  }
  bool dirty_in_llcs(uint32_t line, uint32_t llcs);
  bool moves_up(size_t domain, uint32_t line, Record& record, uint32_t flags);
  bool clean_own_llc(size_t domain, uint32_t line, const Record& record, bool flags_too);
  uint32_t own_llc(size_t domain) const { return llc_.empty() ? 0 : uint32_t{1} << llc_of(domain); }
  bool sibling_has(int core, uint32_t line);
  template <class Array>
  CacheArray::Way insert(Array& cache, Level level, uint32_t line, uint32_t bits);
  Time to_memory(uint32_t line, uint32_t meta, Cache from, Time now);
  uint32_t flags_for_fill(uint32_t line) { return with_design_ ? flags_of(line) : 0; }
  template <class F>
  void for_each_copy(uint32_t line, F&& f);

  // Versions: coherent_caches_versions.cc. Content on its way is named by its bits, and if it is an
  // older version by the cache that still keeps its bytes (`from`).
  static Cache l2_name(size_t domain) { return static_cast<Cache>(domain); }
  static Cache llc_name(size_t llc) { return static_cast<Cache>(64 + llc); }
  Cache name_of(Level level, size_t cache) const {
    return level == Level::l2 ? l2_name(cache) : llc_name(cache);
  }
  CacheArray::Way* find_below_l1(Level level, size_t cache, uint32_t line) {
    return level == Level::l2 ? l2_[cache].peek(line) : llc_[cache].peek(line);
  }
  const std::byte* older(uint32_t bits, Cache from, uint32_t line) const {
    return (bits & LineBits::kOlder) == 0 ? nullptr : versions_.find(from, line);
  }
  uint32_t without_older(uint32_t bits, Cache from, uint32_t line) {
    if ((bits & LineBits::kOlder) == 0) [[likely]] {
      return bits;
    }
    versions_.erase(from, line);
    return bits & ~LineBits::kContent;
  }
  CacheClient::Left leaving(Level level, uint32_t line, uint32_t meta, Cache from, Time now);
  Time arrive(Level level, size_t cache, CacheArray::Way& way, uint32_t coming, Cache from,
              Time now);
  Time arrive_marked(Level level, size_t cache, uint32_t line, uint32_t coming, Cache from,
                     Time now);
  Time push_from(Level level, size_t cache, uint32_t line, Time now);
  Time make_way_for_flags(Level level, size_t cache, uint32_t line, uint32_t coming, Time now);
  uint32_t over(Level level, size_t cache, uint32_t line, uint32_t resident, uint32_t coming,
                bool to_memory_at_once, Time now, Time& done);
  uint32_t bring_up(int core, uint32_t line, uint32_t bits, const Record& record);

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
  CacheFeatures features_;
  uint32_t pinned_ = CacheArray::kNoLine;
  Time l1_time_;
  Time l2_time_;
  Time llc_time_;
  Time llc_write_time_;
  Time transfer_time_;
  Time remote_time_;
  ZeroedArray<Record> records_;
  size_t line_bytes_;
  LineVersions versions_;
  std::vector<Moving> moving_;  ///< the one that has begun last at the end
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

/// Calls f(level, cache, way) for each copy of the line, those nearest to memory first.
template <class F>
void CoherentCaches::for_each_copy(uint32_t line, F&& f) {
  const Record& record = records_[line];
  const auto visit = [&](Level level, size_t cache, CacheArray::Way* way) {
    if (way != nullptr) {
      f(level, cache, *way);
    }
  };
  for (uint32_t rest = record.llcs; rest != 0; rest &= rest - 1) {
    const auto llc = static_cast<size_t>(std::countr_zero(rest));
    visit(Level::llc, llc, llc_[llc].peek(line));
  }
  for (uint64_t rest = record.sharers; rest != 0; rest &= rest - 1) {
    const auto domain = static_cast<size_t>(std::countr_zero(rest));
    visit(Level::l2, domain, l2_[domain].peek(line));
    for_each_core(domain, [&](int core) {
      const auto c = static_cast<size_t>(core);
      visit(Level::l1, c, l1_[c].peek(line));
    });
  }
}

/// The bits of content that leaves a cache for the level below, or the last level for memory.
inline CacheClient::Left CoherentCaches::leaving(Level level, uint32_t line, uint32_t meta,
                                                 Cache from, Time now) {
  if ((meta & LineBits::kFlags) == 0) [[likely]] {
    return {meta, now};
  }
  CacheClient::Left left = client_.leaving(level, line, meta, older(meta, from, line), now);
  if ((left.meta & LineBits::kDirty) == 0) {
    without_older(meta, from, line);
    left.meta &= ~LineBits::kOlder;
  }
  return left;
}

/// Content of a line comes from the level above to this way, which has the line.
inline Time CoherentCaches::arrive(Level level, size_t cache, CacheArray::Way& way, uint32_t coming,
                                   Cache from, Time now) {
  if (!with_design_) [[likely]] {
    way.meta = LineBits::merged(way.meta, coming);
    return now;
  }
  return arrive_marked(level, cache, way.line(), coming, from, now);
}

}  // namespace holdfast::sim
