// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/description/machine_check.h"

#include <algorithm>
#include <bit>

#include "holdfast/machine/sim/description/machine_keys.h"

namespace holdfast::sim {
namespace {

using Problem = std::optional<MachineProblem>;

Problem problem(const char* table, const char* key, std::string reason) {
  return MachineProblem{table, key, std::move(reason)};
}

std::string text(size_t number) {
  return std::to_string(number);
}

Problem check_name(const MachineDescription& m) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (m.name.empty() || !std::all_of(m.name.begin(), m.name.end(), allowed)) {
    return problem("", "name", "a name is made of small letters, digits and hyphens");
  }
  if (m.title.empty()) {
    return problem("", "title", "it is empty; say in a line which machine this is");
  }
  return {};
}

Problem check_whole(const MachineDescription& m) {
  if (m.line_bytes != 64 && m.line_bytes != 128) {
    return problem("", "line_bytes", "a line has 64 or 128 bytes, not " + text(m.line_bytes));
  }
  if (m.hardware_threads() > kMostThreads) {
    return problem("", "cores",
                   "cores x sockets x smt make " + std::to_string(m.hardware_threads()) +
                       " threads; the simulator runs at most " + std::to_string(kMostThreads));
  }
  if (m.sockets > 1 && m.transfer_remote_ns < m.transfer_ns) {
    return problem("", "transfer_remote_ns",
                   "a line comes faster from another socket than from the same one");
  }
  return {};
}

Problem check_cache(const char* table, const CacheDescription& cache, const MachineDescription& m,
                    const CacheDescription* above) {
  if (cache.bytes == 0) {
    return {};
  }
  const size_t way = static_cast<size_t>(cache.ways) * m.line_bytes;
  if (way == 0 || cache.bytes % way != 0) {
    return problem(table, "bytes",
                   text(cache.bytes) + " bytes are no whole number of sets of " +
                       std::to_string(cache.ways) + " ways of " + text(m.line_bytes) + " bytes");
  }
  if (cache.cores < 1 || m.cores % cache.cores != 0) {
    return problem(table, "cores",
                   "caches shared by " + std::to_string(cache.cores) + " do not divide the " +
                       std::to_string(m.cores) + " cores of a socket");
  }
  if (above == nullptr) {
    return {};
  }
  if (cache.cores < above->cores) {
    return problem(table, "cores", "fewer cores share this cache than the one above it");
  }
  if (cache.fills_on_miss && cache.inclusive) {
    return problem(table, "fills_on_miss", "misses fill an inclusive cache anyway");
  }
  if (cache.hit_cycles <= above->hit_cycles) {
    return problem(table, "hit_cycles",
                   "a hit takes no longer than one in the level above, which it includes");
  }
  if (cache.inclusive && cache.bytes < above->bytes) {
    return problem(
        table, "inclusive",
        "the cache cannot include the larger one above it (" + text(above->bytes) + " bytes)");
  }
  return {};
}

Problem check_caches(const MachineDescription& m) {
  if (m.l1.cores != 1) {
    return problem("l1", "cores", "the first level belongs to one core");
  }
  for (const char* table : {"l1", "l2"}) {
    const CacheDescription& cache = table == std::string("l1") ? m.l1 : m.l2;
    if (cache.fills_on_miss) {
      return problem(table, "fills_on_miss",
                     "it is for the last level; misses fill this one anyway");
    }
    if (cache.write_cycles != 0) {
      return problem(table, "write_cycles", "it is for the last level, llc");
    }
  }
  const CacheDescription& below_l1 = m.l2.bytes > 0 ? m.l2 : m.l1;
  for (const Problem& found :
       {check_cache("l1", m.l1, m, nullptr), check_cache("l2", m.l2, m, &m.l1),
        check_cache("llc", m.llc, m, &below_l1)}) {
    if (found) {
      return found;
    }
  }
  return {};
}

Problem check_memory(const char* table, const MemoryDescription& memory, size_t line_bytes) {
  if (memory.row_bytes % line_bytes != 0) {
    return problem(table, "row_bytes", "a row is no whole number of lines");
  }
  if (memory.row_bytes > 0 && memory.row_hit_ns > memory.read_ns) {
    return problem(table, "row_hit_ns", "an open row is slower to read than a closed one");
  }
  if (memory.drain_low > memory.drain_high) {
    return problem(table, "drain_low",
                   "writing would end (drain_low) before it begins (drain_high)");
  }
  if (memory.drain_high <= 0) {
    return problem(table, "drain_high", "it must be above 0, or an empty queue would be written");
  }
  if (memory.drain_batch > memory.write_queue) {
    return problem(
        table, "drain_batch",
        "more than the " + std::to_string(memory.write_queue) + " entries of the write queue");
  }
  return {};
}

size_t largest_cache_lines(const MachineDescription& m) {
  return std::max({m.l1.bytes, m.l2.bytes, m.llc.bytes}) / m.line_bytes;
}

Problem check_tracking(const char* key, const char* lines_key, HtmTracking tracking, size_t lines,
                       const MachineDescription& m) {
  if (tracking == HtmTracking::llc && m.llc.bytes == 0) {
    return problem("htm", key, "the machine has no last-level cache to remember lines in");
  }
  if (tracking != HtmTracking::count) {
    return lines == 0 ? Problem{}
                      : problem("htm", lines_key,
                                std::string("the cache is the limit; only ") + key +
                                    " = \"count\" takes a number of lines");
  }
  if (lines > largest_cache_lines(m)) {
    return problem("htm", lines_key,
                   text(lines) + " lines are more than the largest cache holds (" +
                       text(largest_cache_lines(m)) + ")");
  }
  return {};
}

Problem check_htm(const MachineDescription& m) {
  const HtmDescription& htm = m.htm;
  if (!htm.present) {
    return {};
  }
  for (const Problem& found :
       {check_tracking("stores", "store_lines", htm.stores, htm.store_lines, m),
        check_tracking("loads", "load_lines", htm.loads, htm.load_lines, m)}) {
    if (found) {
      return found;
    }
  }
  if (htm.stores == HtmTracking::count && htm.store_lines == 0) {
    return problem("htm", "store_lines", "transactions could not store a line");
  }
  if (htm.loads_and_stores_share) {
    if (htm.stores != HtmTracking::count || htm.loads != HtmTracking::count) {
      return problem("htm", "loads_and_stores_share",
                     "only tables are shared: stores and loads must both be \"count\"");
    }
    if (htm.load_lines != 0) {
      return problem("htm", "load_lines", "the one table has store_lines lines; leave this out");
    }
  } else if (htm.loads == HtmTracking::count && htm.load_lines == 0) {
    return problem("htm", "load_lines", "transactions could not load a line");
  }
  if (htm.smt_splits && htm.smt_shares) {
    return problem("htm", "smt_splits",
                   "either the threads of a core share its limits, or each has its part of them");
  }
  if (htm.suspend_resume_full_ns < htm.suspend_resume_ns) {
    return problem("htm", "suspend_resume_full_ns", "less than with one thread");
  }
  return {};
}

Problem check_ait(const MachineDescription& m) {
  const AitDescription& ait = m.ait;
  if (ait.sets != 0 && !std::has_single_bit(static_cast<unsigned>(ait.lines))) {
    return problem("ait", "lines", "an entry maps a power of two of lines, so that it is aligned");
  }
  const size_t mappings = m.line_bytes / 8;
  if (ait.sets != 0 && static_cast<size_t>(ait.lines) > 64 * mappings) {
    return problem(
        "ait", "lines",
        "an entry has at most 64 lines of the table, of " + text(mappings) + " mappings each");
  }
  return {};
}

}  // namespace

std::optional<MachineProblem> find_problem(const MachineDescription& machine) {
  for (const auto check : {check_name, check_whole, check_caches, check_htm, check_ait}) {
    if (Problem found = check(machine)) {
      return found;
    }
  }
  if (Problem found = check_memory("dram", machine.dram, machine.line_bytes)) {
    return found;
  }
  if (Problem found = check_memory("medium", machine.medium, machine.line_bytes)) {
    return found;
  }
  const PersistenceDescription& p = machine.persistence;
  if (p.write_back == WriteBackKind::emulated && p.write_back_ns <= 0) {
    return problem("persistence", "write_back_ns",
                   "an emulated write-back takes time; give its ns");
  }
  return {};
}

}  // namespace holdfast::sim
