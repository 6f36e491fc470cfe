// SPDX-License-Identifier: Apache-2.0
//
// Private L1s and L2s, last-level caches, and a MESI directory over them. Values are not here: only
// who holds which line with what right, and what an access costs for it.
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

/// Where an access found its line.
enum class Level : uint8_t { l1, l2, llc, peer, remote_peer, dram, medium };
inline constexpr size_t kLevels = 7;
const char* to_string(Level level);

/// What the caches ask and tell. `line` is an index into the arena.
class CacheClient {
 public:
  /// The line is read from, or written to, memory; returns when it is there or accepted.
  virtual Time read_memory(uint32_t line, Time now, Level& level) = 0;
  virtual Time write_memory(uint32_t line, Time now) = 0;
  /// A line with these transaction bits left this core's L1 (a mask of the core's threads).
  virtual void left_l1(int core, uint32_t line, uint32_t readers, uint32_t writers) = 0;
  /// A line left a last-level cache, and so all caches of these L2s (a mask).
  virtual void left_llc(uint32_t line, uint64_t l2s) = 0;
  /// Some transaction has read or written the line: nobody may take it without asking.
  virtual bool tracked(uint32_t line) = 0;
  /// A line with flags of a hardware design leaves a cache of this level for the one below (LLC:
  /// memory). Returns its bits from there on; without kDirty, its content goes no further.
  virtual uint32_t leaving(Level from, uint32_t line, uint32_t meta, Time now);
  /// Which way of a full set makes room for the line. Asked only if the design wants to choose.
  virtual size_t victim(Level level, const CacheArray::Way* set, size_t ways, uint32_t line);

 protected:
  ~CacheClient() = default;
};

/// Bits of a way in L1. In L2 and the last level only kDirty and the design's flags are used.
struct LineBits {
  static constexpr uint32_t kOwned = 1;  ///< this core may write: nobody else has a copy
  static constexpr uint32_t kDirty = 2;
  static constexpr uint32_t kDesign = 4;  ///< the design knows: its transaction has stored here
  static constexpr int kReadShift = 8;    ///< from here, one bit per thread of the core:
  static constexpr int kWriteShift = 16;  ///< in its transaction's read set, write set
  static constexpr uint32_t reader(int smt) { return uint32_t{1} << (kReadShift + smt); }
  static constexpr uint32_t writer(int smt) { return uint32_t{1} << (kWriteShift + smt); }
  static constexpr uint32_t kReaders = 0xffu << kReadShift;
  static constexpr uint32_t kWriters = 0xffu << kWriteShift;
  /// Flags of the hardware design. They go with the line: up with fills, down with what is dirty.
  static constexpr int kFlagShift = 24;
  static constexpr uint32_t kFlags = 0xffu << kFlagShift;
  /// What a way below has to know of one above.
  static constexpr uint32_t kContent = kDirty | kFlags;
  /// The bits of a copy after one from a level above came down onto it: what is dirty is newer.
  static uint32_t merged(uint32_t below, uint32_t above) {
    return (above & kDirty) != 0 ? (below & ~kContent) | (above & kContent) : below;
  }
};

/// The caches of all cores, and one core more: the service core of main and background.
///
/// A domain is the set of cores behind one L2. Rights belong to domains: one owns a line (E or M),
/// or several share it (S). An L2 holds what its L1s hold. The last level is inclusive (filled with
/// every fill, takes the line from above when it evicts it) or takes what L2s evict.
class CoherentCaches {
 public:
  struct Outcome {
    Time done;
    Level level;
  };

  CoherentCaches(const MachineDescription& machine, size_t lines, CacheClient& client);

  int cores() const { return static_cast<int>(l1_.size()); }
  size_t l2_of(int core) const { return domain_of(core); }
  int service_core() const { return cores() - 1; }
  Time l1_time() const { return l1_time_; }
  /// The soonest that a core's request can take effect in another core's L1.
  Time lookahead() const { return cores_per_domain_ > 1 ? l2_time_ : transfer_time_; }

  /// The line in this core's L1, or null. The pointer is good until the next call.
  CacheArray::Way* in_l1(int core, uint32_t line) {
    return l1_[static_cast<size_t>(core)].use(line);
  }
  bool peek_l1(int core, uint32_t line) {
    return l1_[static_cast<size_t>(core)].peek(line) != nullptr;
  }
  /// Tells the host that the line missed this core's L1, and what will be looked at next.
  void prefetch(int core, uint32_t line) {
    const size_t domain = domain_of(core);
    __builtin_prefetch(&records_[line]);
    l2_[domain].prefetch(line);
  }
  /// A load that missed L1: brings the line there.
  Outcome load(int core, uint32_t line, Time now);
  /// Makes the core the line's only holder, for a store.
  Outcome own(int core, uint32_t line, Time now);
  /// Writes the line back to memory if any cache has it dirty; returns when memory accepted it (or,
  /// clean, when that was clear). evict: it leaves all caches.
  Outcome write_back(uint32_t line, bool evict, Time now);
  bool dirty(uint32_t line);

  /// Takes transaction bits of one thread off a line in its core's L1.
  void clear_bits(int core, uint32_t line, uint32_t bits);
  /// A transaction is about to store to the line: what is dirty in L1 goes one level down first, so
  /// that an abort can fall back on it.
  void save_below(int core, uint32_t line);
  /// The line, written by an aborted transaction, is worthless in this core's L1.
  void drop_l1(int core, uint32_t line);

  // Hardware designs.
  /// With a design, flags are looked for; choosing: it picks victims.
  void attach_design(bool choosing) {
    with_design_ = true;
    choosing_ = choosing;
  }
  /// The flags of the line, wherever it is cached.
  void set_flags(uint32_t line, uint32_t flags);
  uint32_t flags_of(uint32_t line);
  /// Every copy is gone, its content with it.
  void invalidate(uint32_t line);
  /// f(level, line, bits) for every copy that is dirty or has flags, last level first.
  void for_each_marked(FunctionRef<void(Level level, uint32_t line, uint32_t meta)> f);

 private:
  /// Exact: whose bit is not set need not be searched.
  struct alignas(32) Record {
    uint64_t sharers;  ///< domains with a copy in L2, and perhaps above
    Time busy;         ///< ownership is on its way until then
    uint32_t llcs;     ///< last-level caches with a copy
    uint8_t owner;     ///< domain + 1 that holds it exclusively
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
  ZeroedArray<CacheArray::Way> ways_;  ///< of all caches
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

/// f(way) for every copy of the line, the ones nearest to memory first.
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
