// SPDX-License-Identifier: Apache-2.0
//
// The keys of a machine description: the name in the file, the member, and the range of values. A
// value outside its range is taken for a mistake. This list is the file format.
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "holdfast/machine/sim/description/machine_description.h"

namespace holdfast::sim {

enum class Need : uint8_t { always, optional };

template <class T>
struct Key {
  const char* name;
  std::variant<int T::*, size_t T::*, double T::*, bool T::*, std::string T::*, WriteBackKind T::*,
               HtmTracking T::*>
      member;
  double least = 0;  ///< least and greatest value of a number
  double most = 0;
  Need need = Need::always;
};

inline constexpr double kMostNs = 1e6;  ///< a millisecond; no memory is that slow
inline constexpr double kMostCycles = 1e6;
inline constexpr double kMostBytes = 1ull << 36;
inline constexpr double kMostEntries = 65536;
/// The most worker threads that the simulator runs. Main and the background thread are extra.
inline constexpr int kMostThreads = 126;

inline constexpr Key<MachineDescription> kMachineKeys[] = {
    {"name", &MachineDescription::name},
    {"title", &MachineDescription::title},
    {"cores", &MachineDescription::cores, 1, kMostThreads},
    {"sockets", &MachineDescription::sockets, 1, 16, Need::optional},
    {"smt", &MachineDescription::smt, 1, 8, Need::optional},
    {"line_bytes", &MachineDescription::line_bytes, 64, 128},
    {"transfer_ns", &MachineDescription::transfer_ns, 0, kMostNs},
    {"transfer_remote_ns", &MachineDescription::transfer_remote_ns, 0, kMostNs, Need::optional},
};

inline constexpr Key<CoreDescription> kCoreKeys[] = {
    {"ghz", &CoreDescription::ghz, 0.01, 20},
    {"cycles_per_operation", &CoreDescription::cycles_per_operation, 0.01, 1000},
    {"instructions_per_operation", &CoreDescription::instructions_per_operation, 1, 1000},
    {"smt_speed", &CoreDescription::smt_speed, 0.05, 1, Need::optional},
    {"window", &CoreDescription::window, 1, kMostEntries},
    {"misses", &CoreDescription::misses, 1, kMostEntries},
    {"store_buffer", &CoreDescription::store_buffer, 1, kMostEntries},
    {"pause_cycles", &CoreDescription::pause_cycles, 0, kMostCycles},
    {"atomic_cycles", &CoreDescription::atomic_cycles, 0, kMostCycles},
};

inline constexpr Key<CacheDescription> kCacheKeys[] = {
    {"bytes", &CacheDescription::bytes, 64, kMostBytes},
    {"ways", &CacheDescription::ways, 1, 1024},
    {"cores", &CacheDescription::cores, 1, kMostThreads, Need::optional},
    {"hit_cycles", &CacheDescription::hit_cycles, 0, kMostCycles},
    {"write_cycles", &CacheDescription::write_cycles, 0, kMostCycles, Need::optional},
    {"inclusive", &CacheDescription::inclusive, 0, 1, Need::optional},
    {"fills_on_miss", &CacheDescription::fills_on_miss, 0, 1, Need::optional},
};

inline constexpr Key<TlbDescription> kTlbKeys[] = {
    {"l1_sets", &TlbDescription::l1_sets, 1, kMostEntries},
    {"l1_ways", &TlbDescription::l1_ways, 1, 1024},
    {"l2_sets", &TlbDescription::l2_sets, 1, kMostEntries},
    {"l2_ways", &TlbDescription::l2_ways, 1, 1024},
    {"l2_cycles", &TlbDescription::l2_cycles, 0, kMostCycles},
};

inline constexpr Key<MemoryDescription> kMemoryKeys[] = {
    {"channels", &MemoryDescription::channels, 1, 64},
    {"banks", &MemoryDescription::banks, 1, 1024},
    {"row_bytes", &MemoryDescription::row_bytes, 0, 1 << 20, Need::optional},
    {"read_ns", &MemoryDescription::read_ns, 0, kMostNs},
    {"row_hit_ns", &MemoryDescription::row_hit_ns, 0, kMostNs, Need::optional},
    {"write_ns", &MemoryDescription::write_ns, 0, kMostNs},
    {"bus_ns", &MemoryDescription::bus_ns, 0, kMostNs},
    {"turnaround_ns", &MemoryDescription::turnaround_ns, 0, kMostNs},
    {"path_ns", &MemoryDescription::path_ns, 0, kMostNs},
    {"read_queue", &MemoryDescription::read_queue, 1, kMostEntries},
    {"write_queue", &MemoryDescription::write_queue, 1, kMostEntries},
    {"drain_high", &MemoryDescription::drain_high, 0, 1},
    {"drain_low", &MemoryDescription::drain_low, 0, 1},
    {"drain_batch", &MemoryDescription::drain_batch, 1, kMostEntries},
    {"forwards", &MemoryDescription::forwards},
    {"merges", &MemoryDescription::merges},
};

inline constexpr Key<AitDescription> kAitKeys[] = {
    {"sets", &AitDescription::sets, 1, 1 << 24},
    {"ways", &AitDescription::ways, 1, 1024},
    {"lines", &AitDescription::lines, 1, 1024},
    {"hit_cycles", &AitDescription::hit_cycles, 0, kMostCycles},
};

inline constexpr Key<PersistenceDescription> kPersistenceKeys[] = {
    {"eadr", &PersistenceDescription::eadr},
    {"write_back", &PersistenceDescription::write_back},
    {"write_back_ns", &PersistenceDescription::write_back_ns, 0, kMostNs},
    {"fence_ns", &PersistenceDescription::fence_ns, 0, kMostNs},
    {"rmw_orders_pwb", &PersistenceDescription::rmw_orders_pwb},
};

inline constexpr Key<HtmDescription> kHtmKeys[] = {
    {"stores", &HtmDescription::stores},
    {"loads", &HtmDescription::loads},
    {"store_lines", &HtmDescription::store_lines, 0, kMostBytes, Need::optional},
    {"load_lines", &HtmDescription::load_lines, 0, kMostBytes, Need::optional},
    {"loads_and_stores_share", &HtmDescription::loads_and_stores_share, 0, 1, Need::optional},
    {"smt_shares", &HtmDescription::smt_shares},
    {"smt_splits", &HtmDescription::smt_splits, 0, 1, Need::optional},
    {"begin_cycles", &HtmDescription::begin_cycles, 0, kMostCycles},
    {"commit_cycles", &HtmDescription::commit_cycles, 0, kMostCycles},
    {"abort_cycles", &HtmDescription::abort_cycles, 0, kMostCycles},
    {"suspend_resume_ns", &HtmDescription::suspend_resume_ns, 0, kMostNs, Need::optional},
    {"suspend_resume_full_ns", &HtmDescription::suspend_resume_full_ns, 0, kMostNs, Need::optional},
    {"rollback_only", &HtmDescription::rollback_only, 0, 1, Need::optional},
    {"suspend", &HtmDescription::suspend, 0, 1, Need::optional},
    {"suspend_load_tracking", &HtmDescription::suspend_load_tracking, 0, 1, Need::optional},
    {"interrupt_us", &HtmDescription::interrupt_us, 0, 1e9},
};

template <class E>
struct NamedValue {
  const char* text;
  E value;
};

inline constexpr NamedValue<WriteBackKind> kWriteBackWords[] = {
    {"keep", WriteBackKind::keep},       {"evict", WriteBackKind::evict},
    {"serial", WriteBackKind::serial},   {"emulated", WriteBackKind::emulated},
    {"delayed", WriteBackKind::delayed},
};

inline constexpr NamedValue<HtmTracking> kTrackingWords[] = {
    {"count", HtmTracking::count},
    {"l1", HtmTracking::l1},
    {"llc", HtmTracking::llc},
};

}  // namespace holdfast::sim
